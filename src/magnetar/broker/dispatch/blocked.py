"""Why a subscription delivers nothing: a small value that says it in a sentence. Pure.

The stats of a subscription show it as ``blockedReason``. To add a reason:

1. Add a line to ``Why``: a whole sentence. What it names is a field of ``Blocked``.
2. Answer it where it is known. What holds up the subscription as a whole (a rate, a read) goes into
   ``reasons`` of ``broker/topics/subscriptions/dispatch_blocked.py``, whose first answer is the
   one that is told; what concerns entries and consumers (a slot, permits) into ``blocked`` of the
   strategy.
3. Tell it in ``tests/scenarios``: the command ``why`` prints the sentence.
"""

from collections.abc import Hashable, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Final, Protocol, TypeVar

from magnetar.late_dataclass import dataclass


class Why(Enum):
    """What must change before anything is delivered, as a sentence about fields of ``Blocked``."""

    NO_CONSUMER = "no consumer is connected"
    NOTHING_TO_READ = "every entry is acknowledged"
    ALL_DELIVERED = "every entry was delivered, and is not acknowledged yet"
    AWAITED = (
        "every entry was delivered; consumer {consumer} has held the oldest for {held_s:.0f} s"
    )
    NOT_COMMITTED = (
        "transaction {transaction} of producer {producer} has been open for {held_s:.0f} s, "
        "and the next entry comes after its first"
    )
    NO_PERMITS = "consumer {consumer} has given no permits"
    NOT_WRITABLE = "the client of consumer {consumer} reads too slowly"
    CONSUMER_UNACKED = "consumer {consumer} holds as many unacknowledged messages as it may"
    SUBSCRIPTION_UNACKED = "the consumers hold as many unacknowledged messages as all of them may"
    FAILOVER_DELAY = "consumer {consumer} takes over when the failover delay is over"
    CHUNK_OWNER = "the other chunks of a message went to consumer {consumer}, which takes no more"
    SLOT_DRAINS = "consumer {consumer} has held entries of hash slot {slot} for {held_s:.0f} s"
    SLOT_UNOWNED = "no consumer has declared hash slot {slot}"
    RATE = "the dispatch rate of the {limit} is used up for the moment"
    DELAYED = "what is left is delayed, the next message until {until}"
    READING = "entries are being read from disk"
    READ_FAILED = "entries could not be read, which is tried again soon"


STILL_S: Final = 10.0
"""A backlog that did not move for so long is blocked: a moment without a delivery says nothing."""
IN_ORDER: Final = (
    Why.DELAYED,
    Why.RATE,
    Why.FAILOVER_DELAY,
    Why.NOTHING_TO_READ,
    Why.READING,
)
"""Why a backlog waits as it was asked to, or for something that is over by itself."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why, and what there is to say about it. ``str`` is a sentence for an operator."""

    why: Why
    consumer: str = ""
    slot: int = -1
    held_s: float = 0.0
    until_ms: int = 0
    limit: str = ""
    transaction: str = ""
    producer: str = ""

    def __str__(self) -> str:
        until = datetime.fromtimestamp(self.until_ms / 1000, UTC).isoformat(timespec="milliseconds")
        return self.why.value.format(
            consumer=self.consumer,
            slot=self.slot,
            held_s=self.held_s,
            until=until,
            limit=self.limit,
            transaction=self.transaction,
            producer=self.producer,
        )


class Receiver(Hashable, Protocol):
    """What dispatch sees of a consumer."""

    name: str
    priority: int
    permits: int
    blocked: bool
    """Whether it holds too many unacknowledged messages."""
    hash_ranges: Sequence[tuple[int, int]] | None
    """The slots of a STICKY Key_Shared consumer; None for any other."""

    @property
    def writable(self) -> bool:
        """Whether its client reads fast enough."""

    @property
    def capacity(self) -> int:
        """How many messages it may be given now; 0 or less: none."""

    def took(self, messages: int) -> None:
        """Count messages that were delivered to it."""

    def released(self, messages: int) -> None:
        """Count messages that it acknowledged or gave back."""


C = TypeVar("C", bound=Receiver)


def receiver_blocked(consumer: Receiver) -> Blocked | None:
    """Why a consumer can be given nothing; None when it can."""
    if consumer.capacity > 0:
        return None
    if consumer.blocked:
        return Blocked(Why.CONSUMER_UNACKED, consumer.name)
    return Blocked(Why.NOT_WRITABLE if not consumer.writable else Why.NO_PERMITS, consumer.name)


def all_blocked(consumers: Sequence[Receiver]) -> Blocked | None:
    """Why none of some consumers can be given anything; None when one can."""
    reasons = [receiver_blocked(consumer) for consumer in consumers]
    if not reasons:
        return Blocked(Why.NO_CONSUMER)
    return None if None in reasons else reasons[0]
