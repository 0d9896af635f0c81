"""Deletes the ledgers of one log that neither its cursors nor its retention need any more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.managed_ledger import ledger_rules
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings


@dataclass(slots=True, eq=False)
class LogTrimmer:
    """The trimmer of one log, which the saver of cursors calls after marks moved."""

    name: str
    ledger_list: LedgerList
    log: LogReader
    cursors: Mapping[str, Cursor]
    context: LogContext
    settings: ManagedLedgerSettings
    closed: bool = False

    def retain(self, time_s: int, size_bytes: int) -> None:
        """Set how long and how much of what is acknowledged is kept; see ``ledger_rules.py``."""
        has = self.settings
        if (time_s, size_bytes) != (has.retention_time_s, has.retention_size_bytes):
            self.settings = replace(has, retention_time_s=time_s, retention_size_bytes=size_bytes)

    async def trim(self, *, retained: bool = False) -> None:
        """Trim as ``ManagedLedger.trim`` says."""
        if self.closed:
            return
        limits = replace(self.settings, retention_time_s=0) if retained else self.settings
        layout = self.ledger_list.layout
        removable = self._removable(layout.sealed, self.context.clock.wall_ms(), limits)
        if removable:
            # The removal is recorded first: after a crash the next start deletes the ledgers.
            await self.ledger_list.change(lambda layout: layout.remove(removable))
            self._forget(removable)
        await self.ledger_list.delete_removed()

    def remove(self) -> None:
        """Take out of a list that is not recorded yet what is to be deleted once it is."""
        layout = self.ledger_list.layout
        if not self.cursors:
            return  # What nobody has acknowledged stays until housekeeping comes round.
        removable = self._removable(layout.sealed, self.context.clock.wall_ms(), self.settings)
        if removable:
            layout.remove(removable)
            self._forget(removable)

    def _forget(self, removed: list[int]) -> None:
        self.log.forget(removed)
        for cursor in self.cursors.values():
            cursor.clamp()

    @property
    def keeps_nothing(self) -> bool:
        """Whether all is acknowledged by every durable cursor, and not kept for some time."""
        slowest = self._slowest_mark()
        passed = slowest is not None and slowest >= self.ledger_list.layout.last
        return passed and not self.settings.retention_time_s

    @property
    def done(self) -> bool:
        """Whether no ledger will have to be deleted just because time passes."""
        now_ms = self.context.clock.wall_ms()
        ledgers = [
            each for each in self.ledger_list.layout.ledgers(now_ms) if each.last_entry_id >= 0
        ]
        return not self._removable(ledgers, now_ms + ledger_rules.FAR_AHEAD_MS, self.settings)

    def close(self) -> None:
        """Delete nothing any more: the log is closed."""
        self.closed = True

    def _removable(
        self, ledgers: Sequence[SealedLedger], now_ms: int, limits: ManagedLedgerSettings
    ) -> list[int]:
        return ledger_rules.removable(
            ledgers,
            self._slowest_mark(),
            limits,
            size_bytes=self.ledger_list.layout.size_bytes,
            now_ms=now_ms,
        )

    def _slowest_mark(self) -> Position | None:
        """The mark of the durable cursor that is furthest behind; None where there is none."""
        return min(
            (each.held_at or each.mark for each in self.cursors.values() if each.durable),
            default=None,
        )
