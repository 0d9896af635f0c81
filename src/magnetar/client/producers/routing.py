"""Which partition a message goes to. Pure: time and chance arrive as arguments.

A message with a key always goes to ``hash(key) mod partitions``; Java and Go clients with the same
hash choose the same partition. Only a function of the application may say otherwise.
"""

from collections.abc import Callable
from enum import Enum
from operator import index
from typing import Protocol, SupportsIndex

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import InvalidValue
from magnetar.model.hashing import boost_hash, java_string_hash, murmur3_32


class HashingScheme(Enum):
    """The hash function that turns a key into a number."""

    JAVA_STRING = "java-string"  # The default of the Java and Go clients.
    MURMUR3 = "murmur3"
    BOOST = "boost"  # The default of the client in C++, and of those over it, as for Python.


class RoutingMode(Enum):
    """The partition of messages without a key."""

    ROUND_ROBIN = "round-robin"  # To each partition in turn, a batch at a time.
    SINGLE = "single"  # All to one partition, chosen by chance.


class Router(Protocol):
    """Chooses partitions for one producer."""

    def choose(self, key: str | None, size: int, partitions: int, now: float) -> int:
        """The partition, 0-based, of a message of ``size`` bytes; ``now`` in seconds."""

    def room(self, partitions: int, now: float) -> tuple[int, int, int]:
        """The partition for a run of messages without keys, and the messages and bytes it may take.

        The caller sends at least one message, and tells how many by ``took``.
        """

    def took(self, messages: int, size: int) -> None:
        """Count messages of the run that were sent to the partition of ``room``."""


CustomRouter = Callable[[OutgoingMessage, int], int]
"""(message, partitions) -> partition. The message's ``value`` is its payload in bytes."""


def key_hash(key: str, scheme: HashingScheme) -> int:
    """Hash a key to a number in [0, 2**31)."""
    if scheme is HashingScheme.MURMUR3:
        return murmur3_32(key.encode())
    if scheme is HashingScheme.BOOST:
        return boost_hash(key.encode())
    return java_string_hash(key)


class SingleRouter:
    """Sends all messages without a key to one partition."""

    def __init__(self, partition: int, scheme: HashingScheme) -> None:
        """``partition`` may be any number; it is taken modulo the partitions there are."""
        self._partition = partition
        self._scheme = scheme

    def choose(self, key: str | None, size: int, partitions: int, now: float) -> int:
        if key:
            return key_hash(key, self._scheme) % partitions
        return self._partition % partitions

    def room(self, partitions: int, now: float) -> tuple[int, int, int]:
        return self._partition % partitions, 1 << 62, 1 << 62

    def took(self, messages: int, size: int) -> None:
        pass


class RoundRobinRouter:
    """Sends messages without a key to the partitions in turn, to each until its batch is full.

    Moving on with every message would leave each partition with batches of one: the router moves
    when the batch must be full or due (``messages_max``, ``bytes_max``, ``delay_s``). Without
    batching ``messages_max`` is 1.
    """

    def __init__(
        self,
        start: int,
        scheme: HashingScheme,
        *,
        messages_max: int,
        bytes_max: int,
        delay_s: float,
    ) -> None:
        self._cursor = start
        self._scheme = scheme
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._delay_s = delay_s
        self._messages = 0
        self._bytes = 0
        self._since = 0.0

    def choose(self, key: str | None, size: int, partitions: int, now: float) -> int:
        if key:
            return key_hash(key, self._scheme) % partitions
        partition, _, bytes_left = self.room(partitions, now)
        if size > bytes_left and self._messages:
            self._move(now)
            partition = self._cursor % partitions
        self.took(1, size)
        return partition

    def room(self, partitions: int, now: float) -> tuple[int, int, int]:
        due = self._messages > 0 and now - self._since >= self._delay_s
        if self._messages >= self._messages_max or self._bytes >= self._bytes_max or due:
            self._move(now)
        elif not self._messages:
            self._since = now
        messages_left = self._messages_max - self._messages
        return self._cursor % partitions, messages_left, self._bytes_max - self._bytes

    def took(self, messages: int, size: int) -> None:
        self._messages += messages
        self._bytes += size

    def _move(self, now: float) -> None:
        self._cursor += 1
        self._messages = 0
        self._bytes = 0
        self._since = now


class MessageRouter:
    """Asks the application's own function, for messages with and without a key."""

    def __init__(self, function: CustomRouter) -> None:
        self._function = function

    def choose(self, message: OutgoingMessage, partitions: int) -> int:
        """The partition of a message. Raises InvalidValue when the function gives none."""
        try:
            partition = self._function(message, partitions)
        except Exception as error:
            raise InvalidValue(f"the routing function failed: {error!r}") from error
        if not isinstance(partition, SupportsIndex) or not 0 <= index(partition) < partitions:
            raise InvalidValue(
                f"the routing function returned {partition!r}, which is none of the partitions "
                f"0 to {partitions - 1}"
            )
        return index(partition)
