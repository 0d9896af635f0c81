"""Batches as columns: for many messages at once, what is each one's own. Pure.

A column is a few buffers as Arrow has them: numbers in the machine's order, bits with the lowest of
a byte first, and for bytes the int32 places where each row's begin, and the last one's end.
"""

import re
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Final, NamedTuple, TypeAlias

from magnetar.model.varint import VARINT, varint_value

from .batches import unpack, usual_head
from .fields import fields

VALUE: Final = 1
KEY: Final = 2
ORDERING_KEY: Final = 4
EVENT_TIME: Final = 8
SEQUENCE_ID: Final = 16
PROPERTIES: Final = 32

_SIZE_MAX: Final = 2**31 - 1

# The head of a message that says nothing but its size and its sequence id.
_LEAST: Final = re.compile(
    rb"\x18[\x80-\xff]{0,3}[\x00-\x7f]\x40(%b)" % VARINT, re.DOTALL
).fullmatch
_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")

_Pairs: TypeAlias = Sequence[tuple[bytes, bytes]]


class _Own(NamedTuple):
    """What messages say of themselves, None where one does not; each thing is a list."""

    keys: Sequence[bytes | None]
    base64: Sequence[bool]
    ordering_keys: Sequence[bytes | None]
    event_times: Sequence[int | None]
    sequence_ids: Sequence[int | None]
    properties: Sequence[_Pairs]


def columns(  # noqa: PLR0917 - the compiled ones have no others
    payloads: list[bytes],
    starts: list[int],
    counts: list[int],
    firsts: list[int],
    stops: list[int],
    wanted: int,
) -> tuple[int, list[bytes]] | None:
    """How many rows there are, and the buffers of the ``wanted`` columns, in this order.

        VALUE         places, bytes
        KEY           bits: there is one, bits: it is written as base64, places, bytes
        ORDERING_KEY  bits: there is one, places, bytes
        EVENT_TIME    bits: there is one, uint64s
        SEQUENCE_ID   bits: there is one, uint64s
        PROPERTIES    places of rows among them, places and bytes of names, the same of texts

    Payload ``i`` holds ``counts[i]`` messages from ``starts[i]`` on, of which those from
    ``firsts[i]`` to before ``stops[i]`` become rows. None where a payload ends too soon, or has a
    head of an unusual form. Raises ValueError for 2 GiB in a column.
    """
    if not len(payloads) == len(starts) == len(counts) == len(firsts) == len(stops):
        raise ValueError("lists of different lengths")
    values: list[bytes] = []
    heads: list[bytes] = []
    places = zip(payloads, starts, counts, firsts, stops, strict=True)
    for payload, start, count, first, stop in places:
        if min(start, first, stop) < 0:
            raise ValueError("a size or position below 0")
        if start > len(payload):
            return None
        _, some_heads, some_values = unpack(payload, start, count)
        if len(some_heads) < count:
            return None
        heads += some_heads[first:stop]
        values += some_values[first:stop]
    buffers = _strings(values) if wanted & VALUE else []
    if wanted > VALUE:
        buffers += _own_columns(_own(heads), wanted)
    return len(values), buffers


def _own_columns(own: _Own, wanted: int) -> list[bytes]:
    buffers = []
    if wanted & KEY:
        buffers += [_given(own.keys), _bits(own.base64), *_strings(own.keys)]
    if wanted & ORDERING_KEY:
        buffers += [_given(own.ordering_keys), *_strings(own.ordering_keys)]
    if wanted & EVENT_TIME:
        buffers += [_given(own.event_times), _numbers(own.event_times)]
    if wanted & SEQUENCE_ID:
        buffers += [_given(own.sequence_ids), _numbers(own.sequence_ids)]
    if wanted & PROPERTIES:
        pairs = list(chain.from_iterable(own.properties))
        buffers += [_places(map(len, own.properties))]
        buffers += [*_strings([name for name, _ in pairs]), *_strings([text for _, text in pairs])]
    return buffers


def _own(heads: list[bytes]) -> _Own:
    least = list(map(_LEAST, heads))
    if not heads or None in least:
        return _Own(*(zip(*map(_said, heads), strict=True) if heads else [()] * len(_Own._fields)))
    nothing = [None] * len(heads)
    numbers = [_number(found[1]) for found in least if found is not None]
    return _Own(nothing, [False] * len(heads), nothing, nothing, numbers, [()] * len(heads))


def _said(
    head: bytes,
) -> tuple[bytes | None, bool, bytes | None, int | None, int | None, _Pairs]:
    """What one message says, in the order of ``_Own``."""
    usual = usual_head(head, 0, len(head))
    if usual is not None:
        event_time = None if usual.event_time is None else varint_value(usual.event_time)
        return usual.key, False, None, event_time, _number(usual.sequence_id), usual.properties
    numbers: dict[int, int] = {}
    contents: dict[int, bytes] = {}
    properties = []
    for tag, number, content in fields(head, 0, len(head)):
        if tag == 0x0A:
            (_, _, name), (_, _, text) = fields(content, 0, len(content))
            properties.append((name, text))
        elif tag & 7:
            contents[tag] = content
        else:
            numbers[tag] = number
    coded = bool(numbers.get(0x30))
    key, ordering_key = contents.get(0x12), contents.get(0x3A)
    return key, coded, ordering_key, numbers.get(0x28), numbers.get(0x40), properties


def _number(data: bytes) -> int:
    """As ``varint_value``: most sequence ids have two or three bytes."""
    if len(data) == 2:
        return data[0] & 0x7F | data[1] << 7
    if len(data) == 3:
        return data[0] & 0x7F | (data[1] & 0x7F) << 7 | data[2] << 14
    return varint_value(data)


def _strings(rows: Sequence[bytes | None]) -> list[bytes]:
    given = [row or b"" for row in rows]
    return [_places(map(len, given)), b"".join(given)]


def _places(sizes: Iterable[int]) -> bytes:
    places = list(accumulate(sizes, initial=0))
    if places[-1] > _SIZE_MAX:
        raise ValueError("more bytes than one column has room for: 2 GiB")
    return array("i", places).tobytes()


def _numbers(rows: Sequence[int | None]) -> bytes:
    return array("Q", [row or 0 for row in rows]).tobytes()


def _given(rows: Sequence[object]) -> bytes:
    """A bit for each row: it is not None."""
    if None not in rows:
        return _bits([True] * len(rows))
    return _bits([row is not None for row in rows])


def _bits(rows: Sequence[bool]) -> bytes:
    digits = bytes(rows).translate(_DIGITS)[::-1]
    return int(digits or b"0", 2).to_bytes((len(rows) + 7) // 8, "little")
