"""Appends to one log: to its current ledger, which it begins, rolls over and ends.

``TRANSITIONS`` is the table of what the writer may do next. ``LedgerList`` knows who owns the log.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sized
from dataclasses import KW_ONLY, replace
from enum import Enum
from typing import Final, NamedTuple

from magnetar.errors import Fenced, MagnetarError, UnknownFailure
from magnetar.late_dataclass import dataclass
from magnetar.storage.ledger.store import LedgerOptions, LedgerWriter
from magnetar.storage.managed_ledger import ledger_rules
from magnetar.storage.managed_ledger.context import LogContext
from magnetar.storage.managed_ledger.cursor_saver import Trimmer
from magnetar.storage.managed_ledger.entries import Appendable, Stored
from magnetar.storage.managed_ledger.layout import Layout
from magnetar.storage.managed_ledger.ledger_list import LedgerList, LogOwnership
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings, ledger_metadata

log = logging.getLogger(__name__)


class WriterState(Enum):
    """Says what the writer of a log is doing."""

    IDLE = "no ledger takes entries; the next append creates one"
    CREATING = "a ledger is being created, and the one before it ended"
    OPEN = "a ledger takes entries"
    SEALING = "the ledger is being ended"
    CLOSING = "no more appends are taken; what is under way is finished and the ledger ended"
    CLOSED = "no more appends are taken, and no ledger takes entries"


TRANSITIONS: Final[Mapping[WriterState, frozenset[WriterState]]] = {
    WriterState.IDLE: frozenset({WriterState.CREATING, WriterState.CLOSING}),
    WriterState.CREATING: frozenset({WriterState.OPEN, WriterState.IDLE, WriterState.CLOSING}),
    WriterState.OPEN: frozenset({WriterState.CREATING, WriterState.SEALING, WriterState.CLOSING}),
    WriterState.SEALING: frozenset({WriterState.IDLE, WriterState.CLOSING}),
    WriterState.CLOSING: frozenset({WriterState.CLOSED}),
    WriterState.CLOSED: frozenset(),
}
"""Which state may follow each."""


_OPEN: Final = WriterState.OPEN  # These are looked up once, since every append needs them.
_OWNED: Final = LogOwnership.OWNED


class _Current(NamedTuple):
    """The ledger that takes appends."""

    writer: LedgerWriter
    ledger_id: int
    began_at: float
    began_ms: int
    young_until: float  # No rollover is due before that, unless it is large.


@dataclass(slots=True, eq=False)
class LogWriter:
    """The writer of one log. An append waits for the one before unless it ``takes_more``."""

    name: str
    ledger_list: LedgerList
    reader: LogReader
    context: LogContext
    _: KW_ONLY
    settings: ManagedLedgerSettings
    cursors: Sized  # Entries are cached while there are some.
    trimmer: Trimmer  # It is called after a rollover.
    state: WriterState = WriterState.IDLE
    entries_added: int = 0  # It is counted since the log was opened.
    _current: _Current | None = None
    # Those under way, in order. Invariant: only ``_answer`` takes one out.
    _appends: tuple[tuple[Appendable, Stored], ...] = ()
    _appended_to: LedgerWriter | None = None  # This is the ledger of all of them.
    _later: bool = False  # The one append under way waits for a ledger, or for capacity.
    _failed: Fenced | None = None  # An append was answered so; so are all behind it.
    _changing: asyncio.Task[None] | None = None  # It creates or ends a ledger.

    def replicate(self, options: LedgerOptions) -> None:
        """Create ledgers with these options from the next one on."""
        if options != self.settings.ledger_options:
            self.settings = replace(self.settings, ledger_options=options)

    @property
    def began_ms(self) -> int:
        """When the current ledger was begun; 0 when there is none."""
        return 0 if self._current is None else self._current.began_ms

    def append(self, entries: Appendable, stored: Stored) -> None:
        """Append as ``ManagedLedger.append`` says."""
        current = self._ready()
        assert current is not None or not self._appends, "one append at a time, if one must wait"
        self._appends = (*self._appends, (entries, stored))
        if current is not None:
            self._appended_to = current.writer
            current.writer.append(entries.data, entries.checksums, self._answer)
        else:
            self._later = True
            self.context.tasks.spawn("append", self._append_later(entries))

    @property
    def takes_more(self) -> bool:
        """Whether to append is possible at once, and so before other appends are answered."""
        return self._ready() is not None

    def _ready(self) -> _Current | None:
        """The current ledger, if it takes an append at once."""
        current = self._current
        if (
            self.state is _OPEN
            and current is not None
            and not self._later
            and not current.writer.over_limit
            and self.ledger_list.ownership is _OWNED
            and (
                (  # Asked first, as every append is: it is true of nearly all.
                    self.context.clock.now() < current.young_until
                    and self.ledger_list.layout.open_size_bytes < self.settings.ledger_size_max
                )
                or not self._has_had_enough(current)
            )
        ):
            return current
        return None

    def begin(self, writer: LedgerWriter) -> None:
        """Append to a ledger that is empty, and in the list since the log was opened."""
        self._to(WriterState.CREATING)
        self._open(writer)
        self.reader.counts.note_switch(0.0)  # Nobody waited for it alone.
        self._to(WriterState.OPEN)

    def begin_soon(self) -> None:
        """Begin a ledger for what is going to be appended, where none takes entries.

        Where that fails, the append tries again, and says so.
        """
        if self.state is WriterState.IDLE and self.ledger_list.owned:
            self._to(WriterState.CREATING)
            self._changing = self.context.tasks.spawn(f"begin {self.name}", self._create())

    async def start_ledger(self) -> None:
        """Begin a ledger, and end the one before it. Raises Fenced, and what the stores raise."""
        while self._changing is not None:
            await asyncio.wait([self._changing])
        self.check()
        rolls_over = self._current is not None
        self._to(WriterState.CREATING)
        await self._change(self._create())
        if rolls_over:
            self.context.saver.trim_soon(self.trimmer)

    async def roll_over_if_due(self) -> None:
        """End the current ledger if that is due and nothing is being appended. Raises Fenced."""
        if self._roll_over_due():
            await self.end_ledger()

    async def end_ledger(self) -> None:
        """End the current ledger, if nothing is being appended. Raises Fenced."""
        if self.state is WriterState.OPEN and not self._appends:
            self._to(WriterState.SEALING)
            await self._change(self._seal())
            self.context.saver.trim_soon(self.trimmer)

    @property
    def closed(self) -> bool:
        return self.state in (WriterState.CLOSING, WriterState.CLOSED)

    def refuse_appends(self) -> None:
        """Take no more appends. ``close`` must follow."""
        self._to(WriterState.CLOSING)

    async def close(self, *, handed_over: bool = False) -> None:
        """Finish what is under way and end the current ledger. Raises what the stores raise.

        ``handed_over``: the list is left to whoever opens the log now, and finds the end itself.
        """
        try:
            while self._changing is not None:
                await asyncio.wait([self._changing])
            await self._change(self._seal(listed=not handed_over))
        finally:
            self._to(WriterState.CLOSED)

    def check(self) -> None:
        """Raises Fenced when the log takes no more changes."""
        if self.closed:
            raise Fenced(f"Managed ledger {self.name} is closed: open it again")
        self.ledger_list.check()

    async def _append_later(self, entries: Appendable) -> None:
        """Append when there is a new ledger, or capacity in the store.

        However this ends, the append is answered, here or by its ledger.
        """
        error: MagnetarError | None = Fenced(f"Managed ledger {self.name}: an append was cut off")
        try:
            while self._changing is not None:
                await asyncio.wait([self._changing])
            self.check()
            if self.state is not WriterState.OPEN or self._roll_over_due():
                await self.start_ledger()
                self.check()
            assert self._current is not None, "a ledger takes entries now"
            writer = self._current.writer
            if writer.over_limit:
                await writer.wait_for_capacity()
            self._appended_to = writer
            writer.append(entries.data, entries.checksums, self._answer)
            error = None
        except MagnetarError as failure:
            error = failure
        except Exception as failure:
            log.exception("managed_ledger.defect name=%s", self.name)
            error = UnknownFailure(f"{type(failure).__name__}: {failure}")
        finally:
            if error is not None:
                self._answer(-1, error)

    def _answer(self, first: int, error: MagnetarError | None) -> None:
        """Answer the first of the appends under way."""
        assert self._appends, "an append is answered once"
        (entries, stored), self._appends = self._appends[0], self._appends[1:]
        self._later = False
        if error is not None and self._failed is None:
            self._failed = self._fenced(error)
        if self._failed is not None:
            self.reader.counts.appends_failed += len(entries.data)
            stored(-1, -1, self._failed)
            return
        writer, count = self._appended_to, len(entries.data)
        assert writer is not None, "the store answers what it was given"
        ledger_id = writer.ledger_id
        self.entries_added += count
        layout = self.ledger_list.layout
        if layout.open_id == ledger_id:  # If not, it was sealed meanwhile.
            # A store may write more than it is given, as BookKeeper's does with messages.
            layout.grow(first + count - 1, writer.end.size_bytes)
            if self.cursors:
                run = EntryRun(
                    ledger_id,
                    first,
                    entries.data,
                    entries.checksums,
                    entries.traits,
                    entries.size_bytes,
                )
                self.reader.appended(run)
        stored(ledger_id, first, None)

    def _fenced(self, error: MagnetarError) -> Fenced:
        """Fence the log, since a part of the append may be in it. Returns the answer."""
        if isinstance(error, Fenced):
            return error
        self.ledger_list.fence(f"an append failed ({error})")
        fenced = Fenced(f"Managed ledger {self.name} must be opened again: {error}")
        fenced.__cause__ = error
        return fenced

    def _roll_over_due(self) -> bool:
        return self._current is not None and self._has_had_enough(self._current)

    def _has_had_enough(self, current: _Current) -> bool:
        layout, age_s = self.ledger_list.layout, self.context.clock.now() - current.began_at
        return ledger_rules.rollover_due(
            layout.open_entry_count, layout.open_size_bytes, age_s, self.settings
        )

    async def _change(self, change: Coroutine[object, object, None]) -> None:
        """Change the current ledger in a task of its own, so that it is not cancelled half-way."""
        self._changing = self.context.tasks.start(f"{self.state.name} {self.name}", change)
        await asyncio.shield(self._changing)

    async def _create(self) -> None:
        """Create a ledger. One change of the list ends the former one and begins this one."""
        former, self._current = self._current, None
        started = self.context.clock.now()
        try:
            end = None if former is None else await former.writer.close()
            now_ms = self.context.clock.wall_ms()
            options = self.settings.ledger_options
            metadata = ledger_metadata(self.name)
            writer = await self.context.ledgers.create(replace(options, metadata=metadata))

            def switch(layout: Layout) -> None:
                if end is not None:
                    layout.seal(end.last_entry_id, end.size_bytes, now_ms)
                layout.begin(writer.ledger_id)

            try:
                await self.ledger_list.change(switch)
            except MagnetarError:
                await self.context.ledgers.delete(writer.ledger_id)
                raise
            self._open(writer)
            self.reader.counts.note_switch(self.context.clock.now() - started)
        except MagnetarError as error:
            self._not_ended(error)
            raise
        finally:
            self._changing = None
            if self.state is WriterState.CREATING:
                self._to(WriterState.IDLE if self._current is None else WriterState.OPEN)

    def _open(self, writer: LedgerWriter) -> None:
        self.reader.serve(writer)
        now, now_ms, limits = self.context.clock.now(), self.context.clock.wall_ms(), self.settings
        young_until = now + min(limits.ledger_age_min_s, limits.ledger_age_max_s)
        self._current = _Current(writer, writer.ledger_id, now, now_ms, young_until)

    async def _seal(self, *, listed: bool = True) -> None:
        try:
            if self._current is not None and self.ledger_list.owned:
                end = await self._current.writer.close()
                if not listed:
                    return
                now_ms = self.context.clock.wall_ms()
                await self.ledger_list.change(
                    lambda layout: layout.seal(end.last_entry_id, end.size_bytes, now_ms)
                )
                await self.ledger_list.delete_removed()  # An empty ledger is removed.
        except MagnetarError as error:
            self._not_ended(error)
            raise
        finally:
            self._current = None
            self._changing = None
            if self.state is WriterState.SEALING:
                self._to(WriterState.IDLE)

    def _not_ended(self, error: MagnetarError) -> None:
        """Fence the log, if the list still has an open ledger: that takes no more.

        Not while the log is closed: whoever opens it ends that ledger.
        """
        if not self.closed and self.ledger_list.layout.open_id is not None:
            self.ledger_list.fence(f"its ledger could not be ended ({error})")

    def _to(self, state: WriterState) -> None:
        assert state in TRANSITIONS[self.state], f"{self.state.name} does not lead to {state.name}"
        self.state = state
