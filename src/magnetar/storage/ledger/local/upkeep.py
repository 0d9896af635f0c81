"""Looks after the files: seals full segments, prepares the next one, gives back dead ones.

One task per store, woken when there may be something to do. Its file calls run in a thread.
"""

import asyncio
import contextlib
import errno
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

from magnetar.clock import Clock
from magnetar.errors import StorageError

from .disk import File, Files
from .index import Ledger, group_of
from .journal import Journal
from .scan import read_contents
from .segment_format import Contents, Group, encode_footer
from .segments import Segment, Segments, SegmentState, Spare

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

LEDGERS_PER_YIELD: Final = 256
"""How many ledgers are asked what a segment holds of them before others may run."""

READ_SIZE: Final = 64 * 1024
READ_PAUSE_S: Final = 0.0003
"""Records that must be read to seal a segment are read in small pieces, with pauses: a thread at
work in Python holds up the loop, and with it everybody who waits for an answer."""


class InThread(Protocol):
    """Runs a blocking function in a thread of the store, and brings its result."""

    async def __call__(
        self, function: Callable[P, T], /, *arguments: P.args, **options: P.kwargs
    ) -> T: ...


class Upkeep:
    """Seals, prepares, frees."""

    def __init__(
        self,
        files: Files,
        segments: Segments,
        journal: Journal,
        in_thread: InThread,
        ledgers: Mapping[int, Ledger],
        *,
        clock: Clock,
        durable: bool,
        sealed: Callable[[], None],
    ) -> None:
        self._files = files
        self._segments = segments
        self._journal = journal
        self._in_thread = in_thread
        self._ledgers = ledgers
        self._clock = clock
        self._durable = durable
        self._sealed = sealed
        self._wanted = asyncio.Event()
        self._hurry = threading.Event()
        self._prepared_during: Segment | None = None

    def wake(self) -> None:
        """There may be something to do."""
        self._wanted.set()

    async def run(self) -> None:
        """Until stopped. Trouble with the disk is logged, and tried again at the next waking."""
        while not self._hurry.is_set():
            await self._wanted.wait()
            self._wanted.clear()
            with self._trouble_logged():
                await self._free()
            with self._trouble_logged():
                await self._prepare()
            with self._trouble_logged():
                await self._seal(SegmentState.FULL)

    def stop(self) -> None:
        """The store is closing: end early, but leave no file half renamed."""
        self._hurry.set()
        self._wanted.set()

    async def finish(self) -> None:
        """After the journal has closed: leave footers, so that the next start need not read."""
        with self._trouble_logged():
            await self._seal(SegmentState.FULL)
            await self._seal(SegmentState.ACTIVE)

    @contextlib.contextmanager
    def _trouble_logged(self) -> Iterator[None]:
        try:
            yield
        except (OSError, StorageError) as error:
            log.warning("storage.upkeep_failed folder=%s error=%s", self._segments.folder, error)

    async def _free(self) -> None:
        for segment in self._segments.dead():
            with self._trouble_logged():
                spare = self._segments.spare_name(segment)
                await self._in_thread(self._give_back, segment, spare)
                self._segments.forget(segment)
                if spare is not None:
                    await self._add_spare(Spare(spare, recycled=True))
        for surplus in self._segments.surplus():
            await self._in_thread(self._files.remove, surplus.path)

    def _give_back(self, segment: Segment, spare: Path | None) -> None:
        """After this the segment is gone, and no crash brings it back."""
        if spare is not None:
            with contextlib.suppress(FileNotFoundError):  # An earlier try got this far.
                self._files.rename(segment.path, spare)
        else:
            self._files.remove(segment.path)
            if segment.source is not None:
                self._files.remove(segment.source)
        if self._durable:
            self._files.sync_folder(segment.path.parent)

    async def _prepare(self) -> None:
        active = self._journal.active
        if active is None or active is self._prepared_during:
            return
        if self._segments.wants_spare(active):
            self._prepared_during = active  # Once: a disk that is full would be asked each time.
            await self._add_spare(Spare(self._segments.new_name(), recycled=False))

    async def _add_spare(self, spare: Spare) -> None:
        with self._trouble_logged():
            try:
                if await self._in_thread(self._allocate, spare.path):
                    self._segments.add_spare(spare)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    self._segments.disk_full = True
                raise

    def _allocate(self, path: Path) -> bool:
        """Give the file the length of a segment. False: this disk cannot, and the file is gone.

        A file that is left half done has the wrong length, and the next start removes it.
        """
        size = self._segments.segment_size
        file = self._files.open(path, create=True)
        ready = False
        try:
            if file.size() > size:
                file.truncate(size)
            if file.allocate(size):
                if self._durable:
                    file.sync()
                ready = True
        finally:
            file.close()
            if not ready:
                self._files.remove(path)
        return ready

    async def _seal(self, state: SegmentState) -> None:
        for segment in list(self._segments):
            if segment.state is state and segment.answered == segment.tail:
                with self._trouble_logged():
                    contents = await self._contents(segment)
                    await self._in_thread(self._write_footer, segment, contents)
                    if segment.state is state:  # Its last sync may have failed meanwhile.
                        segment.to(SegmentState.SEALED)
                    self._wanted.set()
                    self._sealed()

    async def _contents(self, segment: Segment) -> Contents | None:
        """What the index knows to be in a full segment; None: not all of it.

        Of a ledger that was deleted nothing is left but that it was here.
        """
        if not _index_tells(segment):
            return None
        groups: dict[int, Group] = {}
        for number, ledger_id in enumerate(list(segment.ledgers), 1):
            ledger = self._ledgers.get(ledger_id)
            groups[ledger_id] = Group(ledger_id) if ledger is None else group_of(segment, ledger)
            if number % LEDGERS_PER_YIELD == 0:
                await self._clock.sleep(0)
        if not _index_tells(segment):
            return None  # Compaction began meanwhile.
        return Contents(groups, segment.notes.deletions, segment.tail)

    def _write_footer(self, segment: Segment, contents: Contents | None) -> None:
        file = self._files.open(segment.path)
        try:
            if contents is None:
                contents = read_contents(_Slowly(file, self._hurry), segment, window=READ_SIZE)
            footer = encode_footer(segment.stamp, contents)
            file.write([footer], segment.tail)
            file.truncate(segment.tail + len(footer))
            if self._durable:
                file.sync()
        finally:
            file.close()


def _index_tells(segment: Segment) -> bool:
    """Whether the index and the notes tell all that is in a segment. It may change at any await."""
    return segment.indexed


class _Slowly:
    """A file that is read with pauses, until there is a hurry."""

    def __init__(self, file: File, hurry: threading.Event) -> None:
        self._file = file
        self._hurry = hurry

    def read(self, offset: int, size: int) -> bytes:
        self._hurry.wait(READ_PAUSE_S)
        return self._file.read(offset, size)

    def size(self) -> int:
        return self._file.size()
