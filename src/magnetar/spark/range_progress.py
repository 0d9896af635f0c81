"""How far a read of a range has come: what belongs to it, and when nothing more can. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from magnetar.client.consumers.entry import Entry
from magnetar.model.position import Position
from magnetar.spark.chunks import ChunkedMessages
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.planning import Range


@dataclass(frozen=True, slots=True)
class IncompleteChunks:
    """A message in chunks that ends in the range and cannot be put together."""

    position: Position  # Of its last chunk.
    publish_time_ms: int
    reason: str


@dataclass(slots=True)
class RangeProgress:
    """Takes what a reader receives and gives out what belongs to the range, each message once.

    A reader receives chunks by themselves, and may begin again at an earlier place for them.
    """

    wanted: Range
    first: Offset | None = None  # The first message received, in the range or before it.
    reached: Offset | None = None  # The last message received. Invariant: never moves back.
    found_end: bool = False  # The very message that ends the range was received, or one behind it.
    lacking: IncompleteChunks | None = (
        None  # Nothing behind it is taken before its first chunks are there.
    )
    _chunks: ChunkedMessages = field(default_factory=ChunkedMessages)
    _given_up: set[Position] = field(default_factory=set)

    def take(self, entries: Iterable[Entry]) -> list[Entry]:
        """Take the messages of ``entries`` that are in the range and did not come before."""
        taken = []
        for entry in entries:
            if self.first is None:
                self.first = _offset(entry, entry.indexes[0])
            last = _offset(entry, entry.indexes[-1])
            seen = self.wanted.after if self.reached is None else self.reached
            whole, flaw = (entry, "") if entry.delivery.batch_size else self._joined(entry)
            if last > seen:
                if flaw and last <= self.wanted.upto and last[:2] not in self._given_up:
                    delivery = entry.delivery
                    time_ms = delivery.metadata.publish_time_ms
                    self.lacking = IncompleteChunks(delivery.position, time_ms, flaw)
                    break
                self.reached = last
                kept = _after(entry, max(seen, self.wanted.after))
                if last >= self.wanted.upto:
                    kept = None if kept is None else self._upto(kept)
                if kept is entry:
                    kept = whole
                if kept is not None:
                    taken.append(kept)
        return taken

    def begin_again(self) -> None:
        """The reader begins again, before the first chunks of the message that lacks them."""
        self._chunks.clear()
        self.lacking = None

    def give_up(self) -> None:
        """Do without the message that lacks its first chunks; the reader begins again."""
        assert self.lacking is not None, "a message is given up that lacks something"
        self._given_up.add(self.lacking.position)
        self.begin_again()

    def _joined(self, entry: Entry) -> tuple[Entry | None, str]:
        return self._chunks.add(entry) if entry.delivery.metadata.chunk else (entry, "")

    def _upto(self, entry: Entry) -> Entry | None:
        """The part of an entry that is not beyond the range."""
        position, upto = entry.delivery.position, self.wanted.upto
        if upto.is_place or position != upto[:2]:
            beyond = position > upto[:2]
            self.found_end |= beyond and upto.is_place
            return None if beyond else entry
        self.found_end = upto.batch_index in entry.indexes
        return entry.part(0, upto.batch_index + 1) if entry.delivery.batch_size else entry

    @property
    def begins_where_it_should(self) -> bool:
        """The message before the range is still there, so nothing after it was trimmed.

        Of a place it is enough that its ledger is there: ledgers are trimmed whole.
        """
        after = self.wanted.after
        if after == NOTHING_READ:
            return True
        if self.first is None:
            return False
        begins = after.is_place and self.first.ledger_id == after.ledger_id
        return begins or self.first <= after

    @property
    def done(self) -> bool:
        """Nothing of the range can come any more."""
        return self.reached is not None and self.reached >= self.wanted.upto


def _after(entry: Entry, seen: Offset) -> Entry | None:
    """The part of an entry behind a message that was seen."""
    if entry.delivery.position != seen[:2] or not entry.delivery.batch_size:
        return entry
    return entry.part(seen.batch_index + 1, entry.delivery.batch_size)


def _offset(entry: Entry, index: int) -> Offset:
    return Offset(*entry.delivery.position, index)
