"""The id of a message, as ``pulsar-client`` has it: its names, order, text and bytes."""

from functools import total_ordering
from typing import ClassVar

from magnetar.client.message import Message as OurMessage
from magnetar.errors import InvalidValue
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, ChunkedMessageId
from magnetar.model.position import MessageId as OurMessageId


@total_ordering
class MessageId:
    """Where a message is: its ledger, entry, partition and index in a batch; -1 for none."""

    earliest: ClassVar["MessageId"]
    latest: ClassVar["MessageId"]

    def __init__(
        self, partition: int = -1, ledger_id: int = -1, entry_id: int = -1, batch_index: int = -1
    ) -> None:
        self._id = OurMessageId(ledger_id, entry_id, partition, batch_index)
        self._topic = ""
        self._message: OurMessage | None = None  # Whose id it is, if a consumer received it.

    def ledger_id(self) -> int:
        return self._id.ledger_id

    def entry_id(self) -> int:
        return self._id.entry_id

    def batch_index(self) -> int:
        return self._id.batch_index

    def partition(self) -> int:
        return self._id.partition

    def topic_name(self, topic: str) -> None:
        """Say which topic it is of, for a consumer that has several."""
        self._topic = topic

    def serialize(self) -> bytes:
        """The id as bytes, the same that ``pulsar-client`` writes."""
        return self._id.to_bytes()

    @staticmethod
    def deserialize(message_id_bytes: bytes, topic: str | None = None) -> "MessageId":
        """The id that ``serialize`` wrote, here or in another client. Raises ValueError.

        ``topic`` is needed for the consumer of several topics.
        """
        if not isinstance(message_id_bytes, bytes):
            raise TypeError(f"a serialized message id is {type(message_id_bytes).__name__}")
        try:
            found = MessageId._of(OurMessageId.from_bytes(message_id_bytes))
        except InvalidValue:
            text = f"Failed to parse serialized message id {message_id_bytes!r}"
            raise ValueError(text) from None
        found._topic = topic or ""
        return found

    @classmethod
    def wrap(cls, msg_id: "MessageId") -> "MessageId":
        """The same id. (There is one class of ids here, and two in ``pulsar-client``.)"""
        return cls._of(msg_id._id, msg_id._message)

    @classmethod
    def _of(cls, message_id: OurMessageId, message: OurMessage | None = None) -> "MessageId":
        made = cls.__new__(cls)  # One is made for each message.
        made._id, made._topic, made._message = message_id, "", message
        return made

    @property
    def _key(self) -> tuple[int, int, int, int]:
        ledger_id, entry_id, partition, batch_index, _ = self._id
        return ledger_id, entry_id, batch_index, partition

    def __str__(self) -> str:
        ledger_id, entry_id, partition, batch_index, _ = self._id
        printed = f"({ledger_id},{entry_id},{partition},{batch_index})"
        if isinstance(self._id, ChunkedMessageId):
            first = self._id.first_chunk
            return f"({first.ledger_id},{first.entry_id},{partition},-1);{printed}"
        return printed

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, MessageId) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key < other._key if isinstance(other, MessageId) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)


MessageId.earliest = MessageId._of(EARLIEST_MESSAGE)
MessageId.latest = MessageId._of(LATEST_MESSAGE)
