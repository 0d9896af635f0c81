import asyncio
import errno

import pytest
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import run, salt

from magnetar.clock import SystemClock
from magnetar.errors import WriteFailed
from magnetar.inner.record import HEAD_SIZE
from magnetar.loop_iteration import LoopIteration
from magnetar.storage.ledger.local.format import Kind, encode_mark
from magnetar.storage.ledger.local.index import Ledger
from magnetar.storage.ledger.local.jobs import Block
from magnetar.storage.ledger.local.journal import Journal
from magnetar.storage.ledger.local.segment_format import PAGE, decode_header
from magnetar.storage.ledger.local.segments import Segments, SegmentState
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings

SIZE = 16 * 1024


class Log:
    """A journal in a folder."""

    def __init__(self, folder, durability=Durability.FSYNC, pending_bytes_max=10**9):
        self.files = FaultyFiles()
        settings = LocalLedgerSettings(
            durability=durability,
            interval_s=0.01,
            segment_size=SIZE,
            segments_spare_max=0,
            pending_bytes_max=pending_bytes_max,
        )
        self.segments = Segments(folder, settings, salt)
        self.wake = asyncio.Event()
        self.journal = Journal(
            self.files,
            self.segments,
            settings,
            SystemClock(),
            next_ledger_id=lambda: 99,
            wake=self.wake.set,
            iteration=LoopIteration(asyncio.get_running_loop()),
        )
        self.ledgers = {}

    def put(self, ledger_id, *entries):
        ledger = self.ledgers.setdefault(ledger_id, Ledger(ledger_id))
        receipt = asyncio.get_running_loop().create_future()

        def answered(_, error):
            if error is None:
                receipt.set_result(None)
            else:
                receipt.set_exception(error)

        ledger.appending += 1
        self.journal.append(Block(ledger, ledger.reserved, *run(*entries), answered))
        ledger.reserved += len(entries)
        return receipt

    def state(self, generation):
        return self.segments[generation].state


@pytest.fixture
async def log(tmp_path):
    log = Log(tmp_path)
    yield log
    await log.journal.close()


async def test_nothing_is_written_before_there_is_something_to_write(log, tmp_path):
    assert log.journal.active is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fails", [False, True])
async def test_a_defect_of_one_who_is_told_keeps_it_from_nobody_else(log, caplog, fails):
    await log.put(1, "first")
    if fails:
        log.files.fail_syncs()
    early = log.put(2, "early")
    ledger = log.ledgers[2]
    ledger.appending += 1
    log.journal.append(Block(ledger, ledger.reserved, *run("mine"), lambda *_: 1 // 0))
    ledger.reserved += 1
    late = log.put(3, "late")
    answers = await asyncio.gather(early, late, return_exceptions=True)
    assert [isinstance(answer, WriteFailed) for answer in answers] == [fails, fails]
    assert "storage.defect" in caplog.text


class Forgetful:
    """A job whose books cannot be kept: it hears once all the same."""

    size = HEAD_SIZE

    def __init__(self):
        self.heard = []

    def encode(self, stamp, synced):
        return [encode_mark(Kind.CREATED, stamp, synced, 9)]

    def landed(self, segment, offset):
        raise RuntimeError("not one of ours")

    def will_fail(self):
        pass

    def failed(self):
        raise RuntimeError("not one of ours")

    def answer(self, error):
        self.heard.append(type(error))


@pytest.mark.parametrize("fails", [False, True])
async def test_every_job_is_answered_once_whatever_it_does(log, caplog, fails):
    await log.put(1, "first")
    if fails:
        log.files.fail_syncs()
    job = Forgetful()
    log.journal.append(job)
    await asyncio.gather(log.put(2, "next"), return_exceptions=True)
    assert job.heard == [WriteFailed]
    assert "storage.defect" in caplog.text


async def test_all_who_wait_share_a_sync(log):
    await log.put(1, "first")
    before = log.files.syncs
    await asyncio.gather(*(log.put(ledger_id, b"x" * 20) for ledger_id in range(100)))
    assert log.files.syncs == before + 1
    assert log.ledgers[50].next_entry_id == 1


async def test_what_arrives_during_a_sync_shares_the_next(log):
    await log.put(1, "first")
    before = log.files.syncs
    with log.files.hold_syncs():
        early = log.put(1, "early")
        await asyncio.to_thread(log.files.sync_waits.wait, 10)
        late = []
        for number in range(20):
            late.append(log.put(number, "late"))
            await asyncio.sleep(0)
    await asyncio.gather(early, *late)
    assert log.files.syncs == before + 2


async def test_a_full_segment_is_left_for_the_next(log):
    for _ in range(5):
        await log.put(1, b"x" * 6000)
    assert [each.generation for each in log.segments] == [1, 2, 3]
    assert [log.state(n) for n in (1, 2, 3)] == [
        SegmentState.FULL,
        SegmentState.FULL,
        SegmentState.ACTIVE,
    ]
    header = decode_header(log.segments.path(3).read_bytes()[:PAGE])
    assert header.next_ledger_id == 99
    assert header.ends == {1: log.segments[1].tail, 2: log.segments[2].tail}
    assert log.wake.is_set()


async def test_one_turn_may_fill_many_segments(log):
    await asyncio.gather(*(log.put(1, bytes([n]) * 6000) for n in range(20)))
    assert len(list(log.segments)) == 10
    assert log.ledgers[1].next_entry_id == 20


async def test_a_record_larger_than_a_segment_has_one_of_its_own(log):
    await log.put(1, "small")
    await log.put(1, b"x" * 100_000)
    await log.put(1, "small")
    assert [each.size > SIZE for each in log.segments] == [False, True, False]


async def test_records_vouch_for_what_lies_before_them(log):
    await log.put(1, "a")
    assert log.segments[1].synced == log.segments[1].tail == log.segments[1].answered
    end = log.segments[1].tail
    await log.put(1, "b")
    second = log.segments.path(1).read_bytes()[end:]
    assert int.from_bytes(second[20:28], "little") == end


@pytest.mark.parametrize("fault", ["fail_syncs", "fail_writes"])
async def test_a_failure_is_everybodys_who_waits_and_nobody_elses(log, fault):
    await log.put(1, "fine")
    answered = log.segments[1].tail
    getattr(log.files, fault)()
    failing = [log.put(1, "a"), log.put(2, "b")]
    results = await asyncio.gather(*failing, return_exceptions=True)
    assert [type(result) for result in results] == [WriteFailed, WriteFailed]
    assert str(log.segments.path(1)) in str(results[0])
    assert "make space or check the disk" in str(results[0])
    assert isinstance(results[0].__cause__, OSError)
    assert log.ledgers[1].closed_because
    await log.put(3, "fine")
    assert log.state(1) is SegmentState.ABANDONED
    assert log.segments[1].tail == answered
    header = decode_header(log.segments.path(2).read_bytes()[:PAGE])
    assert header.ends == {1: answered}


async def test_what_was_placed_behind_a_failure_fails_with_it(log):
    await log.put(1, "fine")
    with log.files.hold_syncs():
        log.files.fail_syncs()
        early = log.put(1, "early")
        await asyncio.to_thread(log.files.sync_waits.wait, 10)
        late = [log.put(2, b"x" * 6000) for _ in range(10)]
        await asyncio.sleep(0)
    results = await asyncio.gather(early, *late, return_exceptions=True)
    assert {type(result) for result in results} == {WriteFailed}
    assert log.ledgers[2].next_entry_id == 0
    await log.put(3, "fine")
    assert [each.state for each in log.segments][-1] is SegmentState.ACTIVE
    assert {each.state for each in list(log.segments)[:-1]} == {SegmentState.ABANDONED}


async def test_a_job_put_while_a_failure_is_told_begins_anew(log):
    await log.put(1, "fine")
    log.files.fail_syncs()
    first = log.put(1, "a")
    second = []
    first.add_done_callback(lambda _: second.append(log.put(2, "b")))
    with pytest.raises(WriteFailed):
        await first
    await second[0]
    assert log.ledgers[2].next_entry_id == 1


async def test_the_next_segment_is_tried_again_and_again(log):
    log.files.fail_writes(errno.ENOSPC, times=3)
    for _ in range(3):
        with pytest.raises(WriteFailed, match="No space left"):
            await log.put(1, "a")
    await log.put(2, "fine")
    assert log.journal.active.generation == 4


async def test_a_failed_sync_that_nobody_waited_for_ends_the_segment(tmp_path):
    log = Log(tmp_path, Durability.INTERVAL)
    await log.put(1, "fine")
    log.wake.clear()
    log.files.fail_syncs()
    await log.put(1, "answered before its sync")
    await log.wake.wait()
    assert log.journal.active is None
    assert log.state(1) is SegmentState.ABANDONED
    assert log.segments[1].tail == log.segments[1].answered
    await log.put(1, "in the next segment")
    assert log.ledgers[1].next_entry_id == 3
    await log.journal.close()


async def test_syncs_by_the_interval_vouch_too(tmp_path):
    log = Log(tmp_path, Durability.INTERVAL)
    await log.put(1, "a")
    with log.files.hold_syncs():
        await log.put(1, "b")
        await asyncio.to_thread(log.files.sync_waits.wait, 10)
        assert log.segments[1].synced < log.segments[1].tail
    await log.journal.close()
    assert log.segments[1].synced == log.segments[1].tail


async def test_who_finds_it_over_its_limit_waits_in_turn(tmp_path):
    log = Log(tmp_path, pending_bytes_max=1000)
    await log.put(1, "first")
    order = []

    async def append(number):
        if log.journal.capacity.over_limit:
            await log.journal.capacity.wait()
        order.append(number)
        await log.put(1, b"x" * 400)

    with log.files.hold_syncs():
        tasks = [asyncio.ensure_future(append(number)) for number in range(10)]
        await asyncio.to_thread(log.files.sync_waits.wait, 10)
        assert order == [0, 1, 2]
        tasks[4].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert isinstance(results[4], asyncio.CancelledError)
    assert not log.journal.capacity.over_limit
    await log.journal.close()


async def test_a_turn_that_is_not_taken_goes_to_the_next(tmp_path):
    log = Log(tmp_path, pending_bytes_max=100)
    with log.files.hold_syncs():
        held = log.put(1, b"x" * 400)
        turns = [asyncio.ensure_future(log.journal.capacity.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        turns[0].cancel()
    await held
    turns[1].cancel()
    await turns[2]
    assert not log.journal.capacity.over_limit
    await log.journal.close()


async def test_closing_answers_everybody(tmp_path):
    log = Log(tmp_path)
    waits = [log.put(1, "a"), log.put(2, "b")]
    await log.journal.close()
    assert all(receipt.done() and receipt.exception() is None for receipt in waits)
    assert not log.journal.running
