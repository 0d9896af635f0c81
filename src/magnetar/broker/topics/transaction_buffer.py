"""What a topic knows of transactions: which are open, and which entries are of aborted ones. Pure.

What is published in a transaction is stored at once, in line with everything else, and readers see
nothing from the first entry of the oldest open transaction on. When that ends they may go on; of an
aborted one they are to get nothing, which is known by position: nobody looks into entries for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field

from magnetar.broker.topics.ended_transactions import EndedTransactions
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId
from magnetar.storage.managed_ledger.entry_ranges import EntryRanges
from magnetar.storage.managed_ledger.run import EntryRun

Entries = tuple[int, int, int]
"""Consecutive entries: their ledger, the first and the last of them."""


@dataclass(slots=True)
class OpenTransaction:
    """The entries that a transaction has published to one topic."""

    producer: str  # The one that was first to publish in it.
    since_ms: int  # When it did.
    entries: list[Entries] = field(default_factory=list)

    @property
    def first(self) -> Position:
        return Position(*self.entries[0][:2])

    @property
    def last(self) -> Position:
        ledger_id, _, last = self.entries[-1]
        return Position(ledger_id, last)

    def add(self, ledger_id: int, first: int, last: int) -> None:
        """Add entries that lie behind all there are."""
        if self.entries:
            its_ledger, start, end = self.entries[-1]
            if (its_ledger, end + 1) == (ledger_id, first):
                self.entries[-1] = (ledger_id, start, last)
                return
        self.entries.append((ledger_id, first, last))


class TransactionBuffer:
    """The transactions of one topic."""

    __slots__ = (
        "aborted",
        "aborted_count",
        "committed_count",
        "ends",
        "open",
    )

    def __init__(self, ends: EndedTransactions | None = None) -> None:
        """``ends`` are those that the topic was told of before it had transactions."""
        self.open: dict[TxnId, OpenTransaction] = {}  # Invariant: by their first entries.
        self.aborted: dict[int, EntryRanges] = {}
        """By ledger: the entries of those that were aborted."""
        self.ends = ends or EndedTransactions()
        self.committed_count = 0  # Both since the topic was loaded.
        self.aborted_count = 0

    @property
    def low_watermarks(self) -> dict[int, int]:
        """By coordinator: all its transactions up to this number have ended."""
        return self.ends.low_watermarks

    @property
    def oldest(self) -> tuple[TxnId, OpenTransaction] | None:
        """The open transaction that readers wait for."""
        return next(iter(self.open.items()), None)

    def stored(
        self, transaction: TxnId, entries: Entries, *, producer: str, published_ms: int
    ) -> None:
        """Entries of a transaction were stored, behind all others."""
        found = self.open.get(transaction)
        if found is None:
            found = OpenTransaction(producer, published_ms)
            self.restore(transaction, found)
        found.add(*entries)

    def restore(self, transaction: TxnId, found: OpenTransaction) -> None:
        """A transaction is open, behind all others that are."""
        self.open[transaction] = found
        self.ends.begin(transaction)

    def end(self, transaction: TxnId, marker: Position, *, commit: bool) -> Sequence[Entries]:
        """A transaction has ended. Return the entries that are aborted now.

        Its marker is one of them, so that transactions that lie side by side are one range.
        """
        found = self.open.pop(transaction, None)
        self.ends.end(transaction)
        if commit:
            self.committed_count += 1
            return ()
        self.aborted_count += 1
        entries = [] if found is None else found.entries
        entries.append((*marker, marker.entry_id))
        self.abort(entries)
        return entries

    def abort(self, entries: Iterable[Entries]) -> None:
        """Entries are of a transaction that was aborted."""
        for ledger_id, first, last in entries:
            here = self.aborted.get(ledger_id)
            if here is None:
                here = self.aborted[ledger_id] = EntryRanges()
            here.add(first, last)

    def aborted_in(self, run: EntryRun) -> set[int]:
        """The indexes of a run's entries that are of aborted transactions."""
        here = self.aborted.get(run.ledger_id)
        if here is None:
            return set()
        first = run.first_entry_id
        left = here.gaps(first, run.last_entry_id)
        if left == [(first, run.last_entry_id)]:
            return set()
        aborted = set(range(len(run.data)))
        for start, stop in left:
            aborted.difference_update(range(start - first, stop - first + 1))
        return aborted

    def shown(self, run: EntryRun) -> list[EntryRun]:
        """The parts of a run that are of no aborted transaction; the run itself if that is all."""
        here = self.aborted.get(run.ledger_id)
        if here is None:
            return [run]
        return [
            run.part(start - run.first_entry_id, stop - run.first_entry_id + 1)
            for start, stop in here.gaps(run.first_entry_id, run.last_entry_id)
        ]

    def first_aborted(self, position: Position) -> Position | None:
        """The first of the aborted entries that end at a position; None where it is not one."""
        here = self.aborted.get(position.ledger_id)
        first = None if here is None else here.start_of(position.entry_id)
        return None if first is None else Position(position.ledger_id, first)

    def has_ended(self, transaction: TxnId) -> bool:
        """Whether nothing can be published in it any more."""
        return transaction in self.ends

    def raise_watermark(self, coordinator: int, least_bits: int) -> list[TxnId]:
        """All transactions up to a number have ended. Return those that are open here, once."""
        begun = self.ends.raise_watermark(coordinator, least_bits)
        return [each for each in begun if each in self.open]

    def forget(self, trimmed_to: Position) -> None:
        """Nothing is stored up to a position any more.

        A transaction of which nothing is left is forgotten: its end may have been stored there.
        """
        for transaction in [each for each, its in self.open.items() if its.last <= trimmed_to]:
            del self.open[transaction]
        for ledger_id in [each for each in self.aborted if each <= trimmed_to.ledger_id]:
            if (here := self.aborted[ledger_id]).ends[-1] <= trimmed_to.entry_id or (
                ledger_id < trimmed_to.ledger_id
            ):
                del self.aborted[ledger_id]
            else:
                here.drop_through(trimmed_to.entry_id)
