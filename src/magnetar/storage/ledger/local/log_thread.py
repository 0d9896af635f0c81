"""The thread that writes the log: what arrived while one sync ran goes into the next.

The event loop hands over commits; the thread takes all that wait, writes them in order, and then
what arrived during the writing, syncs once and reports them together. It holds one segment file
open, the current one. After a failure nothing more is written until a commit of a later epoch
arrives, which the loop begins with a new segment: a file whose sync failed is never trusted again,
and nothing may land behind a hole.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.model.counts import GroupTimes
from magnetar.model.histogram import Histogram
from magnetar.storage.workers import InThread, StartWorker, Work

from .disk import File, Files
from .format import Stamp
from .segments import newest_mark
from .settings import Durability, LocalLedgerSettings
from .synced_mark import SyncedMark

GROUP_SIZE_MAX: Final = 2 * 1024 * 1024
"""Bytes after which a group of commits is synced although more wait: while the producers of one are
answered and send again, the disk has the next. All that a producer has under way in one group would
be written while nothing is read, and the other way round."""

Job = TypeVar("Job")


@dataclass(slots=True)
class StartSegment:
    """Write a header to ``source`` and make it the current segment, under the name ``path``."""

    source: Path
    path: Path
    header: bytes
    stamp: Stamp


@dataclass(slots=True)
class ResumeSegment:
    """Make an existing segment the current one; what lies behind ``end`` is cut off."""

    path: Path
    end: int
    stamp: Stamp


@dataclass(slots=True)
class Write:
    """Bytes for the current segment; they join up with the write before."""

    offset: int
    pieces: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class Commit(Generic[Job]):
    """What the loop hands over at once; it leaves the log at ``generation`` and ``end``."""

    epoch: int
    steps: list[StartSegment | ResumeSegment | Write] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    size: int = 0
    generation: int = 0
    end: int = 0
    times: GroupTimes | None = None  # Of its group, if it was the first and somebody asked.


class LogThread(Generic[Job]):
    """Owns the current segment file. ``submit`` and ``stop`` are for the loop; the rest it runs.

    ``answered`` is called on the loop with commits that are as durable as they are to be, or, with
    an error, with commits of which nothing may be believed. ``synced`` is called on the loop with
    the generation and offset up to which the log is on disk, or the error that says it may not be.
    """

    def __init__(
        self,
        files: Files,
        settings: LocalLedgerSettings,
        clock: Clock,
        *,
        answered: Callable[[list[Commit[Job]], Exception | None], None],
        synced: Callable[[int, int, Exception | None], None],
        check_folder: Callable[[], None] = lambda: None,
        start: StartWorker = InThread,
    ) -> None:
        """``check_folder`` raises when no file must be begun in the folder."""
        self.refusal: Exception | None = None  # Why nothing is written any more.
        self._check_folder = check_folder
        self.sync_latency = Histogram()
        self._files = files
        self._durability = settings.durability
        self._interval_s = settings.interval_s
        self._clock = clock
        self._answered = answered
        self._synced = synced
        self._loop = asyncio.get_running_loop()
        self._stopped = self._loop.create_future()
        self._queue: SimpleQueue[Commit[Job] | None] = SimpleQueue()
        # Only the thread uses what follows.
        self._running = True
        self._file: File | None = None
        self._epoch = 0
        self._newest: Path | None = None  # Of the newest segment that this thread has begun.
        self._stamp: Stamp | None = None  # Of the current segment.
        self._mark: SyncedMark | None = None
        self._end = (0, 0)  # generation and offset behind the last write
        self._unsynced_since: float | None = None
        self._broken_epoch = -1
        self._broken_by: Exception | None = None
        self._worker = start("magnetar-log", self._run())

    def submit(self, commit: Commit[Job]) -> None:
        """Hand over a commit. Commits are answered in the order of these calls."""
        self._queue.put(commit)
        self._worker.wake()

    async def stop(self) -> None:
        """Return when all that was submitted has been answered and the file is closed."""
        self._queue.put(None)
        self._worker.wake()
        await self._stopped
        await self._worker.ended()

    def _run(self) -> Work:
        while self._running:
            group = self._take((yield self._patience_s()))
            if group and group[0].epoch <= self._broken_epoch:  # Epochs only ascend.
                refused = [commit for commit in group if commit.epoch <= self._broken_epoch]
                del group[: len(refused)]
                self._call(self._answered, refused, self._broken_by)
            if group:
                self._call(self._answered, group, self._execute(group))
        self._sync_if_due(now=None)
        self._close_file()
        if self._mark is not None:
            self._mark.close()
        self._call(self._stopped.set_result, None)

    def _take(self, wait_s: float | None) -> list[Commit[Job]]:
        """Wait for a commit, and take all that wait behind it; none where none comes in time."""
        try:
            first = self._queue.get(timeout=wait_s)
        except Empty:
            self._sync_if_due(now=self._clock.now())
            return []
        if first is None:
            self._running = False
            return []
        return [first, *self._waiting(GROUP_SIZE_MAX - first.size)]

    def _waiting(self, size_max: int) -> list[Commit[Job]]:
        """Take what waits now; the last commit may go beyond ``size_max``."""
        taken: list[Commit[Job]] = []
        while size_max > 0 and self._running:
            try:
                commit = self._queue.get_nowait()
            except Empty:
                break
            if commit is None:
                self._running = False
            else:
                taken.append(commit)
                size_max -= commit.size
        return taken

    def _execute(self, group: list[Commit[Job]]) -> Exception | None:
        """Write a group, with what arrives meanwhile, and make it as durable as it is to be."""
        try:
            if self.refusal is not None:
                self._epoch = group[-1].epoch
                raise self.refusal  # noqa: TRY301 - as where a write fails
            self._write_all(group)
            if self._durability is Durability.FSYNC:
                arrived = self._waiting(GROUP_SIZE_MAX - sum(commit.size for commit in group))
                group += arrived
                self._write_all(arrived)
                self._sync_and_mark()
            elif self._durability is Durability.INTERVAL and self._due(self._clock.now()):
                self._sync_and_mark()  # If it fails, nothing of this group has been answered yet.
                self._call(self._synced, *self._end, None)
        except Exception as error:  # noqa: BLE001 whatever it is, the callers must learn of it
            self._break(error)
            return error
        return None

    def _write_all(self, commits: list[Commit[Job]]) -> None:
        write: Write | None = None
        for commit in commits:
            self._epoch = commit.epoch
            for step in commit.steps:
                if not isinstance(step, Write):
                    self._write(write)
                    write = None
                    self._switch(step)
                elif write is None:
                    write = step
                else:
                    write.pieces += step.pieces
            self._end = (commit.generation, commit.end)
        self._write(write)

    def _break(self, error: Exception) -> None:
        """Write no more in this epoch, and never again to this file."""
        self._broken_epoch = self._epoch
        self._broken_by = error
        self._unsynced_since = None
        self._close_file()

    def _write(self, write: Write | None) -> None:
        if write is None:
            return
        assert self._file is not None, "a commit must start or resume a segment before it writes"
        self._file.write(write.pieces, write.offset)
        if self._unsynced_since is None:
            self._unsynced_since = self._clock.now()

    def _switch(self, step: StartSegment | ResumeSegment) -> None:
        """Leave the current segment, all of it on disk, and go to another."""
        if self._durability is not Durability.NONE:
            self._sync()
        self._close_file()
        direct = self._durability is Durability.FSYNC
        self._stamp = step.stamp
        self._check_folder()
        if isinstance(step, ResumeSegment):
            self._file = self._files.open(step.path, direct=direct)
            self._file.truncate(step.end)
            self._begin_mark(step.path.parent, step.end)
            return
        self._file = self._files.open(step.source, create=True, direct=direct)
        self._file.write([step.header], 0)
        if self._durability is not Durability.NONE:
            self._file.sync()
        self._files.rename(step.source, step.path)
        former, self._newest = self._newest, self._marked(step.path) or self._newest
        if self._durability is not Durability.NONE:
            self._files.sync_folder(step.path.parent)
        if former is not None and former != self._newest:
            self._files.remove(former)
        self._begin_mark(step.path.parent, len(step.header))

    def _marked(self, path: Path) -> Path | None:
        """Leave a mark that this segment was begun, so that it is missed when it is gone.

        After the renaming, and synced with it. A disk too full for it has an older mark still.
        """
        mark = newest_mark(path)
        try:
            self._files.open(mark, create=True).close()
        except OSError:
            return None
        return mark

    def _begin_mark(self, folder: Path, end: int) -> None:
        """Mark that the current segment is on disk up to ``end``; recovery and we synced it."""
        if self._durability is not Durability.NONE:
            self._mark = self._mark or SyncedMark.open(self._files, folder, self._durability)
            self._put_mark(end)

    def _put_mark(self, end: int) -> None:
        if self._mark is not None and self._stamp is not None:
            self._mark.put(self._stamp, end)

    def _sync_and_mark(self) -> None:
        """Sync what was written, and mark its end before anything of it is answered."""
        self._sync()
        self._put_mark(self._end[1])

    def _sync(self) -> None:
        if self._unsynced_since is None:
            return
        assert self._file is not None, "there is no segment that could hold what was written"
        began = self._clock.now()
        self._file.sync()
        self.sync_latency.note(self._clock.now() - began)
        self._unsynced_since = None

    def _patience_s(self) -> float | None:
        if self._durability is not Durability.INTERVAL or self._unsynced_since is None:
            return None
        return max(0.0, self._unsynced_since + self._interval_s - self._clock.now())

    def _sync_if_due(self, *, now: float | None) -> None:
        """Sync what has waited for ``interval_s``, or, where ``now`` is None, whatever waits."""
        if not self._due(now):
            return
        error = None
        try:
            self._sync_and_mark()
        except OSError as failure:
            error = failure
            self._break(failure)
        self._call(self._synced, *self._end, error)

    def _due(self, now: float | None) -> bool:
        since = self._unsynced_since
        if self._durability is not Durability.INTERVAL or since is None:
            return False
        return now is None or now >= since + self._interval_s

    def _close_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        try:  # noqa: SIM105 a context manager costs more than all else here
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # The loop was closed without closing the store.
            pass


class TimedLogThread(LogThread[Job]):
    """It also notes, where that is asked for, the times of each group in its first commit."""

    _sync_began = 0.0

    def _execute(self, group: list[Commit[Job]]) -> Exception | None:
        began = self._sync_began = self._clock.now()
        error = super()._execute(group)
        ended = self._clock.now()
        written = ended if self._sync_began == began else self._sync_began
        size = sum(commit.size for commit in group)
        group[0].times = GroupTimes(began, written, ended, size)
        return error

    def _sync(self) -> None:
        self._sync_began = self._clock.now()
        super()._sync()
