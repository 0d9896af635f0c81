"""The offloaded ledgers of one log: makes copies of sealed ledgers, reads and deletes them.

The order holds through a crash between any two steps: a copy's place is recorded before anything
is written there, that it is complete after it was verified, and only then what is here is deleted.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field

from magnetar.errors import StorageError
from magnetar.late_dataclass import dataclass
from magnetar.storage.codec.json_object import NO_TEXTS
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.codec.offload_context import OffloadContext
from magnetar.storage.ledger.offloader import Offloader
from magnetar.storage.ledger.store import (
    LedgerEnd,
    LedgerEntries,
    LedgerId,
    LedgerReader,
    LedgerStore,
)
from magnetar.storage.managed_ledger.layout import Layout, is_local
from magnetar.storage.managed_ledger.ledger_list import LedgerList


@dataclass(slots=True, eq=False)
class LogOffload:
    """Everything but ``reader`` raises Fenced, and what the stores and the offloader raise."""

    ledger_list: LedgerList
    ledgers: LedgerStore
    offloader: Offloader
    dropped: Callable[[Collection[int]], None]  # It is told of ledgers before they go here.
    secrets: Mapping[str, str] = field(default_factory=lambda: NO_TEXTS, init=False)
    """With which copies are read and written."""
    local_first: bool = field(default=False, init=False)
    """Where a ledger is here as well, it is read here."""
    _writing: str | None = field(
        default=None, init=False
    )  # The uid of the copy that is being made.

    @property
    def _layout(self) -> Layout:
        return self.ledger_list.layout

    async def offload(
        self, ledger_id: int, context: OffloadContext, wall_ms: Callable[[], int]
    ) -> None:
        """Make a copy of a sealed ledger. One at a time."""
        assert self._writing is None, "one at a time"
        self._writing = context.uid
        try:
            await self.ledger_list.change(lambda layout: layout.begin_offload(ledger_id, context))
            if self._layout.ledger(ledger_id) is None:
                return
            ledger = await self.ledgers.open(LedgerId(ledger_id))
            more = await self.offloader.offload(ledger, context.properties, self.secrets)
            done = context._replace(
                complete=True, timestamp_ms=wall_ms(), properties={**context.properties, **more}
            )
            await self.ledger_list.change(lambda layout: layout.finish_offload(ledger_id, done))
        finally:
            self._writing = None
        await self.delete_removed()

    def reader(self, ledger_id: int) -> LedgerReader | None:
        """Return what reads a ledger's copy; None where the ledger is to be read here."""
        ledger = self._layout.ledger(ledger_id)
        if ledger is None or ledger.offload is None or not ledger.offload.complete:
            return None
        if self.local_first and is_local(ledger):
            return None
        return _CopyReader(ledger, ledger.offload, self)

    async def drop_local(self, ledger_ids: Collection[int]) -> None:
        """Delete here what was copied."""
        if ledger_ids:
            await self.ledger_list.change(lambda layout: layout.drop_local(ledger_ids))
            self.dropped(ledger_ids)
            await self.ledger_list.delete_removed()

    async def delete_removed(self) -> None:
        """Delete the copies that belong to no ledger any more.

        All are tried before the first failure is raised.
        """
        failure: StorageError | None = None
        for context in list(self._layout.deleting_offloaded):
            if context.uid == self._writing:
                continue
            try:
                await self.offloader.delete(context.properties, self.secrets)
            except StorageError as error:
                failure = failure or error
            else:
                self._layout.forget_deleted_offloaded([context.uid])
        if failure is not None:
            raise failure


@dataclass(slots=True, frozen=True)
class _CopyReader:
    """Reads one ledger's copy."""

    ledger: SealedLedger
    context: OffloadContext
    offload: LogOffload

    @property
    def ledger_id(self) -> LedgerId:
        return LedgerId(self.ledger.ledger_id)

    @property
    def end(self) -> LedgerEnd:
        return LedgerEnd(self.ledger.last_entry_id, self.ledger.size_bytes)

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        return await self.offload.offloader.read(
            self.context.properties,
            self.offload.secrets,
            first=first,
            count_max=count_max,
            bytes_max=bytes_max,
        )
