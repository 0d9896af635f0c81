"""The managed ledger over the stores of one machine: what memory does too easily."""

import asyncio
import contextlib
import shutil
from dataclasses import replace

import pytest
from support.faults import FaultyFiles
from unit.storage.managed_ledger.logs import (
    BYTES_MAX,
    Logs,
    acknowledge,
    append,
    data_of,
    drain,
    entries,
)

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.ledger.local.settings import LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.metadata.sqlite import SqliteMetadataStore

SETTINGS = LocalLedgerSettings(segment_size=256 * 1024)


@pytest.fixture
async def disk_logs(tmp_path):
    """Small ledgers in small segments."""
    logs = Logs(entries_per_ledger_max=1000, ledger_age_min_s=0)
    logs.ledgers = await LocalLedgerStore.start(tmp_path / "ledgers", settings=SETTINGS)
    yield logs
    await logs.tasks.close()
    await logs.ledgers.close()


async def fill(ledger, count, size):
    """Append in runs of changing lengths."""
    done = 0
    while done < count:
        length = min(done % 97 + 1, count - done)
        await append(ledger, entries(length, start=done, size=size))
        done += length


async def test_a_backlog_is_read_back_from_disk(disk_logs):
    ledger = await disk_logs.open(cached=False)
    cursor = await ledger.open_cursor("s", EARLIEST)
    await fill(ledger, 5000, 200)
    assert len(ledger.layout.ledger_ids) > 3
    assert await drain(cursor) == entries(5000, size=200)
    first = ledger.layout.ledger_ids[0]
    replayed = await cursor.reader.read_at([Position(first, entry) for entry in (7, 8, 700)])
    assert data_of(replayed) == [entries(5000, size=200)[index] for index in (7, 8, 700)]


async def test_many_readers_of_one_backlog_get_all_of_it(disk_logs):
    ledger = await disk_logs.open()
    await fill(ledger, 4000, 200)
    await ledger.close()
    again = await disk_logs.open()
    cursors = [again.open_reader(str(index), EARLIEST) for index in range(10)]
    read = await asyncio.gather(*(drain(cursor, 60 + i) for i, cursor in enumerate(cursors)))
    assert all(found == entries(4000, size=200) for found in read)


async def test_a_log_survives_the_loss_of_its_process(disk_logs, tmp_path):
    ledger = await disk_logs.open()
    cursor = await ledger.open_cursor("s", EARLIEST)
    await fill(ledger, 2500, 200)
    first = ledger.layout.ledger_ids[0]
    acknowledge(cursor, [Position(first, entry) for entry in range(0, 900, 2)])
    await cursor.flush()
    shutil.copytree(tmp_path / "ledgers", tmp_path / "left")
    disk_logs.ledgers, former = (
        await LocalLedgerStore.start(tmp_path / "left", settings=SETTINGS),
        disk_logs.ledgers,
    )
    again = await disk_logs.open()
    assert again.cursors["s"].backlog == 2500 - 450
    expected = [entry for index, entry in enumerate(entries(2500, size=200))
                if index >= 900 or index % 2]  # fmt: skip
    assert await drain(again.cursors["s"]) == expected
    ledger_id, entry_id = await append(again, entries(1, start=2500))
    assert ledger_id > max(ledger.layout.ledger_ids)
    assert entry_id == 0
    await former.close()


async def test_trimmed_ledgers_are_deleted_while_others_are_read(disk_logs):
    ledger = await disk_logs.open()
    cursor = await ledger.open_cursor("s", EARLIEST)
    await fill(ledger, 6000, 200)
    read = []
    while runs := await cursor.reader.read(500, BYTES_MAX):
        read += data_of(runs)
        cursor.acknowledge_cumulative(runs[-1].last)
        await ledger.trim()
    assert read == entries(6000, size=200)
    assert len(ledger.layout.ledger_ids) == 1


async def test_an_entry_is_found_by_what_is_in_it(disk_logs):
    ledger = await disk_logs.open(cached=False)
    await fill(ledger, 3000, 10)
    place = await ledger.first_where(lambda entry: int(entry.rstrip(b".")) >= 1777)
    run = await ledger.read(place, 1, BYTES_MAX)
    assert run.data == entries(1, start=1777, size=10)


async def test_a_log_is_deleted_on_a_full_disk_though_many_ledgers_share_a_file(tmp_path):
    files = FaultyFiles()
    logs = Logs(entries_per_ledger_max=50, ledger_age_min_s=0)
    logs.ledgers = await LocalLedgerStore.start(
        tmp_path / "ledgers", settings=replace(SETTINGS, segments_spare_max=0), files=files
    )
    ledger = await logs.open()
    await fill(ledger, 4000, 200)
    files.space_left = 0
    failures = 0
    while await logs.metadata.children("/managed-ledgers"):
        try:
            await ledger.delete()
        except (WriteFailed, Fenced):
            failures += 1
            assert failures < 20
            await asyncio.sleep(0.01)  # Files that hold nothing more are given back beside us.
            with contextlib.suppress(WriteFailed):
                ledger = await logs.open()
    assert failures, "the disk was full"
    await logs.tasks.close()
    await logs.ledgers.close()


@pytest.mark.parametrize("clean", [True, False])
async def test_everything_survives_a_restart_on_disk(tmp_path, clean):
    """Ledgers in files and metadata in SQLite, closed in order or in the middle of it."""

    async def start():
        logs = Logs(entries_per_ledger_max=50, ledger_age_min_s=0, retention_size_bytes=-1)
        logs.ledgers = await LocalLedgerStore.start(tmp_path / "ledgers", settings=SETTINGS)
        logs.metadata = await SqliteMetadataStore.open(tmp_path / "metadata.db")
        return await logs.open(), logs

    async def stop(logs):
        await logs.tasks.close()
        await logs.ledgers.close()
        await logs.metadata.close()

    ledger, logs = await start()
    cursors = [await ledger.open_cursor(f"s {index}", EARLIEST) for index in range(100)]
    await fill(ledger, 300, 20)
    for index, cursor in enumerate(cursors):
        cursor.acknowledge_cumulative(ledger.layout.position_at(index))
        acknowledge(cursor, [ledger.layout.position_at(200)])
        cursor.acknowledge_batch(ledger.layout.position_at(250), [index + 1])
    if clean:
        await ledger.close()
    else:
        await asyncio.gather(*(cursor.flush() for cursor in cursors))
    await stop(logs)

    again, logs = await start()
    place = again.layout.position_at(250)
    assert len(again.cursors) == 100
    for index in range(100):
        cursor = again.cursors[f"s {index}"]
        assert cursor.backlog == 298 - index
        assert cursor.ack_set(place) == [index + 1]
    assert await drain(again.cursors["s 99"]) == [
        *entries(100, start=100, size=20), *entries(99, start=201, size=20),
    ]  # fmt: skip
    await again.delete()
    assert await logs.metadata.children("/managed-ledgers") == []
    await stop(logs)
