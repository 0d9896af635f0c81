"""The id of a message, as ``pulsar-client`` has it: its names, order, text and bytes."""

import re
from functools import total_ordering
from typing import ClassVar, Final

from magnetar.client.message import ChunkedMessageId
from magnetar.client.message import Message as OurMessage
from magnetar.inner.varint import VARINT, varint, varint_value
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, Position, signed
from magnetar.model.position import MessageId as OurMessageId

# The fields of MessageIdData in the protocol: tags of numbers, and that of the first chunk's id.
_LEDGER, _ENTRY, _PARTITION, _BATCH_INDEX, _BATCH_SIZE = 0x08, 0x10, 0x18, 0x20, 0x30
_FIRST_CHUNK: Final = 0x3A
_FIELD: Final = re.compile(
    rb"([\x08\x10\x18\x20\x28\x30])(" + VARINT + rb")|\x3a([\x00-\x7f])", re.DOTALL
)


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
        written = _position(self._id.position)
        if self._id.partition >= 0:
            written += bytes((_PARTITION,)) + varint(self._id.partition)
        if self._id.batch_index >= 0:
            written += bytes((_BATCH_INDEX,)) + varint(self._id.batch_index)
        if self._id.batch_size:
            written += bytes((_BATCH_SIZE,)) + varint(self._id.batch_size)
        if isinstance(self._id, ChunkedMessageId):
            first = _position(self._id.first_chunk)
            written += bytes((_FIRST_CHUNK, len(first))) + first
        return written

    @staticmethod
    def deserialize(message_id_bytes: bytes, topic: str | None = None) -> "MessageId":
        """The id that ``serialize`` wrote, here or in another client. Raises ValueError.

        ``topic`` is needed for the consumer of several topics.
        """
        found = MessageId._of(_parsed(message_id_bytes))
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


def _position(position: Position) -> bytes:
    return b"%c%b%c%b" % (_LEDGER, varint(position.ledger_id), _ENTRY, varint(position.entry_id))


def _parsed(data: object) -> OurMessageId:
    if not isinstance(data, bytes):
        raise TypeError(f"a serialized message id is bytes, not {type(data).__name__}")
    numbers: dict[int, int] = {}
    first_chunk: Position | None = None
    at = 0
    while at < len(data):
        if (field := _FIELD.match(data, at)) is None:
            raise _not_an_id(data)
        at = field.end()
        if field[3] is not None:
            end = at + field[3][0]
            first_chunk = _parsed(data[at:end]).position
            at = end
        else:
            numbers[field[1][0]] = signed(varint_value(field[2]))
    if at != len(data) or _LEDGER not in numbers or _ENTRY not in numbers:
        raise _not_an_id(data)
    ledger_id, entry_id = numbers[_LEDGER], numbers[_ENTRY]
    partition = numbers.get(_PARTITION, -1)
    if first_chunk is not None:
        return ChunkedMessageId.of(ledger_id, entry_id, partition, first_chunk=first_chunk)
    return OurMessageId(
        ledger_id,
        entry_id,
        partition,
        numbers.get(_BATCH_INDEX, -1),
        numbers.get(_BATCH_SIZE, 0),
    )


def _not_an_id(data: bytes) -> ValueError:
    return ValueError(f"Failed to parse serialized message id {data!r}")
