"""How a subscription shares its messages, and where a new one starts. Pure."""

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from operator import index
from typing import Final

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass

HASH_SLOT_LAST: Final = 65_535  # Keys are hashed to the slots 0 to this one.


class SubscriptionType(IntEnum):
    """The type of a subscription; the numbers are those on the wire."""

    EXCLUSIVE = 0  # One consumer; a second is refused.
    SHARED = 1  # Each message to any one consumer; no order.
    FAILOVER = 2  # One active consumer, the others stand by.
    KEY_SHARED = 3  # Each message to the consumer that owns its key; order per key.

    @property
    def printed(self) -> str:
        """The name that Pulsar prints."""
        return "Key_Shared" if self is SubscriptionType.KEY_SHARED else self.name.capitalize()

    @property
    def single_active(self) -> bool:
        """One consumer gets everything; the others, if any, stand by."""
        return self in (SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER)


class InitialPosition(IntEnum):
    """Where a subscription starts when it is created; the numbers are those on the wire."""

    LATEST = 0  # After the last message.
    EARLIEST = 1  # At the first message still stored.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySharedPolicy:
    """How a Key_Shared subscription chooses the consumer of a key. Raises InvalidValue.

    The broker splits the slots of hashed keys among the consumers (AUTO_SPLIT in Pulsar). A
    consumer with ``sticky_ranges`` declares which slots it takes, both ends included (STICKY).
    All consumers of a subscription must agree on that, and on ``allow_out_of_order_delivery``.
    """

    sticky_ranges: Sequence[tuple[int, int]] | None = None
    allow_out_of_order_delivery: bool = False  # A stuck consumer does not hold its keys back.

    def __post_init__(self) -> None:
        if self.sticky_ranges is None:
            return
        try:
            ranges = tuple((index(start), index(end)) for start, end in self.sticky_ranges)
        except (TypeError, ValueError):
            raise InvalidValue(
                f"sticky_ranges is {self.sticky_ranges!a}; it must be pairs of slots, as [(0, 99)]"
            ) from None
        if not ranges:
            raise InvalidValue(
                "sticky_ranges is empty, and this consumer would get nothing: declare slots, as "
                "[(0, 99)], or leave it out for the broker to split them"
            )
        for start, end in ranges:
            if not 0 <= start <= end <= HASH_SLOT_LAST:
                raise InvalidValue(
                    f"sticky_ranges: {start} to {end} is no range of slots: they go from 0 to "
                    f"{HASH_SLOT_LAST}, the first one first"
                )
        for one, other in pairwise(sorted(ranges)):
            if other[0] <= one[1]:
                raise InvalidValue(f"sticky_ranges: {one} and {other} overlap: keep them apart")
        object.__setattr__(self, "sticky_ranges", ranges)


class RegexSubscriptionMode(IntEnum):
    """Which topics a pattern is matched with; the numbers are those on the wire."""

    PERSISTENT_ONLY = 0
    NON_PERSISTENT_ONLY = 1
    ALL_TOPICS = 2
