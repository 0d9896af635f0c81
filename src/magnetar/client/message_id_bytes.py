"""The id of a message as bytes: the MessageIdData of the protocol, as all clients write it."""

import re
from typing import Final

from magnetar.inner.varint import VARINT, varint, varint_value
from magnetar.model.position import MessageId, Position, signed

from .message import ChunkedMessageId

# The fields of MessageIdData in the protocol: tags of numbers, and that of the first chunk's id.
_LEDGER, _ENTRY, _PARTITION, _BATCH_INDEX, _BATCH_SIZE = 0x08, 0x10, 0x18, 0x20, 0x30
_FIRST_CHUNK: Final = 0x3A
_FIELD: Final = re.compile(
    rb"([\x08\x10\x18\x20\x28\x30])(" + VARINT + rb")|\x3a([\x00-\x7f])", re.DOTALL
)


def serialized(message_id: MessageId) -> bytes:
    """The id as bytes."""
    written = _position(message_id.position)
    if message_id.partition >= 0:
        written += bytes((_PARTITION,)) + varint(message_id.partition)
    if message_id.batch_index >= 0:
        written += bytes((_BATCH_INDEX,)) + varint(message_id.batch_index)
    if message_id.batch_size:
        written += bytes((_BATCH_SIZE,)) + varint(message_id.batch_size)
    if isinstance(message_id, ChunkedMessageId):
        first = _position(message_id.first_chunk)
        written += bytes((_FIRST_CHUNK, len(first))) + first
    return written


def _position(position: Position) -> bytes:
    return b"%c%b%c%b" % (_LEDGER, varint(position.ledger_id), _ENTRY, varint(position.entry_id))


def parsed(data: object) -> MessageId:
    """Read what ``serialized`` wrote, here or in another client. Raises ValueError, TypeError."""
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
            first_chunk = parsed(data[at:end]).position
            at = end
        else:
            numbers[field[1][0]] = signed(varint_value(field[2]))
    if at != len(data) or _LEDGER not in numbers or _ENTRY not in numbers:
        raise _not_an_id(data)
    ledger_id, entry_id = numbers[_LEDGER], numbers[_ENTRY]
    partition = numbers.get(_PARTITION, -1)
    if first_chunk is not None:
        return ChunkedMessageId.of(ledger_id, entry_id, partition, first_chunk=first_chunk)
    return MessageId(
        ledger_id,
        entry_id,
        partition,
        numbers.get(_BATCH_INDEX, -1),
        numbers.get(_BATCH_SIZE, 0),
    )


def _not_an_id(data: bytes) -> ValueError:
    return ValueError(f"Failed to parse serialized message id {data!r}")
