"""Pulsar's hashes, which must be the same in every client and broker. Pure."""

from collections.abc import Iterable
from struct import unpack_from

from google_crc32c import value as crc32c

_POSITIVE = 0x7FFF_FFFF  # Java's hashes are signed, but Pulsar uses them without the sign.
_WORD = 0xFFFF_FFFF
_LONG = 0xFFFF_FFFF_FFFF_FFFF
_GOLDEN = 0x9E37_79B9_7F4A_7C15  # Boost's, and its square.
_FACTOR = 0xDF44_2D22_CE48_59B9


def murmur3_32(data: bytes) -> int:
    """MurmurHash3, x86 32 bits, seed 0, without its highest bit."""
    size = len(data)
    hashed = 0
    for word in unpack_from(f"<{size >> 2}I", data):
        mixed = word * 0xCC9E2D51 & _WORD
        mixed = (mixed << 15 | mixed >> 17) * 0x1B873593 & _WORD
        hashed ^= mixed
        hashed = ((hashed << 13 | hashed >> 19) & _WORD) * 5 + 0xE6546B64 & _WORD
    if size & 3:
        mixed = int.from_bytes(data[size & ~3 :], "little") * 0xCC9E2D51 & _WORD
        hashed ^= (mixed << 15 | mixed >> 17) * 0x1B873593 & _WORD
    hashed ^= size
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & _WORD
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & _WORD
    return (hashed ^ hashed >> 16) & _POSITIVE


def java_string_hash(text: str) -> int:
    """``String.hashCode`` of Java, over UTF-16 units, without its highest bit."""
    units = text.encode("utf-16-le", "surrogatepass")
    hashed = 0
    for unit in unpack_from(f"<{len(units) >> 1}H", units):
        hashed = hashed * 31 + unit & _WORD
    return hashed & _POSITIVE


def boost_hash(data: bytes) -> int:
    """``boost::hash`` of a string, since Boost 1.81 on 64 bits, as an int without its sign.

    The hash of Pulsar's client in C++, and so of those over it. Eight bytes are a word, the first
    one the lowest; the rest is a word of its own.
    """
    mixed = _folded(_GOLDEN)
    hashed = mixed ^ len(data)
    for word in [*unpack_from(f"<{len(data) >> 3}Q", data), _boost_rest(data[len(data) & ~7 :])]:
        mixed += _GOLDEN
        hashed ^= _folded(word + mixed)
    return _folded(hashed + mixed) & _POSITIVE


def _folded(number: int) -> int:
    product = (number & _LONG) * _FACTOR
    return (product & _LONG) ^ product >> 64


def _boost_rest(rest: bytes) -> int:
    size = len(rest)
    if size >= 4:  # Two halves, which overlap: every bit of both counts.
        low, high = int.from_bytes(rest[:4], "little"), int.from_bytes(rest[-4:], "little")
        return high << 8 * (size - 4) & _LONG | low
    second, third = size - 1 & 2, size >> 1
    return rest[second] << 8 * second | rest[third] << 8 * third | rest[0] if rest else 0


def topics_hash(topics: Iterable[str]) -> str:
    """The hash by which a client knows whether a list of topics changed, in any order."""
    checksum: int = crc32c(",".join(sorted(topics)).encode())
    return checksum.to_bytes(4, "little").hex()
