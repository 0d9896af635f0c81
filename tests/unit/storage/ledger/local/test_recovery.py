import errno
import logging
import shutil

import pytest
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import (
    EverythingLost,
    append,
    erase_records,
    everything,
    run,
    snapshot,
    stamp,
    until_upkeep,
)

from magnetar.errors import CorruptEntry, LedgerNotFound, StorageError, WriteFailed
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.recovery import IDS_SKIPPED, recover
from magnetar.storage.ledger.local.segment_format import encode_header
from magnetar.storage.ledger.local.segments import SegmentState
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.local.synced_mark import NAME

SIZE = 16 * 1024
SETTINGS = LocalLedgerSettings(segment_size=SIZE, compaction_share=0)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "ledgers"


def start(folder, files=None):
    return LocalLedgerStore.start(folder, settings=SETTINGS, files=files)


def found(folder, **options):
    given = {"segment_size": SIZE, "segments_spare_max": 2, **options}
    return recover(RealFiles(), folder, LocalLedgerSettings(**given))


def segment(folder, generation=1):
    return folder / f"segment-{generation:010}.log"


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


async def fill(store, runs, size=1000):
    """A ledger with so many runs of two entries each."""
    ledger = await store.create()
    for number in range(runs):
        await append(ledger, *run(f"{number}", bytes([number % 256]) * size))
    return ledger


def test_an_empty_folder_holds_nothing(folder):
    result = found(folder)
    assert (result.segments, result.active, result.ledgers) == ([], None, {})
    assert result.next_ledger_id == 1


async def test_sealed_segments_are_known_from_their_footers(folder):
    store = await start(folder)
    ledger = await fill(store, 100)
    await store.close()
    erase_records(store)
    result = found(folder)
    assert {each.state for each in result.segments[:-1]} == {SegmentState.SEALED}
    assert result.active is result.segments[-1]
    assert result.ledgers[ledger.ledger_id].next_entry_id == 200
    assert len(result.segments) > 5


async def test_the_newest_segment_is_missed_when_it_is_gone(folder):
    store = await start(folder)
    await fill(store, 100)
    await store.close()
    newest = max(folder.glob("segment-*"))
    (mark,) = folder.glob("newest-*")
    assert mark.name[-10:] == newest.stem[-10:]
    newest.unlink()
    with pytest.raises(StorageError, match=f"{newest.name}, the newest file .* or remove {mark}"):
        found(folder)


async def test_ledger_ids_are_skipped_where_the_newest_segment_is_not_known(folder, caplog):
    store = await start(folder)
    ledger = await fill(store, 100)
    await store.close()
    (mark,) = folder.glob("newest-*")
    mark.unlink()
    assert found(folder).next_ledger_id == ledger.ledger_id + 1 + IDS_SKIPPED
    assert "storage.newest_unknown" in caplog.text


async def test_older_marks_are_forgotten(folder):
    store = await start(folder)
    await fill(store, 100)
    await store.close()
    (mark,) = folder.glob("newest-*")
    (folder / "newest-0000000001").touch()
    found(folder)
    assert list(folder.glob("newest-*")) == [mark]


async def test_counting_what_is_alive_gives_the_same_after_a_restart(folder):
    store = await start(folder)
    ledgers = [await fill(store, 10) for _ in range(5)]
    await store.delete(ledgers[1].ledger_id)
    await ledgers[0].close()
    await store.create()  # By now the mark of the end has landed as well.
    crashed = snapshot(folder, folder.with_name("crashed"))
    before = {each.generation: (each.live, each.ledgers) for each in store.segments}
    await store.close()
    for place in (folder, crashed):
        result = found(place)
        assert {each.generation: (each.live, each.ledgers) for each in result.segments} == before
        assert result.deleted == store.segments.deleted


@pytest.fixture
async def last_record(folder, tmp_path):
    """A ledger, a copy of its folder, and from where to where its last record lies."""
    store = await start(folder)
    ledger = await fill(store, 2, size=10)
    offset = store.segments[1].tail
    mark = (folder / NAME).read_bytes()
    await append(ledger, *run("last", "record"))
    whole = snapshot(folder, tmp_path / "whole")
    (whole / NAME).write_bytes(mark)  # As it is before the record is synced, and answered.
    end = store.segments[1].tail
    await store.close()
    return ledger.ledger_id, whole, offset, end


def test_every_cut_of_the_last_record_leaves_the_rest(last_record, tmp_path, caplog):
    ledger_id, whole, offset, end = last_record
    for cut in range(offset, end):
        copy = tmp_path / f"cut-{cut}"
        shutil.copytree(whole, copy)
        with segment(copy).open("r+b") as file:
            file.truncate(cut)
        caplog.clear()
        result = found(copy)
        assert result.ledgers[ledger_id].next_entry_id == 4
        assert result.active.tail == segment(copy).stat().st_size == offset
        # Zeros are space, and a salt may begin with them.
        left = segment(whole).read_bytes()[offset:cut].strip(b"\0")
        assert bool([r for r in caplog.records if "tail_cut" in r.message]) == bool(left)


@pytest.mark.parametrize("garbage", [b"\xff", b"\x00", b"M"])
def test_garbage_from_any_byte_of_the_last_record_on_is_cut_off(last_record, tmp_path, garbage):
    ledger_id, whole, offset, end = last_record
    for at in range(offset, end):
        copy = tmp_path / f"from-{at}"
        shutil.copytree(whole, copy)
        with segment(copy).open("r+b") as file:
            file.seek(at)
            file.write(garbage * (end - at + 100))
        assert found(copy).ledgers[ledger_id].next_entry_id == 4
        assert segment(copy).stat().st_size == offset


async def test_a_store_goes_on_behind_a_torn_tail(folder, tmp_path):
    store = await start(folder)
    ledger = await fill(store, 2)
    mark = (folder / NAME).read_bytes()
    await append(ledger, *run("torn"))
    folder = snapshot(folder, tmp_path / "crashed")
    (folder / NAME).write_bytes(mark)
    await store.close()
    written = segment(folder).read_bytes().rstrip(b"\0")
    flip(segment(folder), len(written) - 1)
    store = await start(folder)
    reader = await store.open(ledger.ledger_id)
    assert reader.end.last_entry_id == 3
    other = await fill(store, 3)
    folder = snapshot(folder, tmp_path / "crashed again")
    await store.close()
    store = await start(folder)
    assert len(await everything(await store.open(ledger.ledger_id))) == 4
    assert len(await everything(await store.open(other.ledger_id))) == 6
    await store.close()


async def test_what_recovery_found_is_synced_before_it_is_told(folder, tmp_path):
    store = await start(folder)
    await fill(store, 2)
    folder = snapshot(folder, tmp_path / "crashed")
    await store.close()
    files = FaultyFiles()
    recover(files, folder, LocalLedgerSettings(durability=Durability.FSYNC))
    assert files.syncs == 1
    recover(files, folder, LocalLedgerSettings(durability=Durability.NONE))
    assert files.syncs == 1


async def test_what_a_failed_sync_lost_is_written_again_before_it_is_told(folder):
    files = FaultyFiles()
    large = LocalLedgerSettings(segment_size=8 * 1024 * 1024)
    store = await LocalLedgerStore.start(folder, settings=large, files=files)
    ledger = await store.create()
    files.fail_syncs(name="segment-")
    with pytest.raises(WriteFailed):  # In memory, and never on disk: a later sync says it is.
        await append(ledger, *run(*(bytes([number]) * 300_000 for number in range(10))))
    files.cut_power()
    await store.close()
    files.restore_power()

    def recovered():
        result = recover(files, folder, large)
        return result.ledgers[ledger.ledger_id].next_entry_id

    assert recovered() == 10
    files.lose_power(EverythingLost())
    assert recovered() == 10


async def test_a_flipped_bit_in_a_sealed_segment_costs_one_entry(folder):
    store = await start(folder)
    ledger = await fill(store, 40)
    await store.close()
    data = segment(folder).read_bytes()
    flip(segment(folder), data.index(b"\x03" * 1000) + 500)
    store = await start(folder)
    reader = await store.open(ledger.ledger_id)
    with pytest.raises(CorruptEntry, match=f"entry 7 of ledger {ledger.ledger_id}"):
        await reader.read(7, 1, 1)
    for entry in range(80):
        if entry != 7:
            expected = bytes([entry // 2]) * 1000 if entry % 2 else str(entry // 2).encode()
            assert (await reader.read(entry, 1, 1)).data == [expected]
    await store.close()


async def test_a_damaged_footer_is_made_up_for_by_reading(folder, caplog):
    store = await start(folder)
    ledger = await fill(store, 40)
    await store.close()
    flip(segment(folder), -50)
    with caplog.at_level(logging.WARNING):
        store = await start(folder)
    assert "footer_damaged" in caplog.text
    assert len(await everything(await store.open(ledger.ledger_id))) == 80
    await store.close()
    caplog.clear()
    assert found(folder).segments[0].state is SegmentState.SEALED
    assert "footer_damaged" not in caplog.text


@pytest.mark.parametrize("at", [0, 9, 12, 20, 30])
async def test_a_damaged_header_stops_the_start_with_the_files_name(folder, at):
    store = await start(folder)
    await fill(store, 40)
    await store.close()
    flip(segment(folder, 2), at)
    with pytest.raises(StorageError, match=f"{segment(folder, 2)} cannot be used"):
        await start(folder)
    segment(folder, 2).unlink()
    await (await start(folder)).close()


async def test_a_renamed_segment_is_told_by_its_header(folder):
    store = await start(folder)
    await fill(store, 40)
    await store.close()
    segment(folder, 2).rename(segment(folder, 77))
    with pytest.raises(StorageError, match="is segment 2 by its header"):
        await start(folder)


async def test_a_segment_that_cannot_be_read_is_named(folder):
    store = await start(folder)
    await fill(store, 2)
    await store.close()

    class Unreadable(RealFiles):
        def open(self, path, *, create=False, direct=False):
            file = super().open(path, create=create, direct=direct)
            file.read = self.fail
            return file

        def fail(self, offset, size):
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(StorageError, match=f"{segment(folder)} cannot be read"):
        await start(folder, files=Unreadable())


async def test_damage_before_the_last_sync_is_not_taken_for_a_torn_tail(folder, tmp_path, caplog):
    store = await start(folder)
    ledger = await fill(store, 6)
    folder = snapshot(folder, tmp_path / "crashed")
    await store.close()
    at = segment(folder).read_bytes().index(b"\x02" * 1000)
    flip(segment(folder), at + 10)
    store = await start(folder)
    assert "storage.damaged" in caplog.text
    reader = await store.open(ledger.ledger_id)
    assert reader.end.last_entry_id == 11
    with pytest.raises(CorruptEntry):
        await reader.read(5, 1, 1)
    assert (await reader.read(6, 1, 1)).data == [b"3"]
    await store.close()


async def test_entries_a_closed_ledger_lost_are_damaged_not_missing(folder, tmp_path):
    store = await start(folder)
    ledger = await fill(store, 3)
    await ledger.close()
    await fill(store, 1)
    folder = snapshot(folder, tmp_path / "crashed")
    await store.close()
    data = segment(folder).read_bytes()
    flip(segment(folder), data.index(b"\x02" * 1000) - 5)  # The tables of its last block.
    store = await start(folder)
    reader = await store.open(ledger.ledger_id)
    assert reader.end.last_entry_id == 5
    with pytest.raises(CorruptEntry):
        await reader.read(4, 1, 1)
    await store.close()


async def test_a_copy_that_compaction_left_behind_counts_once(folder, tmp_path):
    store = await start(folder)
    keep = await fill(store, 3)
    drop = await fill(store, 12)
    await fill(store, 12)
    await store.delete(drop.ledger_id)
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    await store.close()
    again = await LocalLedgerStore.start(
        folder, settings=LocalLedgerSettings(segment_size=SIZE, compaction_share=0.9)
    )
    await until_upkeep(lambda: not (again.segments.sparse(0.9) or again.segments.dead()))
    assert not segment(folder).exists()
    await again.close()
    shutil.copyfile(segment(before), segment(folder))  # As if it had not been given back yet.
    result = found(folder)
    ledger = result.ledgers[keep.ledger_id]
    assert (ledger.next_entry_id, ledger.size_bytes) == (6, keep.end.size_bytes)
    assert result.segments[0].ledgers[keep.ledger_id] == 0
    store = await start(folder)
    assert len(await everything(await store.open(keep.ledger_id))) == 6
    with pytest.raises(LedgerNotFound):
        await store.open(drop.ledger_id)
    await store.close()


async def test_files_of_the_wrong_size_are_no_spares(folder):
    folder.mkdir()
    for number, size in ((1, SIZE), (2, SIZE - 1), (3, SIZE), (4, SIZE)):
        (folder / f"spare-{number:010}.log").write_bytes(bytes(size))
    (folder / "notes.txt").write_text("mine")
    result = found(folder)
    assert [spare.path.name for spare in result.spares] == [
        "spare-0000000001.log",
        "spare-0000000003.log",
    ]
    assert sorted(path.name for path in folder.iterdir()) == [
        "notes.txt",
        "spare-0000000001.log",
        "spare-0000000003.log",
    ]


def test_recycled_spares_are_told_from_empty_ones_and_kept_first(folder):
    folder.mkdir()
    was_segment = encode_header(stamp(1), 1, [], {}, recycled=False).ljust(SIZE, b"x")
    for number, data in ((1, bytes(SIZE)), (2, was_segment), (3, was_segment)):
        (folder / f"spare-{number:010}.log").write_bytes(data)
    names = [
        (spare.path.name, spare.recycled) for spare in found(folder, segments_spare_max=3).spares
    ]
    assert names == [
        ("spare-0000000002.log", True),
        ("spare-0000000003.log", True),
        ("spare-0000000001.log", False),
    ]
    assert [spare.recycled for spare in found(folder, segments_spare_max=2).spares] == [True, True]
    assert not (folder / "spare-0000000001.log").exists()


async def test_segments_of_other_settings_are_read(folder):
    store = await start(folder)
    ledger = await fill(store, 40)
    await store.close()
    store = await LocalLedgerStore.start(
        folder,
        settings=LocalLedgerSettings(segment_size=4 * SIZE, durability=Durability.NONE),
    )
    assert len(await everything(await store.open(ledger.ledger_id))) == 80
    other = await fill(store, 100)
    assert len(await everything(other)) == 200
    await store.close()
