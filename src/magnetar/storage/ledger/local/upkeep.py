"""Looks after the files: seals full segments, prepares the next one, gives back dead ones.

One task per store, woken when there may be something to do. Its file calls run in a thread.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

from magnetar.errors import StorageError

from .disk import Files
from .journal import Journal
from .scan import scan
from .segment_format import encode_footer
from .segments import Segment, Segments, State

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

ZEROS: Final = bytes(1024 * 1024)


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
        *,
        durable: bool,
        sealed: Callable[[], None],
    ) -> None:
        self._files = files
        self._segments = segments
        self._journal = journal
        self._in_thread = in_thread
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
                await self._seal(State.FULL)

    def stop(self) -> None:
        """The store is closing: end early, but leave no file half renamed."""
        self._hurry.set()
        self._wanted.set()

    async def finish(self) -> None:
        """After the journal has closed: leave footers, so that the next start need not read."""
        with self._trouble_logged():
            await self._seal(State.FULL)
            await self._seal(State.ACTIVE)

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
                    await self._add_spare(spare)

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
            self._prepared_during = active  # Once: a disk that is full would be filled each time.
            await self._add_spare(self._segments.new_name())

    async def _add_spare(self, path: Path) -> None:
        with self._trouble_logged():
            await self._in_thread(self._fill, path)
            self._segments.spares.append(path)

    def _fill(self, path: Path) -> None:
        """Give the file the length of a segment; writing zeros is what makes the disk find room.

        A file that is left half done has the wrong length, and the next start removes it.
        """
        size = self._segments.segment_size
        file = self._files.open(path, create=True)
        try:
            at = file.size()
            if at > size:
                file.truncate(size)
            while at < size and not self._hurry.is_set():
                file.write([ZEROS[: size - at]], at)
                at += len(ZEROS)
            if self._durable:
                file.sync()
        except OSError:
            self._files.remove(path)
            raise
        finally:
            file.close()

    async def _seal(self, state: State) -> None:
        for segment in list(self._segments):
            if segment.state is state and segment.answered == segment.tail:
                with self._trouble_logged():
                    await self._in_thread(self._write_footer, segment)
                    segment.state = State.SEALED
                    segment.source = None
                    self._wanted.set()
                    self._sealed()

    def _write_footer(self, segment: Segment) -> None:
        file = self._files.open(segment.path)
        try:
            scanned = scan(
                file,
                segment.generation,
                segment.start,
                segment.tail,
                newest=False,
                verify_bodies=False,
            )
            footer = encode_footer(segment.generation, scanned.contents._replace(end=segment.tail))
            file.write([footer], segment.tail)
            file.truncate(segment.tail + len(footer))
            if self._durable:
                file.sync()
        finally:
            file.close()
