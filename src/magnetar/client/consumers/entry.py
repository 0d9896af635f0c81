"""An entry as it was received, for callers that take its messages apart themselves. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from magnetar.client.message import Delivery, Message
from magnetar.message.batch import unpack_as
from magnetar.model.position import MessageId


@dataclass(slots=True, eq=False)
class Entry:
    """One entry: a message, or a batch of them, of which the application gets those ``wanted``."""

    delivery: Delivery
    data: bytes  # The payload, behind what comes before it.
    wanted: int | None = None  # A bit for each message, by its index; None: all there are.
    start: int = 0  # Where the payload begins.

    @property
    def payload(self) -> bytes:
        """The payload: of a batch its messages, as ``magnetar.message.batch`` packs them."""
        return self.data[self.start :] if self.start else self.data

    @property
    def size(self) -> int:
        """Bytes of the payload."""
        return len(self.data) - self.start

    @property
    def count(self) -> int:
        """How many messages the application gets."""
        return max(self.delivery.batch_size, 1) if self.wanted is None else self.wanted.bit_count()

    @property
    def indexes(self) -> Sequence[int]:
        """The indexes in the batch of the messages that the application gets; -1 outside one."""
        size = self.delivery.batch_size
        if self.wanted is None:
            return range(size) if size else range(-1, 0)
        first, stop = (self.wanted & -self.wanted).bit_length() - 1, self.wanted.bit_length()
        if self.wanted == (1 << stop) - (1 << first):
            return range(first, stop)
        return [index for index in range(first, stop) if self.wanted >> index & 1]

    @property
    def last_id(self) -> MessageId:
        """The id of the last message that the application gets."""
        return Message(self.delivery, self.indexes[-1], b"", b"").message_id

    def part(self, start: int, stop: int) -> "Entry | None":
        """The entry with none of its batch's messages but those from one index to before another.

        None where it has none of these.
        """
        every = (1 << self.delivery.batch_size) - 1
        wanted = (every if self.wanted is None else self.wanted) & (1 << stop) - 1 >> start << start
        if wanted == every:
            return self
        return Entry(self.delivery, self.data, wanted, self.start) if wanted else None

    def messages(self) -> list[Message[Any]]:
        """Raises CorruptEntry."""
        count = self.delivery.batch_size
        if not count:
            return [Message(self.delivery, -1, b"", self.payload)]
        messages: list[Message[Any]] = unpack_as(
            Message, self.delivery, self.data, count, start=self.start
        )
        if self.wanted is None:
            return messages
        return [message for message in messages if self.wanted >> message.batch_index & 1]

    def only(self, messages: Iterable[Message[Any]]) -> "Entry":
        """The entry with none but these of its messages."""
        if not self.delivery.batch_size:
            return self
        wanted = sum(1 << message.batch_index for message in messages)
        return Entry(self.delivery, self.data, wanted, self.start)
