"""The ledgers that a log is made of, and arithmetic with positions in it. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Self

from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_object import NO_TEXTS
from magnetar.storage.codec.ledger_list import (
    NOTHING_UNKNOWN,
    LedgerListRecord,
    SealedLedger,
)
from magnetar.storage.codec.offload_context import OffloadContext


class Layout:
    """The ledgers of one log, oldest first.

    All changes but ``grow`` are recorded before they are applied.
    """

    __slots__ = (
        "_before",
        "_ends",
        "_ids",
        "_sealed_size_bytes",
        "_unknown",
        "deleting",
        "deleting_offloaded",
        "last",
        "open_id",
        "open_size_bytes",
        "properties",
        "sealed",
        "trimmed_to",
    )

    def __init__(self) -> None:
        self.sealed: Sequence[SealedLedger] = ()  # Invariant: ids ascend, and none is empty.
        self.open_id: int | None = None  # Invariant: it is greater than every sealed id.
        self.open_size_bytes = 0
        self.trimmed_to = EARLIEST  # The end of the newest ledger that was removed.
        self.deleting: Sequence[int] = ()
        self.deleting_offloaded: Sequence[OffloadContext] = ()
        self.properties = NO_TEXTS  # What the owner of the log keeps with it.
        self._unknown = NOTHING_UNKNOWN  # Fields of later versions.
        self._reindex(open_last=-1)

    @classmethod
    def of(cls, record: LedgerListRecord) -> Self:
        """Make a layout from its record, in which the open ledger has no end yet."""
        layout = cls()
        layout.sealed = tuple(record.ledgers)
        layout.open_id = record.open_id
        layout.trimmed_to = record.trimmed_to
        layout.deleting = tuple(record.deleting)
        layout.deleting_offloaded = tuple(record.deleting_offloaded)
        layout.properties = record.properties or NO_TEXTS
        layout._unknown = record.unknown or NOTHING_UNKNOWN
        layout._reindex(open_last=-1)
        return layout

    def record(self) -> LedgerListRecord:
        """Return what is to be recorded."""
        return LedgerListRecord(
            list(self.sealed),
            self.open_id,
            self.trimmed_to,
            list(self.deleting),
            list(self.deleting_offloaded),
            self.properties,
            self._unknown,
        )

    def copy(self) -> Self:
        other = self.of(self.record())
        if self.open_entry_count:
            other.grow(self._ends[-1], self.open_size_bytes)
        return other

    def begin(self, ledger_id: int) -> None:
        """Begin a new, empty ledger."""
        assert self.open_id is None, f"ledger {self.open_id} must be sealed first"
        assert not self.sealed or ledger_id > self.sealed[-1].ledger_id, "ledger ids ascend"
        self.open_id = ledger_id
        self.open_size_bytes = 0
        self._reindex(open_last=-1)

    def grow(self, last_entry_id: int, size_bytes: int) -> None:
        """Note where the open ledger ends now, and that it has ``size_bytes`` up to there."""
        assert self.open_id is not None, "only the open ledger grows"
        self._ends[-1] = last_entry_id
        self.open_size_bytes = size_bytes
        self.last = Position(self.open_id, last_entry_id)

    def seal(self, last_entry_id: int, size_bytes: int, now_ms: int) -> None:
        """End the open ledger; an empty one leaves the log."""
        assert self.open_id is not None, "there must be an open ledger to seal"
        if last_entry_id < 0:
            self.deleting = (*self.deleting, self.open_id)
        else:
            ended = SealedLedger(self.open_id, last_entry_id, size_bytes, now_ms)
            self.sealed = (*self.sealed, ended)
        self.open_id = None
        self.open_size_bytes = 0
        self._reindex(open_last=-1)

    def drop_open(self) -> None:
        """Remove the open ledger, which the store does not have, so that no append was answered."""
        self.open_id = None
        self._reindex(open_last=-1)

    def remove(self, ledger_ids: Collection[int]) -> None:
        """Remove sealed ledgers from the log; they may be deleted then."""
        gone = [ledger for ledger in self.sealed if ledger.ledger_id in ledger_ids]
        if not gone:
            return
        self.sealed = tuple(each for each in self.sealed if each.ledger_id not in ledger_ids)
        newest = Position(gone[-1].ledger_id, gone[-1].last_entry_id)
        self.trimmed_to = max(self.trimmed_to, newest)
        self.deleting = (*self.deleting, *(each.ledger_id for each in gone if is_local(each)))
        copies = (each.offload for each in gone if each.offload is not None)
        self.deleting_offloaded = (*self.deleting_offloaded, *copies)
        self._reindex(open_last=self._ends[-1] if self.open_id is not None else -1)

    def clear(self) -> None:
        """Remove every ledger from the log, the open one too."""
        if self.open_id is not None:
            self.seal(self._ends[-1], self.open_size_bytes, 0)
        self.remove(self.ledger_ids)

    def change_properties(self, changed: Mapping[str, str], removed: Collection[str]) -> None:
        """Keep values with the log, and others no longer."""
        kept = {name: self.properties[name] for name in self.properties if name not in removed}
        self.properties = {**kept, **changed}

    def ledgers(self, sealed_ms: int) -> list[SealedLedger]:
        """Return all ledgers, the open one as it would be if it were sealed then."""
        if self.open_id is None:
            return list(self.sealed)
        last_entry_id = self.open_entry_count - 1
        opened = SealedLedger(self.open_id, last_entry_id, self.open_size_bytes, sealed_ms)
        return [*self.sealed, opened]

    def ledger(self, ledger_id: int) -> SealedLedger | None:
        """Return a sealed ledger, if it is in the log."""
        index = bisect_left(self._ids, ledger_id)
        found = index < len(self.sealed) and self._ids[index] == ledger_id
        return self.sealed[index] if found else None

    def begin_offload(self, ledger_id: int, context: OffloadContext) -> None:
        """Note where a ledger's copy will be. What an attempt before left is to be deleted."""
        ledger = self.ledger(ledger_id)
        if ledger is None:
            return  # It was trimmed.
        if ledger.offload is not None:
            self.deleting_offloaded = (*self.deleting_offloaded, ledger.offload)
        self._replace(ledger._replace(offload=context))

    def finish_offload(self, ledger_id: int, context: OffloadContext) -> None:
        """Note that a ledger's copy is complete. That of one that was trimmed is to be deleted."""
        ledger = self.ledger(ledger_id)
        if ledger is not None and ledger.offload is not None and ledger.offload.uid == context.uid:
            self._replace(ledger._replace(offload=context))
        elif context.uid not in {each.uid for each in self.deleting_offloaded}:
            self.deleting_offloaded = (*self.deleting_offloaded, context)

    def drop_local(self, ledger_ids: Collection[int]) -> None:
        """Note that the copies of ledgers are enough: what is here is to be deleted."""
        for ledger_id in ledger_ids:
            ledger = self.ledger(ledger_id)
            if ledger is not None and ledger.offload is not None and is_local(ledger):
                assert ledger.offload.complete, "a copy that is not complete is not enough"
                only = ledger.offload._replace(local_deleted=True)
                self._replace(ledger._replace(offload=only))
                self.deleting = (*self.deleting, ledger_id)

    def forget_deleted_offloaded(self, uids: Collection[str]) -> None:
        """Note that copies are deleted; the next change of the record leaves them out."""
        left = (each for each in self.deleting_offloaded if each.uid not in uids)
        self.deleting_offloaded = tuple(left)

    def _replace(self, changed: SealedLedger) -> None:
        self.sealed = tuple(
            changed if each.ledger_id == changed.ledger_id else each for each in self.sealed
        )

    def forget_deleted(self, ledger_ids: Collection[int]) -> None:
        """Note that ledgers are deleted; the next change of the record leaves them out."""
        self.deleting = tuple(known for known in self.deleting if known not in ledger_ids)

    @property
    def ledger_ids(self) -> list[int]:
        return list(self._ids)

    @property
    def newest_id(self) -> int:
        """The greatest id that a ledger of the log had; -1 where there was none."""
        return max(self._ids[-1] if self._ids else -1, self.trimmed_to.ledger_id)

    @property
    def entry_count(self) -> int:
        return self._before[-1] + self._ends[-1] + 1 if self._ids else 0

    @property
    def open_entry_count(self) -> int:
        """How many entries the open ledger has; 0 when no ledger is open."""
        return self._ends[-1] + 1 if self.open_id is not None else 0

    @property
    def size_bytes(self) -> int:
        return self._sealed_size_bytes + self.open_size_bytes

    @property
    def end(self) -> Position:
        """The position after the last entry."""
        if self.open_id is not None and self._ends[-1] < 0:
            return Position(self.open_id, 0)
        return Position(self.last.ledger_id, self.last.entry_id + 1)

    @property
    def first(self) -> Position:
        """The first entry; ``end`` when there is none."""
        return self.locate(EARLIEST) or self.end

    def locate(self, position: Position) -> Position | None:
        """Return the first entry at or after ``position``; None where there is none."""
        ids, ends = self._ids, self._ends
        index = bisect_left(ids, position.ledger_id)
        if index < len(ids) and ids[index] == position.ledger_id:
            if position.entry_id <= ends[index] and ends[index] >= 0:
                return position if position.entry_id >= 0 else Position(position.ledger_id, 0)
            index += 1
        if index < len(ids) and ends[index] >= 0:
            return Position(ids[index], 0)
        return None  # Only the last ledger can be empty, while it is open.

    def next_position(self, position: Position) -> Position:
        """Return the first entry after ``position``; ``end`` where there is none."""
        if position.ledger_id == self.open_id:  # This is by far the most frequent case.
            after = Position(position.ledger_id, max(position.entry_id, -1) + 1)
            return after if after <= self.last else self.end
        following = Position(position.ledger_id, position.entry_id + 1)
        return self.locate(following) or self.end

    def previous_position(self, position: Position) -> Position:
        """Return the position before ``position``: an entry, or -1 of the first ledger."""
        if position.entry_id > 0:
            return Position(position.ledger_id, position.entry_id - 1)
        index = bisect_left(self._ids, position.ledger_id) - 1
        if index >= 0:
            return Position(self._ids[index], self._ends[index])
        return Position(position.ledger_id, -1)

    def mark_before(self, position: Position) -> Position:
        """Return the mark of a cursor that is to read from ``position`` on."""
        start = self.locate(position)
        if start is None and position > self.last:
            return self.last
        return self.previous_position(start or self.end)

    def last_entry_id(self, ledger_id: int) -> int | None:
        """Return a ledger's last entry: -1 when it is empty, None when it is not in the log."""
        if ledger_id == self.open_id:
            return self._ends[-1]
        index = bisect_left(self._ids, ledger_id)
        if index < len(self._ids) and self._ids[index] == ledger_id:
            return self._ends[index]
        return None

    def entries_through(self, position: Position) -> int:
        """Count the entries up to and including ``position``."""
        index = bisect_right(self._ids, position.ledger_id) - 1
        if index < 0:
            return 0
        end = self._ends[index]
        if self._ids[index] == position.ledger_id:
            end = max(min(position.entry_id, end), -1)
        return self._before[index] + end + 1

    def entries_before(self, position: Position) -> int:
        """Count the entries before ``position``."""
        return self.entries_through(Position(position.ledger_id, position.entry_id - 1))

    def entries_between(self, after: Position, upto: Position) -> int:
        """Count the entries after ``after``, up to and including ``upto``."""
        return max(self.entries_through(upto) - self.entries_through(after), 0)

    def size_after(self, position: Position) -> int:
        """Estimate the bytes after ``position``: in its own ledger, from the average entry."""
        first = bisect_left(self._ids, position.ledger_id)
        sizes = [*(ledger.size_bytes for ledger in self.sealed), self.open_size_bytes][first:]
        if first < len(self._ids) and self._ids[first] == position.ledger_id:
            count = self._ends[first] + 1
            left = count - min(max(position.entry_id + 1, 0), count)
            sizes[0] = round(sizes[0] * left / count) if count else 0
        return sum(sizes)

    def position_at(self, index: int) -> Position:
        """Return the entry that has ``index`` entries before it."""
        ledger = bisect_right(self._before, index) - 1
        return Position(self._ids[ledger], index - self._before[ledger])

    def _reindex(self, *, open_last: int) -> None:
        self._ids = tuple(ledger.ledger_id for ledger in self.sealed)
        self._ends = [ledger.last_entry_id for ledger in self.sealed]
        self._sealed_size_bytes = sum(ledger.size_bytes for ledger in self.sealed)
        self.last = self.trimmed_to
        if self.sealed:
            self.last = Position(self._ids[-1], self._ends[-1])
        if self.open_id is not None:
            self._ids = (*self._ids, self.open_id)
            self._ends.append(open_last)
            if open_last >= 0 or self.last.entry_id < 0:
                self.last = Position(self.open_id, open_last)
        # These are the numbers of entries before each ledger.
        self._before = tuple(accumulate((end + 1 for end in self._ends), initial=0))[:-1]


def is_local(ledger: SealedLedger) -> bool:
    """Whether the ledger is in the broker's own store."""
    return ledger.offload is None or not ledger.offload.local_deleted
