"""Batches as columns: for many messages at once, what is each one's own. Pure.

A column is a few buffers as Arrow has them: numbers in the machine's order, bits with the lowest of
a byte first, and for bytes the int32 places where each row's begin, and the last one's end.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from .batches import unpack
from .fields import fields

VALUE: Final = 1
KEY: Final = 2
ORDERING_KEY: Final = 4
EVENT_TIME: Final = 8
SEQUENCE_ID: Final = 16
PROPERTIES: Final = 32

_SIZE_MAX: Final = 2**31 - 1


class _Own(NamedTuple):
    """What a message says of itself; None: it does not."""

    key: bytes | None
    base64: bool
    ordering_key: bytes | None
    event_time: int | None
    sequence_id: int | None
    properties: list[tuple[bytes, bytes]]


def columns(
    payloads: list[bytes], counts: list[int], firsts: list[int], stops: list[int], wanted: int
) -> tuple[int, list[bytes]] | None:
    """How many rows there are, and the buffers of the ``wanted`` columns, in this order.

        VALUE         places, bytes
        KEY           bits: there is one, bits: it is written as base64, places, bytes
        ORDERING_KEY  bits: there is one, places, bytes
        EVENT_TIME    bits: there is one, uint64s
        SEQUENCE_ID   bits: there is one, uint64s
        PROPERTIES    places of rows among them, places and bytes of names, the same of texts

    Payload ``i`` holds ``counts[i]`` messages, of which those from ``firsts[i]`` to before
    ``stops[i]`` become rows. None where a payload ends too soon, or has a head of an unusual form.
    Raises ValueError for 2 GiB in a column.
    """
    if not len(payloads) == len(counts) == len(firsts) == len(stops):
        raise ValueError("lists of different lengths")
    values: list[bytes] = []
    heads: list[bytes] = []
    for payload, count, first, stop in zip(payloads, counts, firsts, stops, strict=True):
        if min(first, stop) < 0:
            raise ValueError("a size or position below 0")
        _, some_heads, some_values = unpack(payload, 0, count)
        if len(some_heads) < count:
            return None
        heads += some_heads[first:stop]
        values += some_values[first:stop]
    buffers = _strings(values) if wanted & VALUE else []
    if wanted > VALUE:
        buffers += _own_columns([_own(head) for head in heads], wanted)
    return len(values), buffers


def _own_columns(own: list[_Own], wanted: int) -> list[bytes]:
    buffers = []
    if wanted & KEY:
        buffers += [_bits(each.key is not None for each in own)]
        buffers += [_bits(each.base64 for each in own), *_strings(each.key or b"" for each in own)]
    if wanted & ORDERING_KEY:
        buffers += [_bits(each.ordering_key is not None for each in own)]
        buffers += _strings(each.ordering_key or b"" for each in own)
    if wanted & EVENT_TIME:
        buffers += _numbers([each.event_time for each in own])
    if wanted & SEQUENCE_ID:
        buffers += _numbers([each.sequence_id for each in own])
    if wanted & PROPERTIES:
        pairs = [pair for each in own for pair in each.properties]
        buffers += [_places(len(each.properties) for each in own)]
        buffers += [*_strings(name for name, _ in pairs), *_strings(text for _, text in pairs)]
    return buffers


def _own(head: bytes) -> _Own:
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
    return _Own(
        contents.get(0x12),
        bool(numbers.get(0x30)),
        contents.get(0x3A),
        numbers.get(0x28),
        numbers.get(0x40),
        properties,
    )


def _strings(rows: Iterable[bytes]) -> list[bytes]:
    rows = list(rows)
    return [_places(map(len, rows)), b"".join(rows)]


def _places(sizes: Iterable[int]) -> bytes:
    places = list(accumulate(sizes, initial=0))
    if places[-1] > _SIZE_MAX:
        raise ValueError("more bytes than one column has room for: 2 GiB")
    return array("i", places).tobytes()


def _numbers(rows: list[int | None]) -> list[bytes]:
    return [
        _bits(row is not None for row in rows),
        array("Q", [row or 0 for row in rows]).tobytes(),
    ]


def _bits(rows: Iterable[bool]) -> bytes:
    return bytes(_bytes_of_bits(list(rows)))


def _bytes_of_bits(rows: list[bool]) -> Iterator[int]:
    for start in range(0, len(rows), 8):
        yield sum(bit << place for place, bit in enumerate(rows[start : start + 8]))
