"""The fields of a protobuf message, one by one: written, and read in their usual form. Pure.

Protobuf reads more than this: tags of more than two bytes, groups, numbers of a fixed size. Who
meets what is not read here asks it.
"""

import re
from collections.abc import Iterator

from magnetar.model.varint import VARINT, varint, varint_value

_FIELD = re.compile(rb"([\x00-\x7f]|[\x80-\xff][\x00-\x7f])(%b)" % VARINT, re.DOTALL).match
_SIZE_BYTES_MAX = 4


class UnusualForm(ValueError):
    """Something that is not read here, be it right or wrong."""


def write_fields(tags: list[int], values: list[int | bytes | list[bytes] | None]) -> bytes:
    """A message of these fields. None is left out; a list is a field that is repeated."""
    pieces = []
    for tag, value in zip(tags, values, strict=True):
        if isinstance(value, int):
            pieces += [varint(tag), varint(value)]
        elif value is not None:
            for content in [value] if isinstance(value, bytes) else value:
                pieces += [varint(tag), varint(len(content)), content]
    return b"".join(pieces)


def fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Tag, number and bytes of each field; with bytes, the number is their size.

    Raises UnusualForm.
    """
    while start < end:
        found = _FIELD(data, start, end)
        if found is None:
            raise UnusualForm
        tag, number = varint_value(found[1]), varint_value(found[2])
        start, content = found.end(), b""
        if tag & 7 == 2:
            content = data[start : start + number] if number <= end - start else b""
            start += number
        if tag & 7 not in {0, 2} or start > end or (tag & 7 and len(found[2]) > _SIZE_BYTES_MAX):
            raise UnusualForm
        yield tag, number, content


def is_pair(data: bytes) -> bool:
    """Whether it is a KeyValue of key and value and nothing else: both are required."""
    try:
        return [tag for tag, _, _ in fields(data, 0, len(data))] == [0x0A, 0x12]
    except UnusualForm:
        return False
