"""Looks after the files: seals full segments, prepares the next one, gives back dead ones.

One task per store, woken when there may be something to do. Its file calls run in a thread.
"""

import asyncio
import contextlib
import errno
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.late_dataclass import dataclass

from .disk import Files
from .index import Ledger, group_of
from .journal import Journal
from .segment_format import Contents, Group, encode_footer
from .segments import Segment, Segments, SegmentState, Spare
from .settings import Durability, LocalLedgerSettings

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

LEDGERS_PER_YIELD: Final = 256
"""How many ledgers' parts of a segment are collected before the loop goes on."""


class InThread(Protocol):
    """Runs a blocking function in a thread of the store, and brings its result."""

    async def __call__(
        self, function: Callable[P, T], /, *arguments: P.args, **options: P.kwargs
    ) -> T: ...


@dataclass(frozen=True, slots=True)
class StoreContext:
    """What the parts of a store share."""

    settings: LocalLedgerSettings
    files: Files
    segments: Segments
    ledgers: dict[int, Ledger]
    journal: Journal
    in_thread: InThread
    clock: Clock
    wake: Callable[[], None]  # To be called when there may be work for one of them.


class Upkeep:
    """Seals full segments, prepares the next file and frees dead ones."""

    def __init__(self, parts: StoreContext) -> None:
        self._parts = parts
        self._files = parts.files
        self._segments = parts.segments
        self._in_thread = parts.in_thread
        self._durable = parts.settings.durability is not Durability.NONE
        self._wanted = asyncio.Event()
        self._stopping = False
        self._prepared_during: Segment | None = None

    def wake(self) -> None:
        """Look for something to do."""
        self._wanted.set()

    async def run(self) -> None:
        """Work until stopped. An error of the disk is logged, and the next wake tries again."""
        while not self._stopping:
            await self._wanted.wait()
            self._wanted.clear()
            with self._trouble_logged():
                await self._free()
            with self._trouble_logged():
                await self._prepare()
            with self._trouble_logged():
                await self._seal(SegmentState.FULL)

    def stop(self) -> None:
        """Let ``run`` end after what it is doing: no file is left half renamed."""
        self._stopping = True
        self._wanted.set()

    async def finish(self) -> None:
        """Write the missing footers, after the journal has closed: the next start is fast then."""
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
                await self._in_thread(self._free_segment, segment, spare)
                self._segments.forget(segment)
                if spare is not None:
                    await self._add_spare(Spare(spare, recycled=True))
        for surplus in self._segments.surplus():
            await self._in_thread(self._files.remove, surplus.path)

    def _free_segment(self, segment: Segment, spare: Path | None) -> None:
        """Remove a segment durably: no crash brings it back."""
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
        active = self._parts.journal.active
        if active is None or active is self._prepared_during:
            return
        if self._segments.wants_spare(active):
            self._prepared_during = active  # Once, or a full disk would be asked each time.
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
        # Collected at once, so that no later one is sealed, and then compacted, before this one's
        # contents are known.
        full = [s for s in self._segments if s.state is state and s.answered == s.tail]
        for segment in full:
            if segment.state is not state:
                continue  # Its last sync failed meanwhile.
            with self._trouble_logged():
                # Kept where the disk refuses the footer: once compaction has moved blocks of later
                # segments, the index no longer tells what is in this one.
                segment.contents = segment.contents or await self._contents(segment)
                await self._in_thread(self._write_footer, segment, segment.contents)
                if segment.state is state:  # As above.
                    segment.to(SegmentState.SEALED)
                self._parts.wake()

    async def _contents(self, segment: Segment) -> Contents:
        """Collect what is in a full segment. Of a deleted ledger only its id is left."""
        groups: dict[int, Group] = {}
        for number, ledger_id in enumerate(list(segment.ledgers), 1):
            ledger = self._parts.ledgers.get(ledger_id)
            groups[ledger_id] = Group(ledger_id) if ledger is None else group_of(segment, ledger)
            if number % LEDGERS_PER_YIELD == 0:
                await self._parts.clock.sleep(0)
        return Contents(groups, segment.notes.deletions, segment.tail)

    def _write_footer(self, segment: Segment, contents: Contents) -> None:
        footer = encode_footer(segment.stamp, contents)
        with contextlib.closing(self._files.open(segment.path)) as file:
            file.write([footer], segment.tail)
            file.truncate(segment.tail + len(footer))
            if self._durable:
                file.sync()
