"""The log as the event loop sees it: places jobs one behind the other, and answers each once.

A job is anything that writes one record. Placing is bookkeeping, done at once; bytes go to the log
thread once per loop iteration. Nothing waits for a timer: while one sync runs the next commit
fills up.

When the disk refuses, everything that was not answered yet fails, the segment is abandoned where
the last answer left it, and the next job begins a new one.
"""

import errno
import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from typing import Protocol

from magnetar.clock import Clock
from magnetar.errors import StorageError, WriteFailed
from magnetar.late_dataclass import dataclass
from magnetar.loop_iteration import LoopIteration, Phase
from magnetar.model.counts import GroupTimes
from magnetar.model.histogram import Histogram
from magnetar.storage.ledger.capacity import Capacity
from magnetar.storage.workers import InThread, StartWorker

from .disk import Files
from .format import Stamp
from .log_thread import Commit, LogThread, ResumeSegment, StartSegment, TimedLogThread, Write
from .segments import Segment, Segments, SegmentState
from .settings import Durability, LocalLedgerSettings

log = logging.getLogger(__name__)


class Job(Protocol):
    """One record to be written, and what is to be done once it is."""

    @property
    def size(self) -> int:
        """Bytes of the record."""

    def encode(self, stamp: Stamp, synced: int) -> Iterable[bytes]:
        """The record, for a segment with this stamp."""

    def landed(self, segment: Segment, offset: int) -> None:
        """The record is as durable as the store is set to make it."""

    def will_fail(self) -> None:
        """Let nothing follow the record in the log: ``failed`` is called later."""

    def failed(self) -> None:
        """The record may or may not be on disk, and will not be believed."""

    def answer(self, error: WriteFailed | None) -> None:
        """Answer the caller. Called once, after one of the two above, whatever they did."""


@dataclass(slots=True)
class _Run:
    """Jobs whose records lie one behind the other in a segment."""

    segment: Segment
    start: int
    end: int = 0  # Set when it is complete.
    jobs: list[Job] = field(default_factory=list)


class Journal:
    """Takes jobs, in an order that is that of the log."""

    def __init__(
        self,
        files: Files,
        segments: Segments,
        settings: LocalLedgerSettings,
        clock: Clock,
        *,
        next_ledger_id: Callable[[], int],
        wake: Callable[[], None],
        iteration: LoopIteration,
        check_folder: Callable[[], None] = lambda: None,
        start: StartWorker = InThread,
    ) -> None:
        self._segments = segments
        self._next_ledger_id = next_ledger_id
        self._wake = wake
        self._durability = settings.durability
        self.capacity = Capacity(settings.pending_bytes_max)
        self._iteration = iteration
        self._active: Segment | None = None
        self._resume = False  # The active segment exists, and the thread has not opened it yet.
        self._epoch = 0  # It grows by one with each failure.
        self._clock = clock
        self.write_error = ""  # Why the last commit failed, if it did.
        self.write_failure: tuple[float, str] | None = None  # The last one: when, and why.
        self.times: GroupTimes | None = None  # Of what is answered at the moment.
        self.running = True  # False once it is closing: then append no more.
        self._outgoing: Commit[_Run] | None = None  # What this loop iteration has placed.
        self._submitted: deque[Commit[_Run]] = deque()  # In the order of their answers.
        self._run: _Run | None = None  # The last run of that; the next job joins it.
        self._pieces: list[bytes] = []  # Of the write that belongs to that run.
        thread = TimedLogThread if settings.timed else LogThread
        self._thread: LogThread[_Run] = thread(
            files,
            settings,
            clock,
            answered=self._answered,
            synced=self._synced,
            check_folder=check_folder,
            start=start,
        )

    @property
    def sync_latency(self) -> Histogram:
        """How long the disk took to sync what was written."""
        return self._thread.sync_latency

    def resume(self, segment: Segment) -> None:
        """Go on in a segment that recovery found unfinished; called before anything is appended."""
        self._active = segment
        self._resume = True

    def refuse(self, error: StorageError) -> None:
        """Write nothing any more: whatever is appended fails with this."""
        self._thread.refusal = error
        self._note_failure(error)

    @property
    def active(self) -> Segment | None:
        """The segment that takes the next record, if it has been begun."""
        return self._active

    def append(self, job: Job) -> None:
        """Write a record. Sooner or later the job is told that it landed, or that it failed."""
        size = job.size
        segment = self._active
        if segment is None or (segment.tail + size > segment.size and segment.tail > segment.start):
            segment = self._begin(size)
        run = self._run or self._new_run(segment)
        self._pieces += job.encode(segment.stamp, segment.synced)
        run.jobs.append(job)
        segment.tail += size
        self.capacity.take(size)

    async def close(self) -> None:
        """Return when everything was answered and the thread has ended."""
        self.running = False
        self._hand_over()
        await self._thread.stop()

    def _begin(self, room: int) -> Segment:
        if self._active is not None:
            self._active.to(SegmentState.FULL)
        segment, source, header = self._segments.begin(self._next_ledger_id(), room)
        self._end_run()
        commit = self._outgoing or self._new_commit()
        commit.steps.append(StartSegment(source, segment.path, header, segment.stamp))
        self._active = segment
        self._resume = False
        return segment

    def _new_commit(self) -> Commit[_Run]:
        self._outgoing = commit = Commit[_Run](self._epoch)
        self._iteration.at_end(Phase.LOG, self._hand_over)
        return commit

    def _new_run(self, segment: Segment) -> _Run:
        commit = self._outgoing or self._new_commit()
        if self._resume:
            self._resume = False
            commit.steps.append(ResumeSegment(segment.path, segment.tail, segment.stamp))
        write = Write(segment.tail)
        commit.steps.append(write)
        self._pieces = write.pieces
        self._run = run = _Run(segment, segment.tail)
        commit.jobs.append(run)
        return run

    def _end_run(self) -> None:
        run, commit = self._run, self._outgoing
        if run is not None and commit is not None:
            run.end = commit.end = run.segment.tail
            commit.size += run.end - run.start
            commit.generation = run.segment.generation
        self._run = None

    def _hand_over(self) -> None:
        self._end_run()
        commit, self._outgoing = self._outgoing, None
        if commit is not None:
            self._submit(commit)

    def _submit(self, commit: Commit[_Run]) -> None:
        self._submitted.append(commit)
        self._thread.submit(commit)

    def _answered(self, commits: list[Commit[_Run]], error: Exception | None) -> None:
        # What callers append in answer goes to the thread at once, which is idle.
        self._iteration.run(partial(self._tell, commits, error))

    def _tell(self, commits: list[Commit[_Run]], error: Exception | None) -> None:
        for _ in commits:
            self._submitted.popleft()
        if error is not None:
            self._note_failure(error)
            self._give_up(commits, error)
            return
        self.write_error = ""
        self.times = commits[0].times
        for commit in commits:
            self.capacity.give_back(commit.size)
            for run in commit.jobs:
                self._landed(run)
            if len(commit.steps) > 1:
                self._wake()
        if self._active is not None and self._segments.wants_spare(self._active):
            self._wake()

    def _note_failure(self, error: Exception) -> None:
        self.write_error = str(error)
        self.write_failure = (self._clock.now(), self.write_error)

    def _landed(self, run: _Run) -> None:
        segment, offset = run.segment, run.start
        segment.answered = run.end
        if self._durability is Durability.FSYNC:
            segment.synced = run.end
        for job in run.jobs:
            error = None
            try:
                job.landed(segment, offset)
            except Exception as defect:
                log.exception("storage.defect path=%s offset=%s", segment.path, offset)
                error = _write_failed(segment, defect)
            try:
                job.answer(error)
            except Exception:  # A defect in one caller must not keep the answer from the others.
                log.exception("storage.defect job=%r", job)
            offset += job.size

    def _fail(self, run: _Run, error: Exception) -> None:
        for job in run.jobs:
            try:
                job.failed()
            except Exception:
                log.exception("storage.defect path=%s", run.segment.path)
            try:
                job.answer(_write_failed(run.segment, error))
            except Exception:
                log.exception("storage.defect job=%r", job)

    def _synced(self, generation: int, end: int, error: Exception | None) -> None:
        """Note a sync that no append waited for, where durability is ``interval``."""
        segment = self._segments.get(generation)
        if error is None:
            if segment is not None:
                segment.synced = max(segment.synced, end)
            return
        log.error("storage.sync_failed path=%s error=%s", segment and segment.path, error)
        if segment is not None and segment is self._active:
            self._abandon()
        elif segment is not None and segment.state is SegmentState.FULL:
            segment.to(SegmentState.ABANDONED)

    def _give_up(self, commits: list[Commit[_Run]], error: Exception) -> None:
        """Fail everything in these commits, and abandon what was placed behind them."""
        _put_nothing_behind(commits)  # Whoever is answered first may append to any ledger.
        if commits[0].epoch == self._epoch:
            path = self._active.path if self._active is not None else self._segments.folder
            log.error("storage.write_failed path=%s error=%s", path, error)
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                self._segments.disk_full = True
            self._abandon()
        runs = [run for commit in commits for run in commit.jobs]
        self.capacity.give_back(sum(commit.size for commit in commits))
        for run in runs:
            self._fail(run, error)

    def _abandon(self) -> None:
        """Leave every segment that has unanswered records where its last answer was."""
        self._end_run()
        unsent, self._outgoing = self._outgoing, None
        for segment in self._segments:
            if not segment.complete:
                if segment.state is not SegmentState.ABANDONED:
                    segment.to(SegmentState.ABANDONED)
                segment.tail = segment.answered
        self._active = None
        self._resume = False
        self._epoch += 1
        if unsent is not None:
            self._submit(unsent)  # Its epoch is over, so it comes back as refused.
        _put_nothing_behind(self._submitted)  # They come back as refused, too.
        self._wake()


def _put_nothing_behind(commits: Iterable[Commit[_Run]]) -> None:
    for commit in commits:
        for run in commit.jobs:
            for job in run.jobs:
                job.will_fail()


def _write_failed(segment: Segment, error: Exception) -> WriteFailed:
    failure = WriteFailed(
        str(error)
        if isinstance(error, StorageError)
        else f"the disk refused to store data in {segment.path} ({error}): make space or check the "
        "disk, then append again to a new ledger; nothing of this append was stored"
    )
    failure.__cause__ = error
    return failure
