import asyncio
import threading
from itertools import count

import pytest
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import stamp

from magnetar.clock import SystemClock
from magnetar.storage.ledger.local.log_thread import (
    Commit,
    LogThread,
    ResumeSegment,
    StartSegment,
    TimedLogThread,
    Write,
)
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings

HEADER = b"header"
STAMP = stamp(1)


class Log:
    """A log thread, and what it said."""

    def __init__(self, folder, durability=Durability.FSYNC, interval_s=60.0):
        self.files = FaultyFiles()
        self.folder = folder
        self.path = folder / "segment"
        self.answers = []
        self.synced = []
        self.news = asyncio.Event()
        self.thread = LogThread(
            self.files,
            LocalLedgerSettings(durability=durability, interval_s=interval_s),
            SystemClock(),
            answered=self._answered,
            synced=self._synced,
        )

    def _answered(self, commits, error):
        self.answers.append(([job for commit in commits for job in commit.jobs], error))
        self.news.set()

    def _synced(self, *what):
        self.synced.append(what)
        self.news.set()

    def submit(self, job, *steps, epoch=0, end=0):
        self.thread.submit(Commit(epoch, list(steps), [job], 1, generation=1, end=end))

    def begin(self, job="begin", *, epoch=0, path=None):
        path = path or self.path
        self.submit(job, StartSegment(self.folder / "source", path, HEADER, STAMP), epoch=epoch)

    async def answered(self, count):
        """Return when so many jobs were answered."""
        while sum(len(jobs) for jobs, _ in self.answers) < count:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 10)
        return [jobs for jobs, _ in self.answers]


@pytest.fixture
async def log(tmp_path):
    log = Log(tmp_path)
    yield log
    await log.thread.stop()


async def test_a_segment_has_its_name_once_its_header_is_on_disk(log):
    log.begin()
    await log.answered(1)
    assert log.path.read_bytes() == HEADER
    assert (log.files.syncs, log.files.folder_syncs) == (1, 1)


async def test_writes_are_synced_before_they_are_answered(log):
    log.begin()
    await log.answered(1)
    log.submit("a", Write(6, [b"one", b"two"]))
    await log.answered(2)
    assert log.path.read_bytes() == b"headeronetwo"
    assert log.files.syncs == 2


async def test_what_arrived_during_a_sync_shares_the_next(log):
    log.begin()
    await log.answered(1)
    with log.files.hold_syncs():
        log.submit("first", Write(6, [b"0"]))
        await asyncio.to_thread(log.files.sync_waits.wait, 10)
        for number in range(1, 100):
            log.submit(number, Write(6 + number, [b"x"]))
    answers = await log.answered(101)
    assert answers == [["begin"], ["first"], list(range(1, 100))]
    assert log.files.syncs == 3
    assert log.files.writes == 3  # Neighbours are written together.
    assert log.path.read_bytes() == b"header0" + b"x" * 99


async def test_what_arrived_during_a_write_shares_its_sync(log):
    log.begin()
    await log.answered(1)
    with log.files.hold_writes():
        log.submit("first", Write(6, [b"0"]))
        await asyncio.to_thread(log.files.write_waits.wait, 10)
        for number in range(1, 100):
            log.submit(number, Write(6 + number, [b"x"]))
    answers = await log.answered(101)
    assert answers == [["begin"], ["first", *range(1, 100)]]
    assert (log.files.writes, log.files.syncs) == (3, 2)
    assert log.path.read_bytes() == b"header0" + b"x" * 99


async def test_what_arrived_during_a_write_fails_with_it(log):
    log.begin()
    await log.answered(1)
    with log.files.hold_writes():
        log.submit("first", Write(6, [b"a"]))
        await asyncio.to_thread(log.files.write_waits.wait, 10)
        log.submit("second", Write(7, [b"b"]))
        log.files.fail_syncs()
    await log.answered(3)
    jobs, error = log.answers[1]
    assert jobs == ["first", "second"]
    assert isinstance(error, OSError)


async def test_stopping_during_a_write_answers_what_was_submitted(tmp_path):
    log = Log(tmp_path)
    log.begin()
    await log.answered(1)
    with log.files.hold_writes():
        log.submit("first", Write(6, [b"a"]))
        await asyncio.to_thread(log.files.write_waits.wait, 10)
        log.submit("second", Write(7, [b"b"]))
        stopping = asyncio.ensure_future(log.thread.stop())
        await asyncio.sleep(0)
    await stopping
    assert log.answers[1] == (["first", "second"], None)
    assert log.path.read_bytes() == b"headerab"


async def test_a_segment_is_left_only_when_all_of_it_is_on_disk(log):
    log.begin()
    other = log.folder / "other"
    log.submit("a", Write(6, [b"a"]))
    log.submit(
        "switch", StartSegment(log.folder / "source 2", other, b"2", STAMP), Write(1, [b"b"])
    )
    await log.answered(3)
    assert (log.path.read_bytes(), other.read_bytes()) == (b"headera", b"2b")


async def test_a_segment_is_resumed_where_it_ended(log):
    log.path.write_bytes(b"header-and-torn")
    log.submit("resume", ResumeSegment(log.path, 10, STAMP), Write(10, [b"!"]))
    await log.answered(1)
    assert log.path.read_bytes() == b"header-and!"


@pytest.mark.parametrize("fault", ["fail_syncs", "fail_writes"])
async def test_after_a_failure_nothing_is_written_before_the_next_epoch(log, fault):
    log.begin()
    await log.answered(1)
    getattr(log.files, fault)()
    log.submit("fails", Write(6, [b"a"]))
    await log.answered(2)
    log.submit("refused", Write(7, [b"b"]))
    await log.answered(3)
    log.begin("anew", epoch=1, path=log.folder / "new")
    log.submit("fine", Write(6, [b"c"]), epoch=1)
    await log.answered(5)
    errors = {job: error for jobs, error in log.answers for job in jobs}
    assert isinstance(errors["fails"], OSError)
    assert errors["refused"] is errors["fails"]
    assert errors["anew"] is errors["fine"] is None
    assert (log.folder / "new").read_bytes() == b"headerc"
    assert b"b" not in log.path.read_bytes()


async def test_refused_and_fine_commits_may_come_together(log):
    log.begin()
    await log.answered(1)
    with log.files.hold_syncs():
        log.files.fail_syncs()
        log.submit("fails", Write(6, [b"a"]))
        await asyncio.to_thread(log.files.sync_waits.wait, 10)
        log.submit("refused", Write(7, [b"b"]))
        log.begin("anew", epoch=1, path=log.folder / "new")
    await log.answered(4)
    assert [(jobs, error is None) for jobs, error in log.answers] == [
        (["begin"], True),
        (["fails"], False),
        (["refused"], False),
        (["anew"], True),
    ]


async def test_a_mistake_of_ours_is_answered_like_a_broken_disk(log):
    log.submit("no segment was begun", Write(0, [b"a"]))
    await log.answered(1)
    assert isinstance(log.answers[0][1], AssertionError)


async def test_stopping_answers_what_was_submitted(tmp_path):
    log = Log(tmp_path)
    log.begin()
    log.submit("a", Write(6, [b"a"]))
    await log.thread.stop()
    assert sum(len(jobs) for jobs, _ in log.answers) == 2
    assert log.path.read_bytes() == b"headera"
    assert "magnetar-log" not in {thread.name for thread in threading.enumerate()}


async def test_without_durability_nothing_is_synced(tmp_path):
    log = Log(tmp_path, Durability.NONE)
    log.begin()
    log.submit("a", Write(6, [b"a"]))
    await log.answered(2)
    await log.thread.stop()
    assert (log.files.syncs, log.files.folder_syncs) == (0, 0)


async def test_syncs_come_after_the_interval(tmp_path):
    log = Log(tmp_path, Durability.INTERVAL, interval_s=0.01)
    log.begin()
    log.submit("a", Write(6, [b"a"]), end=7)
    await log.answered(2)
    while not log.synced:
        log.news.clear()
        await asyncio.wait_for(log.news.wait(), 10)
    assert log.synced == [(1, 7, None)]
    await log.thread.stop()
    assert log.files.syncs == 2  # The header, and what was written.


async def test_stopping_syncs_what_waits_for_the_interval(tmp_path):
    log = Log(tmp_path, Durability.INTERVAL)
    log.begin()
    log.submit("a", Write(6, [b"a"]), end=7)
    await log.thread.stop()
    assert log.synced == [(1, 7, None)]


async def test_a_sync_that_nobody_waits_for_may_fail_too(tmp_path):
    log = Log(tmp_path, Durability.INTERVAL, interval_s=0.01)
    log.begin()
    await log.answered(1)
    log.files.fail_syncs()
    log.submit("answered", Write(6, [b"a"]), end=7)
    while not log.synced:
        log.news.clear()
        await asyncio.wait_for(log.news.wait(), 10)
    assert isinstance(log.synced[0][2], OSError)
    log.submit("refused", Write(7, [b"b"]))
    await log.answered(3)
    assert isinstance(log.answers[-1][1], OSError)
    await log.thread.stop()


class Ticks:
    """A clock that is a second later each time it is asked."""

    def __init__(self):
        self.now = map(float, count()).__next__


@pytest.mark.parametrize("durability", Durability)
async def test_a_group_tells_when_it_was_written_and_synced(tmp_path, durability):
    answers = asyncio.Queue()
    thread = TimedLogThread(
        FaultyFiles(),
        LocalLedgerSettings(durability=durability, interval_s=1e9, timed=True),
        Ticks(),
        answered=lambda commits, error: answers.put_nowait((commits, error)),
        synced=lambda *_: None,
    )
    before = -1.0
    steps = [StartSegment(tmp_path / "source", tmp_path / "segment", b"header", stamp(1))]
    for step in (*steps, Write(6, [b"0"]), Write(7, [b"1"])):
        thread.submit(Commit(0, [step], ["job"], 10))
        (commit,), error = await asyncio.wait_for(answers.get(), 20)
        began, written, synced, size = commit.times
        assert error is None
        assert before < began < synced
        assert began < written <= synced
        if isinstance(step, Write):
            assert (written < synced) is (durability is Durability.FSYNC)
        assert size == 10
        before = synced
    await thread.stop()
