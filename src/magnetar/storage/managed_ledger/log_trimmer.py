"""Deletes the ledgers of one log that neither its cursors nor its retention need any more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from magnetar.clock import Clock
from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.ledger.store import LedgerStore
from magnetar.storage.managed_ledger import retention
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings


class LogTrimmer:
    """The trimmer of one log, which the saver of cursors calls after marks moved."""

    __slots__ = (
        "_clock",
        "_closed",
        "_cursors",
        "_ledgers",
        "_list",
        "_log",
        "_settings",
        "name",
    )

    def __init__(
        self,
        name: str,
        ledger_list: LedgerList,
        log: LogReader,
        *,
        ledgers: LedgerStore,
        cursors: Mapping[str, Cursor],
        clock: Clock,
        settings: ManagedLedgerSettings,
    ) -> None:
        self.name = name
        self._list = ledger_list
        self._log = log
        self._ledgers = ledgers
        self._cursors = cursors
        self._clock = clock
        self._settings = settings
        self._closed = False

    def retain(self, time_s: int, size_bytes: int) -> None:
        """Set how long and how much of what is acknowledged is kept; see ``retention.py``."""
        has = self._settings
        if (time_s, size_bytes) != (has.retention_time_s, has.retention_size_bytes):
            self._settings = replace(has, retention_time_s=time_s, retention_size_bytes=size_bytes)

    async def trim(self, *, retained: bool = False) -> None:
        """Trim as ``ManagedLedger.trim`` says."""
        if self._closed:
            return
        limits = replace(self._settings, retention_time_s=0) if retained else self._settings
        layout = self._list.layout
        removable = self._removable(layout.sealed, self._clock.wall_ms(), limits)
        if removable:
            # The removal is recorded first: after a crash the next start deletes the ledgers.
            await self._list.change(lambda layout: layout.remove(removable))
            self._log.forget(removable)
            for cursor in self._cursors.values():
                cursor.clamp()
        await self._list.delete_removed(self._ledgers)

    @property
    def keeps_nothing(self) -> bool:
        """Whether all is acknowledged by every durable cursor, and not kept for some time."""
        slowest = self._slowest_mark()
        passed = slowest is not None and slowest >= self._list.layout.last
        return passed and not self._settings.retention_time_s

    @property
    def done(self) -> bool:
        """Whether no ledger will have to be deleted just because time passes."""
        now_ms = self._clock.wall_ms()
        ledgers = [each for each in self._list.layout.ledgers(now_ms) if each.last_entry_id >= 0]
        return not self._removable(ledgers, now_ms + retention.FAR_AHEAD_MS, self._settings)

    def close(self) -> None:
        """Delete nothing any more: the log is closed."""
        self._closed = True

    def _removable(
        self, ledgers: Sequence[SealedLedger], now_ms: int, limits: ManagedLedgerSettings
    ) -> list[int]:
        return retention.removable(
            ledgers,
            self._slowest_mark(),
            limits,
            size_bytes=self._list.layout.size_bytes,
            now_ms=now_ms,
        )

    def _slowest_mark(self) -> Position | None:
        """The mark of the durable cursor that is furthest behind; None where there is none."""
        return min(
            (each.held_at or each.mark for each in self._cursors.values() if each.durable),
            default=None,
        )
