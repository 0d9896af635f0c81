import errno

import pytest
from unit.storage.ledger.local.support import append, fill, run, until_upkeep

from magnetar.errors import WriteFailed
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.scan import read_footer
from magnetar.storage.ledger.local.segments import SegmentState
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SIZE = 16 * 1024
SETTINGS = LocalLedgerSettings(segment_size=SIZE, compaction_share=0)
FEW = 3


async def test_full_segments_are_sealed(store):
    await fill(await store.create(), 30)
    full = list(store.segments)[:-1]
    await until_upkeep(lambda: all(each.state is SegmentState.SEALED for each in full))
    for segment in full:
        file = RealFiles().open(segment.path)
        assert read_footer(file, segment.stamp).end == segment.tail
        file.close()


async def test_a_segment_that_cannot_be_sealed_is_tried_again(store, files, caplog):
    ledger = await store.create()
    await fill(ledger, 1)
    segment = store.segments[1]
    while segment.tail + 2000 < segment.size:
        await fill(ledger, 1)
    files.fail_writes(errno.EIO, name=segment.path.name)
    await fill(ledger, 1, size=2000)
    await until_upkeep(lambda: "storage.upkeep_failed" in caplog.text)
    await fill(ledger, 30)
    await until_upkeep(lambda: segment.state is SegmentState.SEALED)


async def test_the_next_segments_file_is_prepared_in_time(store, tmp_path):
    ledger = await store.create()
    assert not list(tmp_path.glob("spare-*"))
    await fill(ledger, 8)
    await until_upkeep(lambda: store.segments.spares)
    [spare] = tmp_path.glob("spare-*")
    assert spare.read_bytes() == bytes(SIZE)
    inode = spare.stat().st_ino
    await fill(ledger, 8)
    assert store.segments.path(2).stat().st_ino == inode


async def test_where_nothing_can_be_allocated_files_just_grow(store, files, tmp_path):
    files.allocates = False
    ledger = await store.create()
    await fill(ledger, 30)
    assert len(list(store.segments)) >= 3
    assert not store.segments.spares
    await until_upkeep(lambda: not list(tmp_path.glob("spare-*")))
    assert ledger.end.last_entry_id == 29


async def test_without_durability_a_file_is_prepared_and_not_synced(tmp_path, files):
    settings = LocalLedgerSettings(segment_size=SIZE, durability=Durability.NONE)
    store = await LocalLedgerStore.start(tmp_path, settings=settings, files=files)
    await fill(await store.create(), 8)
    await until_upkeep(lambda: store.segments.spares)
    assert files.syncs == 0
    await store.close()


async def test_a_spare_that_could_not_be_synced_is_not_kept(store, files, tmp_path):
    ledger = await store.create()
    await append(ledger, *run("a"))
    files.fail_syncs(name="spare-")
    await fill(ledger, 8)
    await until_upkeep(lambda: not files.failures_left)
    await until_upkeep(lambda: not list(tmp_path.glob("spare-*")))
    assert not store.segments.spares


async def test_a_full_disk_gets_back_what_was_kept_for_later(tmp_path, files):
    store = await LocalLedgerStore.start(tmp_path, settings=SETTINGS, files=files)
    drop = await store.create()
    await fill(drop, 100)
    await store.delete(drop.ledger_id)
    kept = SETTINGS.segments_spare_max
    await until_upkeep(lambda: (len(store.segments.spares), len(list(store.segments))) == (kept, 1))
    ledger = await store.create()
    files.space_left = 0
    with pytest.raises(WriteFailed, match="No space left"):
        await fill(ledger, 1, size=2 * SIZE)  # It needs a file of its own.
    await until_upkeep(lambda: len(store.segments.spares) == 1 and files.space_left > 3 * SIZE)
    other = await store.create()
    await fill(other, 1, size=2 * SIZE)
    await store.close()


async def test_a_full_disk_is_not_asked_for_room_again_and_again(store, files, tmp_path):
    ledger = await store.create()
    await append(ledger, *run("a"))
    files.fail_writes(errno.ENOSPC, times=1000, name="spare-")
    await fill(ledger, 4)
    await until_upkeep(lambda: files.failures_left < 1000)
    await fill(ledger, 4)
    assert files.failures_left == 999
    assert not list(tmp_path.glob("spare-*"))


async def test_dead_segments_are_kept_as_spares_up_to_a_number(tmp_path):
    settings = LocalLedgerSettings(segment_size=SIZE, compaction_share=0, segments_spare_max=FEW)
    store = await LocalLedgerStore.start(tmp_path, settings=settings)
    ledger = await store.create()
    await fill(ledger, 100)
    await store.delete(ledger.ledger_id)
    await until_upkeep(lambda: not store.segments.dead() and len(store.segments.spares) == FEW)
    assert {path.stat().st_size for path in tmp_path.glob("spare-*")} == {SIZE}
    assert len(list(tmp_path.glob("segment-*"))) == len(list(store.segments)) <= 2
    await store.close()


async def test_the_file_of_a_large_entry_is_removed(store, tmp_path):
    ledger = await store.create()
    await fill(ledger, 3, size=100_000)
    other = await store.create()
    await fill(other, 1)
    await until_upkeep(lambda: store.segments[2].state is SegmentState.SEALED)
    before = {path.name for path in tmp_path.glob("spare-*")}
    await store.delete(ledger.ledger_id)
    await until_upkeep(lambda: not store.segments.dead())
    large = [path for path in tmp_path.glob("*.log") if path.stat().st_size > 2 * SIZE]
    assert large == []
    assert {path.name for path in tmp_path.glob("spare-*")} - before == {
        spare.path.name for spare in store.segments.spares if spare.path.name not in before
    }


async def test_the_file_of_an_abandoned_segment_is_never_used_again(store, files, tmp_path):
    ledger = await store.create()
    files.fail_syncs(name="segment-")
    with pytest.raises(WriteFailed):
        await append(ledger, *run("a"))
    await store.delete(ledger.ledger_id)
    other = await store.create()
    await fill(other, 1)
    await until_upkeep(lambda: store.segments.get(1) is None)
    assert not store.segments.path(1).exists()
    assert not list(tmp_path.glob("spare-*"))


async def test_freeing_is_known_to_the_disk_before_the_deletion_is_forgotten(store, files):
    keep, drop = await store.create(), await store.create()
    await fill(drop, 40)
    await fill(keep, 2)
    before = files.folder_syncs
    await store.delete(drop.ledger_id)
    assert drop.ledger_id in store.segments.deleted
    await until_upkeep(lambda: not store.segments.dead())
    assert files.folder_syncs > before
