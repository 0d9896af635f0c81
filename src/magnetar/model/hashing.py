"""Pulsar's hashes, which must be the same in every client and broker. Pure."""

from collections.abc import Iterable
from struct import unpack_from

from google_crc32c import value as crc32c

_POSITIVE = 0x7FFF_FFFF  # Java's hashes are signed, but Pulsar uses them without the sign.
_WORD = 0xFFFF_FFFF


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


def topics_hash(topics: Iterable[str]) -> str:
    """The hash by which a client knows whether a list of topics changed, in any order."""
    checksum: int = crc32c(",".join(sorted(topics)).encode())
    return checksum.to_bytes(4, "little").hex()
