"""How far a read of a range has come: what belongs to it, and when nothing more can. Pure."""

import operator
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from magnetar.client.message import Message
from magnetar.spark.offsets import Offset
from magnetar.spark.planning import Range


def offset_of(message: Message) -> Offset:
    """The message's place in its partition, as offsets are written."""
    return Offset(*message.delivery.position, message.batch_index)


@dataclass(slots=True)
class RangeProgress:
    """Takes what a reader receives and gives out what belongs to the range, each message once."""

    wanted: Range
    first: Offset | None = None  # The first message received, in the range or before it.
    reached: Offset | None = None  # The last message received. Invariant: never moves back.
    found_end: bool = False  # The very message that ends the range was received.

    def take(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Those of ``messages``, never empty, that are in the range and did not come before."""
        offsets = list(map(offset_of, messages))
        if not all(map(operator.lt, offsets, offsets[1:])):
            messages, offsets = _ascending(messages, offsets)
        seen = self.wanted.after if self.reached is None else max(self.wanted.after, self.reached)
        if self.first is None:
            self.first = offsets[0]
        self.reached = offsets[-1] if self.reached is None else max(self.reached, offsets[-1])
        stop = bisect_right(offsets, self.wanted.upto)
        self.found_end = self.found_end or (stop > 0 and offsets[stop - 1] == self.wanted.upto)
        return messages[bisect_right(offsets, seen) : stop]

    @property
    def begins_where_it_should(self) -> bool:
        """The message before the range is still there, so nothing after it was trimmed."""
        after = self.wanted.after
        return not after.names_a_message or (self.first is not None and self.first <= after)

    @property
    def done(self) -> bool:
        """Nothing of the range can come any more."""
        return self.reached is not None and self.reached >= self.wanted.upto


def _ascending(
    messages: Sequence[Message], offsets: list[Offset]
) -> tuple[Sequence[Message], list[Offset]]:
    """Without what comes a second time, as it may after a lost connection."""
    kept: list[Message] = []
    kept_offsets: list[Offset] = []
    for message, offset in zip(messages, offsets, strict=True):
        if not kept_offsets or offset > kept_offsets[-1]:
            kept.append(message)
            kept_offsets.append(offset)
    return kept, kept_offsets
