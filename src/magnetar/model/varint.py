"""Protobuf's integers of variable length: seven bits a byte, the lowest first. Pure.

Every byte but the last has its top bit set.
"""


def _encode(number: int) -> bytes:
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


_BYTES = [bytes((number,)) for number in range(1 << 8)]
_SMALL = _BYTES[:0x80] + [low + high for high in _BYTES[1:0x80] for low in _BYTES[0x80:]]
"""Those of one and two bytes."""


def varint(number: int) -> bytes:
    """``number`` as protobuf writes it. A negative one counts down from 2**64."""
    if 0 <= number < 1 << 14:
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


VARINT = rb"(?:[\x80-\xff]{0,8}[\x00-\x7f]|[\x80-\xff]{9}[\x00\x01])"
"""For regular expressions: a varint of any form that has no more than 64 bits."""
