"""Protobuf's integers of variable length: seven bits a byte, the lowest first. Pure.

Every byte but the last has its top bit set.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from struct import Struct

BLOCK = 1 << 14  # the numbers of two bytes; greater ones share all but their two lowest groups


def _encode(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


_SMALL = [_encode(number) for number in range(BLOCK)]
_LOW = [bytes((number & 0x7F | 0x80, number >> 7 | 0x80)) for number in range(BLOCK)]

# Byte by byte, for each value of the lowest 14 bits: the lowest group, the one above it with more
# to come, and the same as the last of all.
_LOWEST = bytes(number & 0x7F | 0x80 for number in range(BLOCK))
_ABOVE = bytes(number >> 7 | 0x80 for number in range(BLOCK))
_ABOVE_LAST = bytes(number >> 7 for number in range(BLOCK))


def varint(number: int) -> bytes:
    """``number`` as protobuf writes it. A negative one counts down from 2**64."""
    if 0 <= number < BLOCK:
        return _SMALL[number]
    if 0 < number < 1 << 21:
        return bytes((number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14))
    return _encode(number & 0xFFFF_FFFF_FFFF_FFFF)


def varint_value(data: bytes) -> int:
    """The number that ``data``, exactly one varint, stands for."""
    if len(data) == 1:
        return data[0]
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
    return number


@dataclass(slots=True)
class Stretch:
    """Consecutive numbers with varints of one length that differ in their first bytes only.

    They are numbers ``start`` to ``stop`` - 1 of the run they were cut from. ``columns[i]`` holds
    byte i of each of them; ``rest`` is what all of them end with.
    """

    start: int
    stop: int
    columns: tuple[bytes, ...]
    rest: bytes

    @property
    def width(self) -> int:
        """The length of each of the varints."""
        return len(self.columns) + len(self.rest)

    def varints(self) -> list[bytes]:
        """They, one by one."""
        width, count = self.width, self.stop - self.start
        joined = bytearray((bytes(len(self.columns)) + self.rest) * count)
        for index, column in enumerate(self.columns):
            joined[index::width] = column
        return list(chain.from_iterable(Struct(f"{width}s").iter_unpack(joined)))


def similar(first: int, count: int) -> tuple[list[bytes], bytes]:
    """The varints of ``count`` numbers from ``first`` on: how each begins, and how all end.

    Nothing where they are not of one length, or end differently: a few numbers seldom do.
    """
    high, low = divmod(first, BLOCK)
    if low + count > BLOCK or (not high and low < 0x80 < low + count):
        return [], b""
    if high:
        return _LOW[low : low + count], varint(high)
    return _SMALL[low : low + count], b""


def stretches(first: int, count: int) -> Iterator[Stretch]:
    """``count`` numbers from ``first`` on, cut where their varints grow or their rest changes."""
    number, end = first, first + count
    while number < end:
        if number < 0x80:
            stop = min(end, 0x80)
            columns: tuple[bytes, ...] = (bytes(range(number, stop)),)
            rest = b""
        else:
            high, low = divmod(number, BLOCK)
            stop = min(end, (high + 1) * BLOCK)
            part = slice(low, low + stop - number)
            columns = (_LOWEST[part], (_ABOVE if high else _ABOVE_LAST)[part])
            rest = varint(high) if high else b""
        yield Stretch(number - first, stop - first, columns, rest)
        number = stop


VARINT = rb"(?:[\x80-\xff]{0,8}[\x00-\x7f]|[\x80-\xff]{9}[\x00\x01])"
"""For regular expressions: a varint of any form that has no more than 64 bits."""
