import asyncio
import errno
import threading
from contextlib import suppress

import pytest
from support.faults import FaultyFiles
from support.loop import until
from unit.storage.ledger.local.support import (
    append,
    erase_records,
    everything,
    fill,
    ledgers_in,
    run,
    snapshot,
    until_upkeep,
)

from magnetar.errors import LedgerFenced, StorageError, StoreLocked, WriteFailed
from magnetar.storage.ledger.local.segments import SegmentState
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SIZE = 16 * 1024


def start(folder, files=None, **settings):
    given = {"segment_size": SIZE, **settings}
    return LocalLedgerStore.start(folder, settings=LocalLedgerSettings(**given), files=files)


async def test_an_empty_folder_is_ready_at_once_and_stays_empty(tmp_path):
    store = await start(tmp_path / "new" / "ledgers")
    await store.close()
    assert [path.name for path in (tmp_path / "new" / "ledgers").iterdir()] == ["lock"]


async def test_one_store_holds_a_folder(tmp_path):
    store = await start(tmp_path)
    with pytest.raises(StoreLocked, match=str(tmp_path)):
        await start(tmp_path)
    await store.close()
    await (await start(tmp_path)).close()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=f"{tmp_path / 'file'} cannot be used"):
        await start(tmp_path / "file")


async def test_a_store_that_could_not_start_lets_go(tmp_path):
    (tmp_path / "segment-0000000001.log").write_bytes(b"junk")
    with pytest.raises(StorageError, match="cannot be used"):
        await start(tmp_path)
    (tmp_path / "segment-0000000001.log").unlink()
    await (await start(tmp_path)).close()


async def test_nothing_is_left_running(tmp_path):
    before = {thread for thread in threading.enumerate() if thread.name.startswith("magnetar")}
    store = await start(tmp_path)
    await fill(await store.create(), 30)
    started = set(threading.enumerate()) - before
    assert any(thread.name.startswith("magnetar") for thread in started)
    await store.close()
    await store.close()
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert not [name for name in left if name.startswith("magnetar")]
    assert [task for task in asyncio.all_tasks() if "ledgers" in task.get_name()] == []


async def test_deleting_ledgers_gives_back_the_disk(tmp_path):
    store = await start(tmp_path, segments_spare_max=1, compaction_share=0)
    ledgers = [await store.create() for _ in range(3)]
    for ledger in ledgers:
        await fill(ledger, 60)
    assert len(list(tmp_path.glob("segment-*"))) > 10
    for ledger in ledgers:
        await store.delete(ledger.ledger_id)
    await fill(await store.create(), 20)  # The next segment, so that the last may go.
    await settled(store)
    assert len(list(tmp_path.glob("segment-*"))) <= 3
    assert len(list(tmp_path.glob("spare-*"))) <= 1
    await store.close()


async def settled(store):
    """Upkeep and compaction have nothing left to do."""
    segments = store.segments
    await until_upkeep(
        lambda: (
            not (
                segments.dead()
                or segments.sparse(0.5)
                or any(each.state is SegmentState.FULL for each in segments)
            )
        )
    )


async def test_files_are_overwritten_instead_of_grown(tmp_path):
    store = await start(tmp_path)
    inodes = set()
    for _ in range(8):
        ledger = await store.create()
        await fill(ledger, 30)
        inodes |= {path.stat().st_ino for path in tmp_path.glob("*.log")}
        await store.delete(ledger.ledger_id)
        await settled(store)
    assert len(inodes) < 14  # 8 times 3 segments were written.
    await store.close()


async def test_a_recycled_file_shows_nothing_of_its_earlier_life(tmp_path):
    store = await start(tmp_path / "a")
    for turn in range(6):
        ledger = await store.create()
        await fill(ledger, 25)
        crashed = snapshot(tmp_path / "a", tmp_path / f"crashed-{turn}")
        assert set(ledgers_in(crashed)) == {ledger.ledger_id}
        other = await start(crashed)
        reader = await other.open(ledger.ledger_id)
        assert len(await everything(reader)) == 25
        await other.close()
        await store.delete(ledger.ledger_id)
        await settled(store)
    await store.close()


async def test_a_full_disk_fails_appends_and_the_store_lives_on(tmp_path):
    files = FaultyFiles()
    store = await start(tmp_path, files, segments_spare_max=0)
    keep, drop = await store.create(), await store.create()
    await append(keep, *run("keep"))
    await fill(drop, 20)
    files.space_left = 1000
    with pytest.raises(WriteFailed, match="No space left"):
        await fill(drop, 20)
    assert drop.end.last_entry_id == 19
    with pytest.raises(WriteFailed):
        await store.create()
    assert await everything(keep) == [b"keep"]
    files.space_left = None
    assert await append(keep, *run("again")) == 1
    await store.close()
    store = await start(tmp_path)
    assert (await store.open(drop.ledger_id)).end == drop.end
    assert await everything(await store.open(keep.ledger_id)) == [b"keep", b"again"]
    await store.close()


async def test_deleting_makes_space_on_a_full_disk(tmp_path):
    files = FaultyFiles()
    store = await start(tmp_path / "a", files, segments_spare_max=2)
    drop = await store.create()
    await fill(drop, 40)
    files.space_left = 0
    with pytest.raises(WriteFailed):
        await fill(drop, 20)
    with suppress(WriteFailed):  # Unless a file is given back already.
        await store.delete(drop.ledger_id)
    await settled(store)
    await store.delete(drop.ledger_id)  # A file that was given back holds the deletion now.
    ledger = await store.create()
    await append(ledger, *run("fine"))
    copy = snapshot(tmp_path / "a", tmp_path / "copy")
    await store.close()
    assert set(ledgers_in(copy)) == {ledger.ledger_id}


async def test_nothing_lands_behind_an_append_that_is_going_to_fail(tmp_path):
    """Its failure is not heard yet: the write that failed was of another ledger."""
    files = FaultyFiles()
    store = await start(tmp_path, files, segments_spare_max=0)
    early, late = await store.create(), await store.create()
    await append(late, *run("stored"))
    answers = []

    def failed(_, error):
        answers.append(error)
        late.append(*run("three"), lambda _, error: answers.append(error))

    with files.hold_writes():
        early.append(*run("one"), failed)
        await asyncio.sleep(0)  # The end of the iteration: the thread takes it.
        await asyncio.sleep(0)
        late.append(*run("two"), lambda _, error: answers.append(error))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        files.fail_writes(errno.EIO, name="segment-")
    await until(lambda: len(answers) == 3)
    assert all(isinstance(each, WriteFailed | LedgerFenced) for each in answers), answers
    assert late.end.last_entry_id == 0
    again = await store.create()
    await append(again, *run("a new ledger"))
    await store.close()
    store = await start(tmp_path)
    assert await everything(await store.open(late.ledger_id)) == [b"stored"]
    await store.close()


@pytest.mark.parametrize("times", [1, 3])
async def test_a_failed_sync_loses_nothing_that_was_answered(tmp_path, times):
    files = FaultyFiles()
    store = await start(tmp_path / "a", files)
    ledgers = [await store.create() for _ in range(3)]
    for ledger in ledgers:
        await fill(ledger, 5)
    await settled(store)  # Or upkeep, which runs beside us, might meet the failures.
    files.fail_syncs(errno.EIO, times=times, name="segment-")
    with pytest.raises(WriteFailed):
        await append(ledgers[0], *run("lost"))
    while files.failures_left:
        [result] = await asyncio.gather(store.create(), return_exceptions=True)
        assert isinstance(result, WriteFailed) or not isinstance(result, BaseException)
    assert await append(ledgers[1], *run("fine")) == 5
    copy = snapshot(tmp_path / "a", tmp_path / "copy")
    await store.close()
    for folder in (tmp_path / "a", copy):
        store = await start(folder)
        ends = [(await store.open(each.ledger_id)).end.last_entry_id for each in ledgers]
        assert ends == [4, 5, 4]
        await store.close()


@pytest.mark.parametrize("durability", list(Durability))
async def test_every_durability_survives_a_dead_process(tmp_path, durability):
    store = await start(tmp_path / "a", durability=durability)
    ledger = await store.create()
    await fill(ledger, 30)
    copy = snapshot(tmp_path / "a", tmp_path / "b")
    await store.close()
    store = await start(copy)
    assert len(await everything(await store.open(ledger.ledger_id))) == 30
    await store.close()


async def test_closing_leaves_footers_even_in_the_newest_segment(tmp_path):
    store = await start(tmp_path)
    ledger = await store.create()
    await fill(ledger, 3)
    await store.close()
    erase_records(store)
    for _ in range(2):  # Also when nothing was appended in between.
        store = await start(tmp_path)
        assert (await store.open(ledger.ledger_id)).end.last_entry_id == 2
        await store.close()


async def test_an_idle_ledger_has_no_task_of_its_own(tmp_path):
    store = await start(tmp_path, durability=Durability.NONE, segment_size=2**20)
    ledgers = await asyncio.gather(*(store.create() for _ in range(200)))
    await asyncio.gather(*(append(ledger, *run("a")) for ledger in ledgers))
    assert len(asyncio.all_tasks()) < 10
    await store.close()


async def test_a_check_is_written_and_changes_nothing(tmp_path):
    store = await start(tmp_path)
    await store.check()
    await store.close()
    store = await start(tmp_path)
    writer = await store.create()
    await store.check()
    assert writer.ledger_id == 1
    assert set(store._ledgers) == {1}
    await store.close()
