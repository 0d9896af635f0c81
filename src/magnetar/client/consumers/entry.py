"""An entry as it was received, for who takes its messages apart in a way of their own. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from magnetar.client.message import Delivery, Message
from magnetar.message.batch import unpack
from magnetar.model.position import MessageId


@dataclass(slots=True, eq=False)
class Entry:
    """One entry: a message, or a batch of them, of which the application gets those ``wanted``."""

    delivery: Delivery
    payload: bytes
    """Of a batch all messages, as ``magnetar.message.batch`` packs them; else the message's own."""
    wanted: int | None = None  # A bit for each message, by its index; None: all there are.

    @property
    def count(self) -> int:
        """How many messages the application gets."""
        return max(self.delivery.batch_size, 1) if self.wanted is None else self.wanted.bit_count()

    @property
    def last_id(self) -> MessageId:
        """The id of the last message that the application gets."""
        last = self.delivery.batch_size - 1
        if self.wanted is not None:
            last = self.wanted.bit_length() - 1
        return Message(self.delivery, last, b"", b"").message_id

    def messages(self) -> list[Message[Any]]:
        """Raises CorruptEntry."""
        count = self.delivery.batch_size
        if not count:
            return [Message(self.delivery, -1, b"", self.payload)]
        heads, payloads = unpack(self.payload, count)
        made = zip(repeat(self.delivery), range(count), heads, payloads)
        messages: Iterable[Message[Any]] = map(Message._make, made)
        if self.wanted is None:
            return list(messages)
        return [message for message in messages if self.wanted >> message.batch_index & 1]

    def only(self, messages: Iterable[Message[Any]]) -> "Entry":
        """The entry with none but these of its messages."""
        if not self.delivery.batch_size:
            return self
        wanted = sum(1 << message.batch_index for message in messages)
        return Entry(self.delivery, self.payload, wanted)
