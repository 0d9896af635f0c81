"""How a subscription shares its messages, and where a new one starts. Pure."""

from enum import IntEnum


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
