"""Where a subscription begins in one topic's log, and how far the application has read. Pure."""

from dataclasses import dataclass
from typing import Any

from magnetar.client.message import Message
from magnetar.model.position import LATEST, ChunkedMessageId, MessageId, Position


@dataclass(frozen=True, slots=True)
class Start:
    """The message to begin with; the broker begins with its entry."""

    message_id: MessageId
    inclusive: bool

    def includes(self, position: Position) -> bool:
        """Whether this entry is the one to begin with, itself."""
        return self.inclusive and position == self.message_id.position

    def skip(self, position: Position, batch_size: int) -> int:
        """How many messages of this entry come before the start."""
        if position != self.message_id.position:
            return 0
        if self.message_id.batch_index < 0:
            return 0 if self.inclusive else batch_size
        return min(self.message_id.batch_index + (not self.inclusive), batch_size)


class ReadPosition:
    """What the application has received, and where a subscription begins that is not durable."""

    start: Start | None  # Invariant: None exactly for a durable subscription.
    seen: Message[Any] | MessageId | None  # The last message received since it was attached.

    def __init__(self, start: Start | None) -> None:
        self.start = start
        self.seen = None

    def move(self, start: Start) -> None:
        """Begin there, after a seek."""
        self.seen = None
        if self.start is not None:
            self.start = start

    def detached(self) -> Position | None:
        """Begin behind what was received, which is returned: the broker may deliver it again."""
        if self.seen is None:
            return None
        seen = _id_of(self.seen)
        self.seen = None
        if self.start is not None:
            self.start = Start(seen, inclusive=False)
        return seen.position

    def is_behind(self, last: MessageId, mark: Position) -> bool:
        """Whether the topic's last message was not received; ``mark`` is the subscription's."""
        if self.seen is not None:
            return _order(last) > _order(_id_of(self.seen))
        if last.position <= mark:
            return False
        if self.start is None or self.start.message_id.position == LATEST:
            return True
        if self.start.inclusive:
            return _order(last) >= _order(self.start.message_id)
        return _order(last) > _order(self.start.message_id)


def entry_of(start: Start) -> MessageId:
    """Name the entry that the broker begins with: the first chunk of a message that was split."""
    message_id = start.message_id
    if start.inclusive and isinstance(message_id, ChunkedMessageId):
        return MessageId(*message_id.first_chunk, message_id.partition)
    return message_id


def _id_of(message: Message[Any] | MessageId) -> MessageId:
    return message.message_id if isinstance(message, Message) else message


def _order(message_id: MessageId) -> tuple[int, int, int]:
    return message_id.ledger_id, message_id.entry_id, message_id.batch_index
