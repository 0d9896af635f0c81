import logging
from contextlib import closing

import pytest
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import EverythingLost, append, everything, run, snapshot
from unit.storage.ledger.local.support import stamp as stamp_of

from magnetar.errors import CorruptEntry
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.local.synced_mark import NAME, Synced, SyncedMark, read_mark

STAMP = stamp_of(3)


def marked(files, folder, *offsets, durability=Durability.FSYNC):
    with closing(SyncedMark.open(files, folder, durability)) as mark:
        for offset in offsets:
            mark.put(STAMP, offset)


def test_the_newest_mark_is_read(tmp_path):
    marked(RealFiles(), tmp_path, 5000, 7000)
    assert read_mark(RealFiles(), tmp_path, STAMP) == Synced(7000, all_answers=True)


def test_a_mark_of_another_segment_says_nothing(tmp_path):
    marked(RealFiles(), tmp_path, 5000)
    assert read_mark(RealFiles(), tmp_path, stamp_of(4)) == Synced()


def test_a_damaged_mark_or_none_says_nothing(tmp_path):
    assert read_mark(RealFiles(), tmp_path, STAMP) == Synced()
    marked(RealFiles(), tmp_path, 5000)
    data = bytearray((tmp_path / NAME).read_bytes())
    data[20] ^= 1
    (tmp_path / NAME).write_bytes(data)
    assert read_mark(RealFiles(), tmp_path, STAMP) == Synced()


def test_after_a_loss_of_power_more_may_have_been_answered(tmp_path):
    files = FaultyFiles()
    marked(files, tmp_path, 5000, 7000)
    files.lose_power(EverythingLost())
    assert not read_mark(files, tmp_path, STAMP).all_answers


def test_where_answers_do_not_wait_for_a_sync_more_may_have_been_answered(tmp_path):
    marked(RealFiles(), tmp_path, 5000, durability=Durability.INTERVAL)
    assert read_mark(RealFiles(), tmp_path, STAMP) == Synced(5000, all_answers=False)


def test_a_disk_that_refuses_a_mark_is_named_and_used(tmp_path, caplog):
    (tmp_path / NAME).mkdir()
    assert SyncedMark.open(RealFiles(), tmp_path, Durability.FSYNC) is None
    assert f"storage.synced_mark_failed folder={tmp_path}" in caplog.text


async def filled(folder, settings):
    """The folder of a store whose last group was answered, and that was killed then."""
    store = await LocalLedgerStore.start(folder, settings=settings)
    writer = await store.create()
    await append(writer, *run("first"))
    start = store.segments[1].tail
    await append(writer, *run("a", "b", "c"))
    copy = snapshot(folder, folder.with_name("copy"))
    await store.close()
    (path,) = copy.glob("segment-*.log")
    data = bytearray(path.read_bytes())
    data[data.index(b"abc", start) + 1] ^= 1
    path.write_bytes(data)
    return copy, writer.ledger_id


async def test_a_flipped_byte_in_the_last_group_is_damage(tmp_path, caplog):
    folder, ledger_id = await filled(tmp_path / "ledgers", LocalLedgerSettings())
    store = await LocalLedgerStore.start(folder)
    try:
        reader = await store.open(ledger_id)
        assert reader.end.last_entry_id == 3, "an answered entry keeps its place"
        with pytest.raises(CorruptEntry):
            await everything(reader)
        assert store.damage.records == 1
        assert store.damage.maybe_answered.records == 0
    finally:
        await store.close()
    assert "storage.damaged" in caplog.text
    assert "tail_cut" not in caplog.text


async def test_without_a_mark_the_entries_that_were_cut_off_are_counted(tmp_path, caplog):
    settings = LocalLedgerSettings(durability=Durability.NONE)
    folder, _ = await filled(tmp_path / "ledgers", settings)
    store = await LocalLedgerStore.start(folder, settings=settings)
    await store.close()
    assert store.damage.maybe_answered == (1, 3)
    (said,) = [each for each in caplog.records if "tail_cut" in each.message]
    assert said.levelno == logging.WARNING
    assert "records=1 entries=3: unfinished, maybe answered" in said.message
