"""Disks that fail between two steps: nothing answered is lost, and upkeep goes on."""

import errno
from threading import get_ident

import pytest
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import (
    EverythingLost,
    append,
    everything,
    run,
    salt,
    snapshot,
    stamp,
    until_upkeep,
)

from magnetar.errors import WriteFailed
from magnetar.storage.ledger.local.format import Kind, encode_mark
from magnetar.storage.ledger.local.segments import SegmentState
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SEGMENT_SIZE = 16 * 1024
SETTINGS = LocalLedgerSettings(segment_size=SEGMENT_SIZE)
MOST_OF_A_SEGMENT = bytes(12_000)


class FolderTrouble(FaultyFiles):
    """The folder's sync fails after a segment was freed, or the process dies before any."""

    syncs_to_fail = 0
    dies_before_sync = False
    _freeing = None

    def rename(self, path, to):
        super().rename(path, to)
        if path.name.startswith("segment-"):
            self._freeing = get_ident()  # The log's thread makes segments meanwhile.

    def sync_folder(self, folder):
        if self.dies_before_sync:
            self.cut_power()
        if self.syncs_to_fail and self._freeing == get_ident():
            self.syncs_to_fail -= 1
            raise OSError(errno.EIO, "the folder cannot be synced")
        super().sync_folder(folder)


class UnreadableFile(FaultyFiles):
    """One existing file cannot be opened."""

    bad = "segment-0000000001.log"

    def open(self, path, *, create=False, direct=False):
        if path.name == self.bad and not create:
            raise OSError(errno.EIO, "a bad sector")
        return super().open(path, create=create, direct=direct)


async def filled(store, count):
    """So many ledgers, each filling a segment of its own."""
    ids = []
    for _ in range(count):
        writer = await store.create()
        await append(writer, *run(MOST_OF_A_SEGMENT))
        ids.append(writer.ledger_id)
    return ids


async def test_what_a_restart_answers_survives_a_renaming_that_was_not_synced(tmp_path):
    folder, files = tmp_path / "ledgers", FolderTrouble()
    store = await LocalLedgerStore.start(folder, settings=SETTINGS, files=files)
    files.dies_before_sync = True
    with pytest.raises(WriteFailed):
        await store.create()
    await store.close()
    files.restore_power()
    files.dies_before_sync = False
    store = await LocalLedgerStore.start(folder, settings=SETTINGS, files=files)
    writer = await store.create()
    await append(writer, *run("answered"))
    files.cut_power()
    await store.close()
    files.lose_power(EverythingLost())
    store = await LocalLedgerStore.start(folder, settings=SETTINGS, files=files)
    assert await everything(await store.open(writer.ledger_id)) == [b"answered"]
    await store.close()


async def test_in_intervals_what_was_answered_survives_a_failed_sync_and_a_restart(tmp_path):
    folder, files = tmp_path / "ledgers", FaultyFiles()
    settings = LocalLedgerSettings(
        segment_size=SEGMENT_SIZE, durability=Durability.INTERVAL, interval_s=1e-9
    )
    store = await LocalLedgerStore.start(folder, settings=settings, files=files)
    writer = await store.create()
    files.fail_syncs()
    answered = []
    try:
        await append(writer, *run("answered"))
        answered = [b"answered"]
        await append((await store.create()), *run("into the next segment"))
    except WriteFailed:
        pass
    copy = snapshot(folder, tmp_path / "copy")
    await store.close()
    store = await LocalLedgerStore.start(copy, settings=settings)
    found = await everything(await store.open(writer.ledger_id))
    assert found[: len(answered)] == answered
    await store.close()


async def test_a_folder_sync_that_failed_once_does_not_stop_freeing(tmp_path):
    files = FolderTrouble()
    store = await LocalLedgerStore.start(tmp_path / "ledgers", settings=SETTINGS, files=files)
    ids = await filled(store, 6)
    await until_upkeep(lambda: sum(s.state is SegmentState.SEALED for s in store.segments) >= 5)
    files.syncs_to_fail = 1
    for ledger_id in ids[:5]:
        await store.delete(ledger_id)
    await filled(store, 1)
    await until_upkeep(lambda: len(list(store.segments)) <= 3)
    assert files.syncs_to_fail == 0
    await store.close()


async def test_one_unreadable_file_does_not_stop_sealing_and_freeing_the_others(tmp_path):
    files = UnreadableFile()
    store = await LocalLedgerStore.start(tmp_path / "ledgers", settings=SETTINGS, files=files)
    ids = await filled(store, 8)
    for ledger_id in ids[1:7]:
        await store.delete(ledger_id)
    await filled(store, 1)
    await until_upkeep(lambda: len(list(store.segments)) <= 4)
    await store.close()


async def test_a_record_inside_a_payload_that_vouches_for_what_follows_is_not_believed(tmp_path):
    folder = tmp_path / "ledgers"
    store = await LocalLedgerStore.start(folder, settings=SETTINGS, salt=salt)
    victim = await store.create()
    await append(victim, *run("precious"))
    other = await store.create()
    head_at = store.segments[1].tail
    forged = encode_mark(Kind.DELETED, stamp(1), 2**40, victim.ledger_id)
    await append(other, *run(bytes(1000) + forged + bytes(1000)))
    copy = snapshot(folder, tmp_path / "copy")
    await store.close()
    path = copy / "segment-0000000001.log"
    data = bytearray(path.read_bytes())
    data[head_at : head_at + 64] = bytes(64)  # The sector of the record's head is lost.
    path.write_bytes(data)
    store = await LocalLedgerStore.start(copy, settings=SETTINGS)
    assert await everything(await store.open(victim.ledger_id)) == [b"precious"]
    await store.close()


async def test_no_file_is_begun_in_a_folder_that_was_replaced(tmp_path):
    folder = tmp_path / "ledgers"
    store = await LocalLedgerStore.start(folder)
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    with pytest.raises(WriteFailed, match="was deleted, moved or replaced while the broker runs"):
        await store.create()
    assert list(folder.iterdir()) == []
    await store.close()
