"""Asks the broker in which ledgers a range lies, to divide it evenly between tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from magnetar.client import blocking
from magnetar.errors import TimedOut
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE, MessageId, Position
from magnetar.spark.offsets import NOTHING_READ
from magnetar.spark.pieces import LedgerRange, counts, divided
from magnetar.spark.planning import Range
from magnetar.spark.topics import PublishTimes, reader_at

LEDGERS_MAX: Final = 100
"""Ledgers that are asked about, some 3 ms each; a range of more is divided by publish time."""
_BEHIND_ALL: Final = 2**62
"""An entry behind all that a ledger has."""
_MESSAGE_WAIT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class RangeSplitter:
    """What one planner asks. Readers that are made for a question are closed after it."""

    client: blocking.Client
    timeout_s: float

    def divide(self, ranges: Sequence[Range], pieces_min: int, entries_min: int) -> list[Range]:
        """The ranges in pieces, ``pieces_min`` or more; fewer where pieces would be too small."""
        if not ranges or len(ranges) >= pieces_min:
            return list(ranges)
        parts = [self.of(wanted) for wanted in ranges]
        sizes = [sum(part.stop - part.first for part in each) for each in parts]
        if not all(sizes):  # Some range has too many ledgers to know.
            count = -(-pieces_min // len(ranges))
            times = PublishTimes(self.client, self.timeout_s)
            return [piece for wanted in ranges for piece in times.cut(wanted, count)]
        each = zip(ranges, parts, counts(sizes, pieces_min, entries_min), strict=True)
        return [piece for wanted, part, count in each for piece in divided(wanted, part, count)]

    def of(self, wanted: Range) -> list[LedgerRange]:
        """The range's ledgers in order; [] where there are more than LEDGERS_MAX, or not known."""
        try:
            ledger_id, first = self._first(wanted)
            parts: list[LedgerRange] = []
            while ledger_id < wanted.upto.ledger_id and len(parts) < LEDGERS_MAX:
                last, following = self._end(wanted.topic, ledger_id)
                if last.ledger_id == ledger_id:
                    parts.append(LedgerRange(ledger_id, first, max(last.entry_id + 1, first)))
                ledger_id, first = following
        except TimedOut:
            return []
        if ledger_id != wanted.upto.ledger_id:
            return []
        stop = max(wanted.upto.entry_id + 1, first)
        return [*parts, LedgerRange(ledger_id, first, stop)]

    def _first(self, wanted: Range) -> Position:
        """The first entry that the range may have."""
        if wanted.after != NOTHING_READ:
            return Position(wanted.after.ledger_id, wanted.after.entry_id + 1)
        with reader_at(self.client, wanted.topic, EARLIEST_MESSAGE) as reader:
            return reader.receive(_MESSAGE_WAIT_S).message_id.position

    def _end(self, topic: str, ledger_id: int) -> tuple[Position, Position]:
        """The last entry of a ledger that is not the topic's last, and the entry after it."""
        partition = TopicName.parse(topic).partition_index
        with reader_at(self.client, topic, MessageId(ledger_id, _BEHIND_ALL, partition)) as reader:
            mark = reader.mark_delete_position()
            following = reader.receive(_MESSAGE_WAIT_S).message_id.position
        return mark or following, following
