"""Packs messages into one payload, and takes them out again. Pure.

For each message ``size(4) SingleMessageMetadata body``: the size is that of the metadata, which in
turn tells that of the body. The metadata, here a *head*, says what is a message's own: mostly no
more than ``18 size 40 sequence``.
"""

import re
from itertools import repeat
from typing import NamedTuple, TypeVar

from magnetar.model.varint import VARINT, varint, varint_value

from .fields import UnusualForm, fields, is_pair, write_fields

R = TypeVar("R", bound=tuple[object, int, bytes, bytes])

# Of a head: properties, key, body size and so on, in the order in which they are written.
HEAD_TAGS = [0x0A, 0x12, 0x18, 0x20, 0x28, 0x30, 0x3A, 0x40, 0x48]
_PROPERTIES = 0x0A
_BODY_SIZE = 0x18
_OTHERS = {0x12, 0x20, 0x28, 0x30, 0x3A, 0x40, 0x48, 0x50}  # Keys, times, numbers and flags.
_SIZE_MAX = 2**31 - 1

# What most messages begin with: the size of a head, and the head, of body size and sequence id.
_USUAL = re.compile(
    rb"\0\0\0([\4-\x7f])\x18([\x80-\xff]{0,3}[\x00-\x7f])\x40%b" % VARINT, re.DOTALL
).match


# What follows properties and key in most heads: body size, event time, sequence id.
_REST = re.compile(
    rb"\x18([\x80-\xff]{0,3}[\x00-\x7f])(?:\x28(%b))?\x40(%b)" % (VARINT, VARINT), re.DOTALL
).fullmatch
_SHORT = 0x7F  # A size of one byte.


class UsualHead(NamedTuple):
    """A head as most clients write it, taken apart; numbers as varints."""

    properties: list[tuple[bytes, bytes]]
    key: bytes | None
    size: bytes
    event_time: bytes | None
    sequence_id: bytes


class Single(NamedTuple):
    """The metadata of a message in a batch."""

    key: str | None = None
    key_b64: bool = False  # the key is bytes, written as base64
    ordering_key: bytes | None = None
    properties: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    event_time_ms: int | None = None
    sequence_id: int | None = None
    null_value: bool = False
    compacted_out: bool = False  # compaction removed it; its place in the batch remains


_NOTHING = Single()


def pack(
    payloads: list[bytes], first_sequence_id: int | None, singles: list[Single | None] | None
) -> bytes:
    """The messages, numbered from ``first_sequence_id`` on, if that is not None.

    ``singles`` is what each says of itself; a sequence id there goes before the counted one.
    """
    pieces = []
    said = [None] * len(payloads) if singles is None else singles
    for index, (payload, single) in enumerate(zip(payloads, said, strict=True)):
        counted = None if first_sequence_id is None else first_sequence_id + index
        head = _head(single or _NOTHING, len(payload), counted)
        pieces += [len(head).to_bytes(4), head, payload]
    return b"".join(pieces)


def _head(single: Single, size: int, sequence_id: int | None) -> bytes:
    if single is _NOTHING and sequence_id is not None:
        return b"\x18%b\x40%b" % (varint(size), varint(sequence_id))
    return write_fields(
        HEAD_TAGS,
        [
            [
                write_fields([0x0A, 0x12], [name.encode(), value.encode()])
                for name, value in single.properties.items()
            ],
            None if single.key is None else single.key.encode(),
            size,
            single.compacted_out or None,
            single.event_time_ms,
            single.key_b64 or None,
            single.ordering_key,
            sequence_id if single.sequence_id is None else single.sequence_id,
            single.null_value or None,
        ],
    )


def unpack(payload: bytes, position: int, count_max: int) -> tuple[int, list[bytes], list[bytes]]:
    """Where the messages from ``position`` on end, and heads and bodies of so many at most.

    Stops at the first one that does not end within the payload, or has a head of an unusual form.
    """
    if not 0 <= position <= len(payload) or count_max < 0:
        raise ValueError(f"no position or size: {position}, {count_max}")
    heads: list[bytes] = []
    bodies: list[bytes] = []
    size: int | None
    sizes: dict[bytes, int] = {}  # By what a head says.
    while len(heads) < count_max and len(payload) - position >= 4:
        start = position + 4
        usual = _USUAL(payload, position)
        if usual is not None and usual.end() == start + usual[1][0]:
            body, told = usual.end(), usual[2]
            size = sizes.get(told)
            if size is None:
                size = sizes[told] = varint_value(told)
        else:
            body = start + int.from_bytes(payload[position:start])
            size = None
            if body <= len(payload):
                head = usual_head(payload, start, body)
                size = varint_value(head.size) if head else _body_size(payload, start, body)
        if size is None or body + size > len(payload):
            break
        heads.append(payload[start:body])
        position = body + size
        bodies.append(payload[body:position])
    return position, heads, bodies


def unpack_as(
    kind: type[R], owner: object, payload: bytes, position: int, count_max: int
) -> list[R]:
    """The messages from ``position`` on, as ``unpack``: of each owner, index, head and body.

    ``kind`` is a kind of tuple, which is made without asking its class.
    """
    _, heads, bodies = unpack(payload, position, count_max)
    rows = zip(repeat(owner), range(len(heads)), heads, bodies, strict=False)
    return list(map(tuple.__new__, repeat(kind), rows))


def usual_head(data: bytes, start: int, end: int) -> UsualHead | None:
    """The head from ``start`` to ``end``; None for one of another form, be it right or wrong."""
    at, properties, key = start, [], None
    while at + 6 <= end and data[at] == _PROPERTIES:
        stop, text = at + 2 + data[at + 1], at + 6 + data[at + 3]
        if data[at + 1] > _SHORT or data[at + 2] != 0x0A or not text <= stop <= end:
            return None
        if data[text - 2] != 0x12 or data[text - 1] != stop - text:
            return None
        properties.append((data[at + 4 : text - 2], data[text:stop]))
        at = stop
    if at + 2 <= end and data[at] == 0x12 and data[at + 1] <= _SHORT:
        key = data[at + 2 : at + 2 + data[at + 1]]
        at += 2 + data[at + 1]
    rest = _REST(data, at, end)
    return UsualHead(properties, key, *rest.groups()) if rest else None


def _body_size(payload: bytes, start: int, end: int) -> int | None:
    """What the head from ``start`` to ``end`` tells; None for one of an unusual form."""
    size = None
    try:
        for tag, number, content in fields(payload, start, end):
            if tag == _BODY_SIZE and number <= _SIZE_MAX:
                size = number
            elif tag not in _OTHERS and not (tag == _PROPERTIES and is_pair(content)):
                return None
    except UnusualForm:
        return None
    return size
