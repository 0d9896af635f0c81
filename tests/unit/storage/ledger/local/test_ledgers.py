import asyncio

import pytest
from unit.storage.ledger.local.support import append, everything, run

from magnetar.errors import LedgerFenced, LedgerNotFound, StorageError, WriteFailed
from magnetar.inner.record import HEAD_SIZE, TABLES_SIZE
from magnetar.storage.ledger.local.settings import LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SETTINGS = LocalLedgerSettings(segment_size=64 * 1024)


async def test_a_failed_append_closes_its_ledger_where_it_was(store, files):
    ledger = await store.create()
    await append(ledger, *run("a", "b"))
    files.fail_syncs()
    with pytest.raises(WriteFailed):
        await append(ledger, *run("c"))
    with pytest.raises(LedgerFenced, match="a write to it failed"):
        await append(ledger, *run("d"))
    assert ledger.end == (1, 2)
    assert await everything(ledger) == [b"a", b"b"]
    assert await ledger.close() == (1, 2)


async def test_a_failure_is_not_that_of_ledgers_that_did_not_append(store, files):
    one, other = await store.create(), await store.create()
    await append(one, *run("a"))
    files.fail_syncs()
    with pytest.raises(WriteFailed):
        await append(other, *run("b"))
    assert await append(one, *run("c")) == 1
    assert await everything(one) == [b"a", b"c"]


async def test_appends_wait_while_too_much_is_under_way(tmp_path, files):
    settings = LocalLedgerSettings(segment_size=64 * 1024, pending_bytes_max=2000)
    store = await LocalLedgerStore.start(tmp_path / "crowded", settings=settings, files=files)
    ledger = await store.create()
    start = store.segments[1].tail
    with files.hold_syncs():
        appends = [asyncio.ensure_future(append(ledger, *run(bytes([n]) * 900))) for n in range(10)]
        await asyncio.to_thread(files.sync_waits.wait, 10)
        assert store.segments[1].tail == start + 3 * (HEAD_SIZE + TABLES_SIZE + 900)
    assert await asyncio.gather(*appends) == list(range(10))
    assert await everything(ledger) == [bytes([n]) * 900 for n in range(10)]
    await store.close()


async def test_who_waited_for_room_learns_that_the_ledger_is_closed(tmp_path, files):
    settings = LocalLedgerSettings(segment_size=64 * 1024, pending_bytes_max=1000)
    store = await LocalLedgerStore.start(tmp_path / "crowded", settings=settings, files=files)
    ledger = await store.create()
    with files.hold_syncs():
        appends = [asyncio.ensure_future(append(ledger, *run(b"x" * 900))) for n in range(4)]
        await asyncio.to_thread(files.sync_waits.wait, 10)
        closing = asyncio.ensure_future(ledger.close())
        await asyncio.sleep(0)
    results = await asyncio.gather(*appends, return_exceptions=True)
    assert results[:2] == [0, 1]
    assert {type(result) for result in results[2:]} == {LedgerFenced}
    assert await closing == (1, 1800)
    await store.close()


@pytest.mark.parametrize("checksum", [-1, 2**32, "x", None])
async def test_a_callers_mistake_is_the_callers_alone(store, checksum):
    ledger = await store.create()
    await append(ledger, *run("a"))
    with pytest.raises(ValueError, match="32 bits"):
        await append(ledger, [b"b"], [checksum])
    assert await append(ledger, *run("c")) == 1
    assert await everything(ledger) == [b"a", b"c"]
    assert await ledger.close() == (1, 2)


async def test_reading_a_deleted_ledger_says_so(store):
    writer = await store.create()
    await append(writer, *run("a"))
    reader = await store.open(writer.ledger_id)
    await store.delete(writer.ledger_id)
    with pytest.raises(LedgerNotFound, match="was deleted"):
        await reader.read(0, 1, 1)


async def test_a_disk_that_cannot_be_read_is_named(store, files, monkeypatch):
    ledger = await store.create()
    await append(ledger, *run("a"))

    def fail(_):
        raise OSError(5, "Input/output error", "/the/file")

    monkeypatch.setattr(files, "open", fail)
    with pytest.raises(StorageError, match=r"entry 0 of ledger 1 cannot be read.*/the/file"):
        await ledger.read(0, 1, 1)
    monkeypatch.undo()
    assert await everything(ledger) == [b"a"]


async def test_a_segment_stays_while_somebody_reads_it(store, files, monkeypatch):
    ledger = await store.create()
    await append(ledger, *run("a"))
    segment = store.segments[1]
    seen = []
    real = files.open

    def watched(path):
        seen.append(segment.pins)
        return real(path)

    monkeypatch.setattr(files, "open", watched)
    await ledger.read(0, 1, 1)
    assert seen == [1]
    assert segment.pins == 0
