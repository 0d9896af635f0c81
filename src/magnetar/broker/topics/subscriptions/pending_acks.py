"""What transactions that have not ended acknowledge on a subscription. Pure.

A message that is acknowledged in a transaction is *pending*: it is delivered to nobody, and no
other transaction may acknowledge it. When its transaction commits it is acknowledged; when that
aborts it is to be delivered again. What somebody acknowledges without a transaction is acknowledged
at once, pending or not; but of an entry in part pending only the rest is, since who acknowledges it
has perhaps not been given what is pending.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import zip_longest
from typing import Any, Final, Protocol

from magnetar.errors import TransactionConflict
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId

Part = tuple[Position, list[int], int]
"""A batch, its ack set (the messages whose bit is 0 are acknowledged), and how many it has in all,
0 where the client did not say.
"""

_CONFLICT: Final = "org.apache.pulsar.transaction.common.exception.TransactionConflictException: "
_WORD: Final = 2**64 - 1


@dataclass(slots=True)
class TransactionAcks:
    """What one transaction acknowledges."""

    entries: dict[int, set[int]] = field(default_factory=dict)  # By ledger.
    parts: dict[Position, list[int]] = field(default_factory=dict)
    sizes: dict[Position, int] = field(default_factory=dict)  # Of those batches.
    upto: Position | None = None
    """It acknowledges everything up to there,"""
    upto_words: list[int] | None = None
    """and of the batch there only the messages whose bit is 0."""

    def add(self, entries: Mapping[int, Iterable[int]], parts: Iterable[Part]) -> None:
        for ledger_id, entry_ids in entries.items():
            self.entries.setdefault(ledger_id, set()).update(entry_ids)
        for position, words, size in parts:
            known = self.parts.get(position)
            self.parts[position] = words if known is None else both(known, words)
            self.sizes[position] = size or self.sizes.get(position, 0)

    def record(self) -> dict[str, Any]:
        """As it is written to a log."""
        return {
            "entries": [[ledger_id, sorted(ids)] for ledger_id, ids in self.entries.items()],
            "parts": [[at, words, self.sizes[at]] for at, words in self.parts.items()],
            "upto": self.upto,
            "words": self.upto_words,
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "TransactionAcks":
        found = cls()
        parts = record["parts"]  # Those of before have no sizes.
        sized = [(Position(*at), words, size[0] if size else 0) for at, words, *size in parts]
        found.add(dict(record["entries"]), sized)
        if record["upto"] is not None:
            found.upto, found.upto_words = Position(*record["upto"]), record["words"]
        return found


class Acknowledged(Protocol):
    """What a cursor knows."""

    @property
    def mark(self) -> Position: ...

    def is_acknowledged(self, position: Position) -> bool: ...

    def ack_set(self, position: Position) -> list[int] | None: ...


@dataclass(slots=True)
class _Batch:
    """What is pending of one batch, in all transactions. No message of it is in two of them."""

    words: list[int]  # Bits that are 0 are pending.
    left: list[int]  # Bits that are 1 are of messages which some transaction leaves.
    transactions: set[TxnId]
    size: int  # 0: nobody said it.

    def add(self, transaction: TxnId, words: list[int], size: int) -> None:
        self.transactions.add(transaction)
        self.size = self.size or size
        self.words = both(self.words, words)
        self.left = [a | b for a, b in zip_longest(self.left, words, fillvalue=0)]

    def rest(self) -> list[int] | None:
        """The ack set that leaves only what is pending; None where the size is not known."""
        if not self.size:
            return None
        whole, more = divmod(self.size, 64)
        masks = [-1] * whole + [(1 << more) - 1] * (more > 0)
        return [~word & mask for word, mask in zip_longest(self.words, masks, fillvalue=0)]

    def remove(self, transaction: TxnId, words: list[int]) -> None:
        """Without looking at the others, of which there may be thousands."""
        self.transactions.discard(transaction)
        triples = zip_longest(self.words, words, self.left, fillvalue=0)
        self.words = [(pending | ~its) & left for pending, its, left in triples]


class PendingAcks:
    """The pending acknowledgements of one subscription."""

    def __init__(self, who: str, cursor: Acknowledged) -> None:
        """``who`` is what a conflict says of it: its topic and its name."""
        self.open: dict[TxnId, TransactionAcks] = {}
        self._who = who
        self._cursor = cursor
        self._whole: dict[int, dict[int, TxnId]] = {}  # By ledger and entry.
        self._parts: dict[Position, _Batch] = {}
        self._upto: tuple[TxnId, Position] | None = None  # Only one may be cumulative.

    def __bool__(self) -> bool:
        return bool(self.open)

    def add(
        self, transaction: TxnId, entries: Mapping[int, Sequence[int]], parts: Sequence[Part]
    ) -> None:
        """Acknowledge entries, and messages of batches. Raises TransactionConflict."""
        for ledger_id, entry_ids in entries.items():
            for entry_id in entry_ids:
                self._check(transaction, Position(ledger_id, entry_id))
        for part in parts:
            self._check_part(transaction, part)
        self._of(transaction).add(entries, parts)
        for ledger_id, entry_ids in entries.items():
            self._whole.setdefault(ledger_id, {}).update(dict.fromkeys(entry_ids, transaction))
        for position, words, size in parts:
            self._add_part(transaction, position, words, size)

    def add_cumulative(
        self, transaction: TxnId, position: Position, words: list[int] | None
    ) -> None:
        """Acknowledge everything up to ``position``. Raises TransactionConflict."""
        if position <= self._cursor.mark:
            raise self._conflict(
                transaction,
                f"try to cumulative ack position: {position} within range of cursor's "
                f"markDeletePosition: {self._cursor.mark}",
            )
        if self._upto is not None and (
            self._upto[0] != transaction or not self._further(position, words)
        ):
            raise self._conflict(
                transaction,
                f"try to cumulative batch ack position: {position} within range of current "
                f"currentPosition: {self._upto[1]}",
            )
        its = self._of(transaction)
        its.upto, its.upto_words = position, words or None
        self._upto = transaction, position

    def restore(self, transaction: TxnId, acks: TransactionAcks) -> None:
        """Take back what was pending before; no conflict is looked for."""
        self.open[transaction] = acks
        for ledger_id, entry_ids in acks.entries.items():
            self._whole.setdefault(ledger_id, {}).update(dict.fromkeys(entry_ids, transaction))
        for position, words in acks.parts.items():
            self._add_part(transaction, position, words, acks.sizes[position])
        if acks.upto is not None:
            self._upto = transaction, acks.upto

    def end(self, transaction: TxnId) -> TransactionAcks:
        """Forget what a transaction acknowledges, which has ended; it has something pending."""
        acks = self.open.pop(transaction)
        for ledger_id, entry_ids in acks.entries.items():
            here = self._whole.get(ledger_id, {})
            for entry_id in entry_ids:
                here.pop(entry_id, None)
            if not here:
                self._whole.pop(ledger_id, None)
        for position, words in acks.parts.items():
            batch = self._parts[position]
            batch.remove(transaction, words)
            if not batch.transactions:
                del self._parts[position]
        if acks.upto is not None:
            self._upto = None
        return acks

    def in_part(self, ledger_id: int, entry_ids: Sequence[int]) -> dict[int, list[int] | None]:
        """Those of entries acknowledged without a transaction of which messages are pending.

        With the ack set that leaves only those; None where nobody said how many there are, as the
        last may be pending: then all of it comes again.
        """
        if not self._parts:
            return {}
        found = {each: self._parts.get(Position(ledger_id, each)) for each in entry_ids}
        return {each: batch.rest() for each, batch in found.items() if batch is not None}

    def holds(self, position: Position) -> bool:
        """Whether nobody is to get any message of an entry."""
        if self._upto is not None and position <= self._upto[1]:
            words = self.open[self._upto[0]].upto_words
            if position < self._upto[1] or words is None:
                return True
        if position.entry_id in self._whole.get(position.ledger_id, ()):
            return True
        words = self.left(position, self._cursor.ack_set(position))
        return words is not None and not any(words)

    def concerns(self, position: Position) -> bool:
        """Whether any message of an entry is acknowledged in a transaction."""
        return self.holds(position) or position in self._parts

    def concerns_index(self, position: Position, index: int) -> bool | None:
        """Whether one message of a batch is, of which some are; None: of the entry all are."""
        batch = self._parts.get(position)
        if batch is None:
            return None
        words = batch.words
        return index // 64 < len(words) and not words[index // 64] >> index % 64 & 1

    def held_in(self, ledger_id: int, first: int, count: int) -> set[int]:
        """The indexes of those of so many entries of which nobody is to get anything."""
        upto = self._upto
        if (
            (upto is None or upto[1] < (ledger_id, first))
            and ledger_id not in self._whole
            and not self._parts
        ):
            return set()
        return {index for index in range(count) if self.holds(Position(ledger_id, first + index))}

    def left(self, position: Position, words: list[int] | None) -> list[int] | None:
        """An ack set without what is pending of its batch; None: all of it is to be delivered."""
        batch = self._parts.get(position)
        pending = None if batch is None else batch.words
        if self._upto is not None and position == self._upto[1]:
            upto_words = self.open[self._upto[0]].upto_words
            if upto_words is not None:
                pending = upto_words if pending is None else both(pending, upto_words)
        if pending is None:
            return words
        return pending if words is None else both(pending, words)

    def _of(self, transaction: TxnId) -> TransactionAcks:
        return self.open.setdefault(transaction, TransactionAcks())

    def _further(self, position: Position, words: list[int] | None) -> bool:
        """Whether a cumulative acknowledgement goes further than the one that is pending."""
        assert self._upto is not None, "one is pending"
        known = self.open[self._upto[0]].upto_words
        if position != self._upto[1] or known is None:
            return position > self._upto[1]
        return _number(words or ()) < _number(known)  # The messages of a batch, by rising bits.

    def _add_part(
        self, transaction: TxnId, position: Position, words: list[int], size: int
    ) -> None:
        batch = self._parts.get(position)
        if batch is None:
            self._parts[position] = _Batch(words, words, {transaction}, size)
        else:
            batch.add(transaction, words, size)

    def _check(self, transaction: TxnId, position: Position) -> None:
        """Whether a whole entry may be acknowledged."""
        if self._cursor.is_acknowledged(position):
            raise self._conflict(
                transaction, f"try to ack message:{position} (ackSet is null) already acked before."
            )
        if position in self._parts or self.holds(position):
            raise self._conflict(
                transaction,
                f"try to ack message:{position} (ackSet is null) in pending ack status.",
            )

    def _check_part(self, transaction: TxnId, part: Part) -> None:
        """Whether the messages of a batch whose bit is 0 may be acknowledged."""
        position, words, size = part
        shown = f"{position} (ackSet is {words})"
        known = self._cursor.ack_set(position)
        if self._cursor.is_acknowledged(position) or overlap(words, known, size):
            raise self._conflict(transaction, f"try to ack message:{shown} already acked before.")
        if self.holds(position) or overlap(words, self.left(position, None), size):
            raise self._conflict(
                transaction, f"try to ack batch message:{shown} in pending ack status."
            )

    def _conflict(self, transaction: TxnId, what: str) -> TransactionConflict:
        return TransactionConflict(f"{_CONFLICT}{self._who} Transaction:{transaction} {what}")


def both(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """The ack set of what one or the other acknowledges. Words that one lacks are all 0."""
    return [a & b for a, b in zip(one, other, strict=False)]


def overlap(one: Sequence[int], other: Sequence[int] | None, size: int) -> bool:
    """Whether two ack sets of a batch of so many messages acknowledge the same one.

    Where nobody said how many there are, the last message that one of them leaves is taken for the
    last of the batch.
    """
    if other is None:
        return False
    left, others = _number(one), _number(other)
    everything = (1 << (size or max(left, others).bit_length())) - 1
    return bool(~left & ~others & everything)


def _number(words: Sequence[int]) -> int:
    return sum((word & _WORD) << 64 * index for index, word in enumerate(words))
