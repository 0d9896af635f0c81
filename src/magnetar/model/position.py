"""The position of an entry, and the id of a message. Pure."""

import re
from typing import Final, NamedTuple

from magnetar.errors import InvalidValue

from .varint import VARINT, varint, varint_value

# The fields of MessageIdData in the protocol: tags of numbers, and that of the first chunk's id.
_LEDGER, _ENTRY, _PARTITION, _BATCH_INDEX, _BATCH_SIZE = 0x08, 0x10, 0x18, 0x20, 0x30
_FIRST_CHUNK: Final = 0x3A
_FIELD: Final = re.compile(
    rb"([\x08\x10\x18\x20\x28\x30])(" + VARINT + rb")|\x3a([\x00-\x7f])", re.DOTALL
)
_TEXT: Final = re.compile(r"(?:(-?\d+):(-?\d+):-?\d+;)?(-?\d+(?::-?\d+){1,4})", re.ASCII)

LONG_MAX = 2**63 - 1


class Position(NamedTuple):
    """An entry's place: entry ``entry_id`` (0-based) of ledger ``ledger_id``, in log order.

    ``entry_id`` -1 is the place before a ledger's first entry.
    """

    ledger_id: int
    entry_id: int

    def __str__(self) -> str:
        return f"{self.ledger_id}:{self.entry_id}"


def signed(number: int) -> int:
    """An unsigned number of 64 bits as Pulsar's brokers take it: the highest ones are negative."""
    return number if number <= LONG_MAX else number - 2**64


EARLIEST = Position(-1, -1)
LATEST = Position(LONG_MAX, LONG_MAX)


class MessageId(NamedTuple):
    """A message's id: its entry, its partition, and its index in a batch. Compares in log order.

    ``partition`` is -1 on a topic without partitions, ``batch_index`` -1 outside a batch.
    ``batch_size`` is the number of messages of the batch, 0 outside one.

    ``to_bytes`` and ``to_text`` are the ways to keep one: its five numbers alone do not say where a
    chunked message begins.
    """

    ledger_id: int
    entry_id: int
    partition: int = -1
    batch_index: int = -1
    batch_size: int = 0

    @property
    def position(self) -> Position:
        return Position(self.ledger_id, self.entry_id)

    def to_bytes(self) -> bytes:
        """The id as all of Pulsar's clients write it: a MessageIdData of the protocol."""
        written = _position(self.position)
        if self.partition >= 0:
            written += bytes((_PARTITION,)) + varint(self.partition)
        if self.batch_index >= 0:
            written += bytes((_BATCH_INDEX,)) + varint(self.batch_index)
        if self.batch_size:
            written += bytes((_BATCH_SIZE,)) + varint(self.batch_size)
        return written

    @staticmethod
    def from_bytes(data: bytes) -> "MessageId":
        """The id that ``to_bytes`` wrote, here or in another client. Raises InvalidValue."""
        if not isinstance(data, bytes):
            raise InvalidValue(f"a message id is read from bytes, not {type(data).__name__}")
        numbers: dict[int, int] = {}
        first_chunk: Position | None = None
        at = 0
        while at < len(data):
            if (field := _FIELD.match(data, at)) is None:
                break
            at = field.end()
            if field[3] is not None:
                end = at + field[3][0]
                first_chunk = MessageId.from_bytes(data[at:end]).position
                at = end
            else:
                numbers[field[1][0]] = signed(varint_value(field[2]))
        if at != len(data) or _LEDGER not in numbers or _ENTRY not in numbers:
            raise InvalidValue(f"{data!r} is no message id: give what MessageId.to_bytes() wrote")
        return _message_id(
            numbers[_LEDGER],
            numbers[_ENTRY],
            numbers.get(_PARTITION, -1),
            numbers.get(_BATCH_INDEX, -1),
            numbers.get(_BATCH_SIZE, 0),
            first_chunk=first_chunk,
        )

    def to_text(self) -> str:
        """The id as text: ``ledger:entry:partition``, in a batch with ``:index:size`` behind it.

        Of a chunked message it is ``first;last``, the ids of its first and last entries.
        """
        tail = f":{self.batch_index}:{self.batch_size}" if self.batch_index >= 0 else ""
        return f"{self.ledger_id}:{self.entry_id}:{self.partition}{tail}"

    @staticmethod
    def from_text(text: str) -> "MessageId":
        """The id that ``to_text`` wrote, or the shorter text that ``str`` makes of one.

        Raises InvalidValue.
        """
        if not isinstance(text, str) or (found := _TEXT.fullmatch(text)) is None:
            raise InvalidValue(f"{text!a} is no message id: give what MessageId.to_text() wrote")
        first = None if found[1] is None else Position(int(found[1]), int(found[2]))
        return _message_id(*map(int, found[3].split(":")), first_chunk=first)

    def __str__(self) -> str:
        tail = f":{self.batch_index}" if self.batch_index >= 0 else ""
        return f"{self.ledger_id}:{self.entry_id}:{self.partition}{tail}"


class ChunkedMessageId(MessageId):
    """The id of a message that was split: the id of its last entry, and the place of the first.

    It sorts and prints as the plain id of the last entry, and is not equal to that: who begins
    there passes over the message.
    """

    first_chunk: Position
    chunks: tuple[Position, ...]  # All entries of a received message; () where they are not known.

    @classmethod
    def of(
        cls,
        ledger_id: int,
        entry_id: int,
        partition: int,
        *,
        first_chunk: Position,
        chunks: tuple[Position, ...] = (),
    ) -> "ChunkedMessageId":
        made = cls(ledger_id, entry_id, partition)
        made.first_chunk, made.chunks = first_chunk, chunks
        return made

    def to_bytes(self) -> bytes:
        first = _position(self.first_chunk)
        return super().to_bytes() + bytes((_FIRST_CHUNK, len(first))) + first

    def to_text(self) -> str:
        return f"{self.first_chunk}:{self.partition};{super().to_text()}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ChunkedMessageId)
            and self.first_chunk == other.first_chunk
            and tuple.__eq__(self, other)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = MessageId.__hash__


def _position(position: Position) -> bytes:
    return b"%c%b%c%b" % (_LEDGER, varint(position.ledger_id), _ENTRY, varint(position.entry_id))


def _message_id(*numbers: int, first_chunk: Position | None) -> MessageId:
    if first_chunk is not None:
        return ChunkedMessageId.of(*(*numbers, -1)[:3], first_chunk=first_chunk)
    return MessageId(*numbers)


EARLIEST_MESSAGE = MessageId(*EARLIEST)
LATEST_MESSAGE = MessageId(*LATEST)
