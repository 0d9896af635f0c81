import asyncio
import errno

import pytest
from unit.storage.ledger.local.support import (
    append,
    everything,
    ledgers_in,
    run,
    snapshot,
    until_upkeep,
)

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.local.index import LedgerState
from magnetar.storage.ledger.local.segments import SegmentState
from magnetar.storage.ledger.local.settings import LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SIZE = 16 * 1024


@pytest.fixture
async def store(tmp_path, files):
    settings = LocalLedgerSettings(segment_size=SIZE, segments_spare_max=0, compaction_retry_s=0.01)
    store = await LocalLedgerStore.start(tmp_path / "ledgers", settings=settings, files=files)
    yield store
    await store.close()


async def mixed(store, runs=12):
    """A ledger to keep, spread thinly over segments full of one to drop."""
    keep, drop = await store.create(), await store.create()
    for number in range(runs):
        await append(keep, *run(f"{number}"))
        await append(drop, *run(b"x" * 4000))
    return keep, drop


def numbers(count):
    return [str(number).encode() for number in range(count)]


async def test_a_sparse_segment_is_emptied_and_its_file_goes(store):
    keep, drop = await mixed(store)
    old = [each.generation for each in store.segments][:-1]
    await store.delete(drop.ledger_id)
    await until_upkeep(lambda: not any(store.segments.get(each) for each in old))
    assert not any(store.segments.path(each).exists() for each in old)
    assert await everything(keep) == numbers(12)
    await append(keep, *run("12"))
    assert await everything(keep) == numbers(13)
    assert keep.end == (12, sum(map(len, numbers(13))))


async def test_what_was_moved_is_found_after_a_restart(store, tmp_path):
    keep, drop = await mixed(store)
    old = [each.generation for each in store.segments][:-1]
    await store.delete(drop.ledger_id)
    await until_upkeep(lambda: not any(store.segments.get(each) for each in old))
    copy = snapshot(tmp_path / "ledgers", tmp_path / "copy")
    assert set(ledgers_in(copy)) == {keep.ledger_id}
    again = await LocalLedgerStore.start(copy)
    assert await everything(await again.open(keep.ledger_id)) == numbers(12)
    await again.close()


async def test_ledgers_that_only_exist_are_moved_too(store, tmp_path):
    empty = [await store.create() for _ in range(3)]
    await empty[0].close()
    keep, drop = await mixed(store)
    await store.delete(drop.ledger_id)
    await until_upkeep(lambda: store.segments.get(1) is None)
    copy = snapshot(tmp_path / "ledgers", tmp_path / "copy")
    ledgers = ledgers_in(copy)
    assert set(ledgers) == {each.ledger_id for each in (*empty, keep)}
    assert ledgers[empty[0].ledger_id].state is LedgerState.ENDED


async def test_a_ledger_may_be_deleted_while_it_is_moved(store, files, tmp_path):
    keep, drop = await mixed(store)
    with files.hold_syncs():
        deletion = asyncio.ensure_future(store.delete(drop.ledger_id))
        await asyncio.to_thread(files.sync_waits.wait, 10)
    await deletion
    with files.hold_syncs():
        await asyncio.to_thread(files.sync_waits.wait, 10)  # Moves are under way.
        deletion = asyncio.ensure_future(store.delete(keep.ledger_id))
        await asyncio.sleep(0)
    await deletion
    other = await store.create()
    await until_upkeep(lambda: store.segments.get(1) is None)
    copy = snapshot(tmp_path / "ledgers", tmp_path / "copy")
    assert set(ledgers_in(copy)) == {other.ledger_id}


async def test_damage_moves_along_and_is_still_noticed(store):
    keep, drop = await mixed(store)
    segment = store.segments[1]
    data = bytearray(segment.path.read_bytes())
    data[data.index(b"1" + segment.stamp.salt)] ^= 1  # The body of entry 1, before the next record.
    segment.path.write_bytes(data)
    await store.delete(drop.ledger_id)
    await until_upkeep(lambda: store.segments.get(1) is None)
    with pytest.raises(CorruptEntry):
        await keep.read(1, 1, 1)
    assert (await keep.read(2, 9, 99)).data == numbers(12)[2:11]


async def test_a_segment_with_a_damaged_header_is_left_alone(store, caplog):
    keep, drop = await mixed(store)
    await until_upkeep(lambda: store.segments[1].state is SegmentState.SEALED)
    segment = store.segments[1]
    data = bytearray(segment.path.read_bytes())
    data[data.index(b"1" + segment.stamp.salt) - 20] ^= 1  # The header or tables of entry 1.
    segment.path.write_bytes(data)
    await store.delete(drop.ledger_id)
    await until_upkeep(lambda: segment.state is SegmentState.STUCK)
    assert "compaction_failed" in caplog.text
    with pytest.raises(CorruptEntry):
        await keep.read(1, 1, 1)
    assert (await keep.read(0, 1, 1)).data == [b"0"]
    await until_upkeep(lambda: store.segments.get(2) is None)  # The others still go.


async def test_a_disk_that_refuses_is_tried_again_later(store, files):
    keep, drop = await mixed(store)
    await store.delete(drop.ledger_id)
    files.fail_syncs(times=2, name="segment-")
    await until_upkeep(lambda: not files.failures_left)
    await until_upkeep(lambda: store.segments.get(1) is None)
    assert await everything(keep) == numbers(12)


async def test_a_segment_that_is_sealed_late_has_all_its_blocks_in_its_footer(
    store, files, tmp_path
):
    """Its footer could not be written; meanwhile compaction moved later blocks of a ledger."""
    keep, drop = await store.create(), await store.create()
    count = 0

    async def append_until(begun):
        nonlocal count
        while store.segments.get(begun) is None:
            await append(keep, *run(f"{count}"))
            await append(drop, *run(b"x" * 4000))
            count += 1

    await append_until(2)
    files.fail_writes(errno.EIO, times=1000, name=store.segments[1].path.name)
    await append_until(4)
    await until_upkeep(lambda: store.segments[3].state is SegmentState.SEALED)
    await store.delete(drop.ledger_id)
    await append(keep, *run(f"{count}"))
    files.repair()
    await store.close()
    again = await LocalLedgerStore.start(tmp_path / "ledgers")
    assert await everything(await again.open(keep.ledger_id)) == numbers(count + 1)
    await again.close()
