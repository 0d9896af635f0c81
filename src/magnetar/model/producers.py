"""How a topic's producers share it. Pure."""

from enum import IntEnum


class ProducerAccessMode(IntEnum):
    """Whether a producer wants its topic for itself; the numbers are those on the wire."""

    SHARED = 0  # Any number of producers.
    EXCLUSIVE = 1  # The only producer; refused while there is another.
    WAIT_FOR_EXCLUSIVE = 2  # The only producer, as soon as the others have left.
    EXCLUSIVE_WITH_FENCING = 3  # The only producer, at once; the others are sent away.

    @property
    def printed(self) -> str:
        """The name that Pulsar prints."""
        return self.name.title().replace("_", "")
