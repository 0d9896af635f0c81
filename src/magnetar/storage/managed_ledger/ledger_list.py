"""The record of a log's layout. Opening it takes the log over; it changes by compare-and-set.

Whoever changes the record owns the log. A change that finds another version, which is not its own,
means that another broker took over: from then on everything here raises Fenced.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, Self

from magnetar.callbacks import unheard
from magnetar.errors import Fenced, LedgerNotFound, MagnetarError, StorageError, VersionMismatch
from magnetar.late_dataclass import dataclass
from magnetar.storage.ledger.store import LedgerId, LedgerReader, LedgerWriter
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.layout import Layout
from magnetar.storage.managed_ledger.own_write import put_or_find
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import ABSENT, Record

log = logging.getLogger(__name__)

Edit = Callable[[Layout], None]


class LogOwnership(Enum):
    """Says whether this broker may change the log."""

    OWNED = "ours"
    FENCED = "a write failed, so that nobody knows what is recorded"
    LOST = "another broker has taken it over"
    DELETED = "it was deleted"


TRANSITIONS: Final[Mapping[LogOwnership, frozenset[LogOwnership]]] = {
    LogOwnership.OWNED: frozenset({LogOwnership.FENCED, LogOwnership.LOST, LogOwnership.DELETED}),
    LogOwnership.FENCED: frozenset({LogOwnership.LOST, LogOwnership.DELETED}),
    LogOwnership.LOST: frozenset({LogOwnership.DELETED}),
    LogOwnership.DELETED: frozenset(),
}
"""Which state may follow each. None leads back to OWNED: the log must be opened again."""


@dataclass(slots=True, eq=False)
class LedgerList:
    """The recorded layout of a log, and the one loop that changes the record."""

    name: str
    layout: Layout
    version: int
    context: LogContext
    ownership: LogOwnership = LogOwnership.OWNED
    when_fenced: Callable[[], None] = unheard  # Called soon after it takes no more changes.
    _fenced_because: str = ""  # Why it is no longer OWNED.
    _inbox: tuple[tuple[Edit, asyncio.Future[None]], ...] = ()
    _writer: asyncio.Task[None] | None = None  # It runs only while changes wait.

    @classmethod
    def of(cls, name: str, record: Record | None, context: LogContext) -> Self:
        """The list of a log whose ``record`` was just read, before it is taken over."""
        value = b"" if record is None else record.value
        recorded = context.codec.decode_ledger_list(value, source=paths.managed_ledger(name))
        version = ABSENT if record is None else record.version
        return cls(name, Layout.of(recorded), version, context)

    async def end_what_was_open(
        self, begun: asyncio.Future[LedgerWriter] | None = None, ended: LedgerReader | None = None
    ) -> tuple[LedgerReader | None, LedgerWriter | None]:
        """Fence and seal the ledger that a former owner left open, and return its reader.

        ``ended`` is that ledger, where it was opened already.
        Then the one that was ``begun`` for what is appended next, where its id is greater than all.
        What is there can be read without it.
        """
        reader = await _seal_what_was_open(self.name, self.layout, self.context, ended)
        if begun is None:
            return reader, None
        if not begun.done():
            await asyncio.wait([begun])
        if begun.exception() is not None and self.version != ABSENT:
            return reader, None
        writer = begun.result()
        if writer.ledger_id <= self.layout.newest_id:
            await self.context.ledgers.delete(writer.ledger_id)
            return reader, None
        self.layout.begin(writer.ledger_id)
        return reader, writer

    async def take_over(self) -> None:
        """Record the layout as it is now, and own the log.

        Raises Fenced when another broker opens the log at the same time.
        """
        try:
            # This is written even where nothing changed, so that a former owner notices.
            self.version = await self.context.metadata.put(
                self._path,
                self.context.codec.encode_ledger_list(self.layout.record()),
                expected_version=self.version,
            )
        except VersionMismatch as error:
            raise Fenced(
                f"Managed ledger {self.name} is being opened by another broker; look the topic up "
                "again"
            ) from error

    @property
    def _path(self) -> str:
        return paths.managed_ledger(self.name)

    @property
    def owned(self) -> bool:
        return self.ownership is LogOwnership.OWNED

    def check(self) -> None:
        """Raises Fenced when nothing may be written any more."""
        if not self.owned:
            raise self._fenced()

    def fence(self, reason: str) -> None:
        """Refuse every change from now on. Only the first reason is kept."""
        self._give_up(LogOwnership.FENCED, reason)

    async def change(self, edit: Edit) -> None:
        """Record a change, then apply it to ``layout``. Changes are made one after the other.

        ``edit`` is called twice and must do the same both times. Raises Fenced, and what the
        metadata store raises: then the change may or may not be recorded, and the list is
        fenced. Cancelling the await does not take the change back.
        """
        self.check()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inbox = (*self._inbox, (edit, done))
        if self._writer is None:
            self._writer = self.context.tasks.spawn(f"ledger list {self.name}", self._write())
        await done

    async def verify(self) -> None:
        """Raises Fenced when another broker has taken the log over."""
        while True:
            self.check()
            version = self.version
            record = await self.context.metadata.get(self._path)
            if self._writer is not None:
                await asyncio.wait([self._writer])
            elif version == self.version:
                break
            # The version is ours and has changed meanwhile: look again.
        if record is None or record.version != version:
            self._give_up(LogOwnership.LOST, LogOwnership.LOST.value)
            raise self._fenced()

    async def delete_removed(self) -> None:
        """Delete the ledgers that are recorded as no longer part of the log.

        All of them are tried before the first failure is raised: on a full disk no deletion can be
        noted, and yet only a file whose ledgers are all deleted gives space back.
        """
        failure: StorageError | None = None
        for ledger_id in list(self.layout.deleting):
            try:
                await self.context.ledgers.delete(LedgerId(ledger_id))
            except StorageError as error:
                failure = failure or error
            else:
                self.layout.forget_deleted([ledger_id])
        if failure is not None:
            raise failure

    async def delete_record(self) -> None:
        """Delete the record, and with it the log."""
        await self.context.metadata.delete(self._path)
        self._give_up(LogOwnership.DELETED, LogOwnership.DELETED.value)

    async def _write(self) -> None:
        try:
            while self._inbox:
                edit, done = self._inbox[0]
                error: MagnetarError | None = None
                try:
                    self.check()
                    await self._record(edit)
                except MagnetarError as failure:
                    error = failure
                self._inbox = self._inbox[1:]
                _answer(done, error)
        finally:
            self._writer = None
            if self._inbox:
                self._abandon()

    def _abandon(self) -> None:
        """Fence the list: the loop was cancelled or failed, so the last change may be recorded."""
        self.fence("a change of its list of ledgers was abandoned")
        waiting, self._inbox = self._inbox, ()
        for _, done in waiting:
            _answer(done, self._fenced())

    async def _record(self, edit: Edit) -> None:
        draft = self.layout.copy()
        edit(draft)
        try:
            self.version = await self._put(draft)
        except VersionMismatch as error:
            self._give_up(LogOwnership.LOST, LogOwnership.LOST.value)
            raise self._fenced() from error
        except StorageError as error:
            self.fence(f"its list of ledgers could not be written ({error})")
            raise
        # Entries may have been appended meanwhile, so that the draft is out of date.
        edit(self.layout)

    async def _put(self, draft: Layout) -> int:
        """Replace the record. Raises VersionMismatch where another broker did."""
        metadata, version = self.context.metadata, self.version
        value = self.context.codec.encode_ledger_list(draft.record())
        if draft.open_id is None:  # Who takes the log over may write just the same.
            return await metadata.put(self._path, value, expected_version=version)
        return await put_or_find(metadata, self._path, value, expected_version=version)

    def _give_up(self, ownership: LogOwnership, reason: str) -> None:
        if self.owned:
            self._fenced_because = reason
            if ownership is not LogOwnership.DELETED:
                log.warning("managed_ledger.fenced name=%s reason=%s", self.name, reason)
                asyncio.get_running_loop().call_soon(self.when_fenced)
        if ownership in TRANSITIONS[self.ownership]:
            self.ownership = ownership

    def _fenced(self) -> Fenced:
        return Fenced(f"Managed ledger {self.name} takes no more changes: {self._fenced_because}")


def _answer(done: asyncio.Future[None], error: MagnetarError | None) -> None:
    if done.done():
        return  # Whoever waited was cancelled.
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


async def _seal_what_was_open(
    name: str, layout: Layout, context: LogContext, reader: LedgerReader | None
) -> LedgerReader | None:
    """Fence the ledger whose end was not recorded, and seal it in the layout."""
    if layout.open_id is None:
        return None
    try:
        if reader is None or reader.ledger_id != layout.open_id:
            reader = await context.ledgers.open(LedgerId(layout.open_id))
    except LedgerNotFound:
        # It is created before it is recorded and deleted after: a crash without fsync lost it.
        log.warning("managed_ledger.ledger_missing name=%s ledger_id=%s", name, layout.open_id)
        layout.drop_open()
        return None
    last_entry_id, size_bytes = reader.end
    layout.seal(last_entry_id, size_bytes, context.clock.wall_ms())
    return reader if last_entry_id >= 0 else None
