"""The acknowledgements of one consumer: those to be sent, and those sent lately. Pure.

The broker keeps entries, the application acknowledges messages. An entry of several messages is
acknowledged when the last of them is, unless the broker keeps single messages too
(``batch_index``): then each step is reported as a bit set, 1 for *not acknowledged*.

A broker delivers an entry without those of its messages that are acknowledged already, or in a
transaction that has not ended and may be aborted. Which they are it knows better, so that such an
entry is reported as a bit set, too, when all is acknowledged that was delivered of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from magnetar.model.position import Position
from magnetar.model.timer_wheel import TimerWheel

from .chunk_spans import ChunkSpans

SENT_MAX: Final = 50_000  # Entries that are remembered as acknowledged, in each of two periods.
SENT_PERIOD_S: Final = 5.0  # A broker that crashes forgets a second or so of acknowledgements.
PARTIAL_MAX: Final = 100_000  # Entries that are acknowledged in part.
_WORD: Final = (1 << 64) - 1


@dataclass(slots=True)
class AckBatch:
    """What the broker is told now. ``sets`` run parallel to ``positions``; [] is a whole entry."""

    positions: list[Position]
    sets: list[list[int]] | None = None
    cumulative: bool = False  # The one position, and all before it.

    def parts(self, positions_max: int) -> Iterator["AckBatch"]:
        """Split into lists that fit into one command."""
        for at in range(0, len(self.positions), positions_max):
            part = slice(at, at + positions_max)
            sets = None if self.sets is None else self.sets[part]
            yield AckBatch(self.positions[part], sets, self.cumulative)


@dataclass(slots=True)
class AckRun:
    """Messages of one entry that are acknowledged in turn, and noted together.

    Whoever acknowledges the next of them may add it here, if not the last.
    """

    position: Position | None = None  # None once they are noted: nothing may be added any more.
    batch_size: int = 0
    left: int = 0  # With so many more they are noted.
    indexes: list[int] = field(default_factory=list)


class Acknowledgements:
    """The acknowledgements of one consumer."""

    run: AckRun  # The one that goes on.

    def __init__(
        self,
        *,
        group_max: int,
        batch_index: bool,
        wheel: TimerWheel[Position] | None = None,
        partial_max: int = PARTIAL_MAX,
        sent_max: int = SENT_MAX,
    ) -> None:
        """``wheel`` loses the entries that are acknowledged."""
        self._group_max = group_max
        self._batch_index = batch_index
        self._wheel = wheel or TimerWheel()
        self._partial_max = partial_max
        self._sent_max = sent_max
        self._whole: dict[Position, None] = {}  # Entries to be sent.
        self._changed: dict[
            Position, None
        ] = {}  # Entries to be sent with the bit set of what is left.
        self._partial: dict[Position, int] = {}  # By entry, a bit for each message that is left.
        self._missing: dict[Position, int] = {}  # By entry, those that did not come.
        self._mark: Position | None = None  # The highest cumulative acknowledgement.
        self._mark_set = 0  # Bits that are left of the entry at the mark; 0 for none.
        self._mark_unsent = False
        self._chunked = ChunkSpans()
        self._held: tuple[Position, int] | None = None  # The mark that a chunked message holds up.
        self.run = AckRun()
        self._sent: dict[Position, None] = {}
        self._sent_before: dict[Position, None] = {}
        self._period_end = 0.0

    def entry(self, position: Position) -> None:
        """Acknowledge a whole entry."""
        self._note_run()
        self._partial.pop(position, None)
        self._changed.pop(position, None)
        self._missing.pop(position, None)
        if self._wheel.entries:
            self._wheel.discard(position)
        if self._mark is None or position > self._mark:
            self._whole[position] = None

    def some(self, position: Position, indexes: Sequence[int], batch_size: int) -> bool:
        """As ``indexes``; whether there may be something to send for it.

        Messages of an entry are mostly acknowledged in turn: they are noted together, when the
        last of them is or something else happens.
        """
        run = self.run
        if position is not run.position:
            left = self.remaining(position)
            if left is not None:
                left &= ~self._missing.get(position, 0)
            count = batch_size if left is None else left.bit_count()
            run = self.run = AckRun(position, batch_size, 0 if self._batch_index else count)
        run.indexes += indexes
        run.left -= len(indexes)
        if run.left <= 0:
            self._note_run()
            return True
        return False

    def _note_run(self) -> None:
        run = self.run
        position = run.position
        if position is None:
            return
        run.position = None
        if len(set(run.indexes)) == run.batch_size:
            self.entry(position)
        else:
            self.indexes(position, run.indexes, run.batch_size)

    def indexes(self, position: Position, indexes: Iterable[int], batch_size: int) -> None:
        """Acknowledge some messages of an entry, by their index in the batch."""
        self._note_run()
        if self.covers(position):
            return
        left = self.remaining(position)
        if left is None:
            left = (1 << batch_size) - 1
        for index in indexes:
            left &= ~(1 << index)
        self.acknowledge_all_but(position, left)

    def acknowledge_all_but(self, position: Position, pending: int) -> None:
        """Acknowledge all messages of an entry but those with a bit in ``pending``."""
        self._note_run()
        if not pending:
            self.entry(position)
            return
        self._partial[position] = pending
        done = not pending & ~self._missing.get(position, 0)
        if self._batch_index or done:
            self._changed[position] = None
        if done and self._wheel.entries:
            self._wheel.discard(position)
        if len(self._partial) > self._partial_max:
            oldest = next(iter(self._partial))
            for kept in (self._partial, self._changed, self._missing):
                kept.pop(oldest, None)

    def delivered(self, position: Position, left: int, missing: int, whole: int) -> None:
        """An entry comes without what is ``missing``; of ``whole``, ``left`` is to acknowledge."""
        self._note_run()
        known = self._partial.get(position, whole)
        if missing:
            self._missing[position] = missing
        else:
            self._missing.pop(position, None)
        if left != known or not left & ~missing:
            self.acknowledge_all_but(position, left)
        else:
            self._partial[position] = left

    def cumulative(self, position: Position, batch_index: int, batch_size: int) -> None:
        """Acknowledge everything up to a message; ``batch_index`` -1 names the whole entry."""
        self._note_run()
        left = 0
        if 0 <= batch_index < batch_size - 1:
            left = (1 << batch_size) - (1 << (batch_index + 1))
            if not self._batch_index:  # The broker gets a mark before the entry.
                self.indexes(position, range(batch_index + 1), batch_size)
                position, left = Position(position.ledger_id, position.entry_id - 1), 0
        self._move_mark(position, left)

    def chunked(self, first: Position, last: Position | None = None) -> None:
        """A chunked message begins at ``first``; the mark stays before it. ``last`` ends it."""
        if last is None:
            self._chunked.begin(first)
        else:
            self._chunked.complete(first, last)

    def chunked_done(self, first: Position) -> None:
        """The chunked message is acknowledged or given up: the mark may pass over it."""
        self._note_run()
        if self._chunked and self._chunked.end(first) and self._held is not None:
            held, self._held = self._held, None
            self._move_mark(*held)

    def chunks_come_again(self) -> None:
        """The broker sends again what is not acknowledged, and what a held mark would be."""
        if self._chunked:
            self._chunked.forget_incomplete()
            self._held = None

    def _move_mark(self, position: Position, left: int) -> None:
        if self._chunked:
            wanted = position, left
            if self._held is not None:
                wanted = max(wanted, self._held, key=lambda mark: (mark[0], -mark[1]))
            first = self._chunked.acknowledged_up_to(wanted[0])
            self._held = None if first is None else wanted
            position, left = wanted
            if first is not None:
                position, left = Position(first.ledger_id, first.entry_id - 1), 0
        if self._mark is not None and (position, -left) <= (self._mark, -self._mark_set):
            return
        self._mark, self._mark_set, self._mark_unsent = position, left, True
        if self._wheel.entries:
            self._wheel.discard_through(position)
        for kept in (self._whole, self._changed, self._partial, self._missing):
            for done in [other for other in kept if other < position]:
                del kept[done]
            if not left:
                kept.pop(position, None)

    @property
    def count(self) -> int:
        """How many acknowledgements wait to be sent."""
        return len(self._whole) + len(self._changed) + self._mark_unsent

    @property
    def due(self) -> bool:
        """Whether the group is full, and should be sent now."""
        return self.count >= self._group_max

    def covers(self, position: Position) -> bool:
        """Whether the whole entry is acknowledged, as far as this consumer knows."""
        self._note_run()
        if self._mark is not None and (
            position < self._mark or (position == self._mark and not self._mark_set)
        ):
            return True
        return position in self._whole or position in self._sent or position in self._sent_before

    def remaining(self, position: Position) -> int | None:
        """A bit for each message of an entry that is left; None when none is acknowledged."""
        self._note_run()
        left = self._partial.get(position)
        if position == self._mark and self._mark_set:
            return self._mark_set if left is None else left & self._mark_set
        return left

    def drain(self, now: float) -> list[AckBatch]:
        """Take all that waits; it counts as sent at ``now`` seconds."""
        self._note_run()
        if now >= self._period_end or len(self._sent) > self._sent_max:
            self._sent_before, self._sent = self._sent, {}
            self._period_end = now + SENT_PERIOD_S
        positions = list(self._whole)
        self._sent.update(self._whole)
        sets: list[list[int]] | None = None
        if self._changed:
            sets = [[] for _ in positions]
            sets += [words(self._partial[position]) for position in self._changed]
            positions += self._changed
            for position in self._missing.keys() & self._changed.keys():
                if not self._partial[position] & ~self._missing[position]:
                    del self._partial[position], self._missing[position]
        taken = [AckBatch(positions, sets)] if positions else []
        if self._mark_unsent and self._mark is not None:
            left = [words(self._mark_set)] if self._mark_set else None
            taken.append(AckBatch([self._mark], left, cumulative=True))
        self._whole, self._changed, self._mark_unsent = {}, {}, False
        return taken

    def send_again(self, batch: AckBatch) -> None:
        """Let a batch wait again, as if it had not been sent."""
        self._note_run()
        if batch.cumulative:
            self._mark_unsent = self._mark is not None
            return
        for at, position in enumerate(batch.positions):
            if batch.sets is None or not batch.sets[at]:
                self.entry(position)
            elif not self.covers(position):
                self._partial.setdefault(position, bits(batch.sets[at]))
                self._changed[position] = None

    def connection_lost(self) -> None:
        """Send the mark again, because it may not have arrived.

        Entries sent lately stay remembered: when they are delivered again, they are acknowledged
        again.
        """
        self._note_run()
        self._mark_unsent = self._mark is not None
        if self._batch_index:
            self._changed = dict.fromkeys(self._partial)

    def forget_sent(self) -> None:
        """Forget what was sent: a broker that detaches a consumer knows it, or goes back.

        What has not been sent yet is kept.
        """
        self._note_run()
        self._sent, self._sent_before = {}, {}
        if not self._mark_unsent:
            self._mark, self._mark_set = None, 0

    def clear(self) -> None:
        """Forget everything, because of a seek."""
        self._note_run()
        self._whole, self._changed, self._partial, self._missing = {}, {}, {}, {}
        self._sent, self._sent_before = {}, {}
        self._mark, self._mark_set, self._mark_unsent = None, 0, False
        self._held = None
        self._chunked.clear()


def words(bits: int) -> list[int]:
    """Write a bit set as the signed 64-bit words of the wire, the lowest first."""
    found = []
    while bits:
        word = bits & _WORD
        found.append(word - (1 << 64) if word >> 63 else word)
        bits >>= 64
    return found


def bits(found: Iterable[int]) -> int:
    """Read the words of the wire as one bit set."""
    return sum((word & _WORD) << (64 * index) for index, word in enumerate(found))
