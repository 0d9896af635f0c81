"""The hashes that Pulsar fixes: of keys, of topic names, of lists of topics. Pure."""

import zlib
from collections.abc import Iterable

from google_crc32c import value as crc32c

_MASK = 0xFFFFFFFF
_C1 = 0xCC9E2D51
_C2 = 0x1B873593


def murmur3_32(data: bytes) -> int:
    """MurmurHash3 x86_32 with seed 0, without the sign bit: 0 to 2**31 - 1.

    What Pulsar calls Murmur3_32Hash: slots of keys, rings of consumers, routing of keyed messages.
    """
    return murmur3_32_raw(data) & 0x7FFFFFFF


def murmur3_32_raw(data: bytes) -> int:
    """MurmurHash3 x86_32 with seed 0, all 32 bits."""
    size = len(data)
    body = size & ~3
    h = 0
    for at in range(0, body, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _C1 & _MASK
        k = (k << 15 | k >> 17) * _C2 & _MASK
        h ^= k
        h = ((h << 13 | h >> 19) & _MASK) * 5 + 0xE6546B64 & _MASK
    if size > body:
        k = int.from_bytes(data[body:], "little") * _C1 & _MASK
        h ^= (k << 15 | k >> 17) * _C2 & _MASK
    h ^= size
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return h ^ h >> 16


def java_string_hash(text: str) -> int:
    """Java's ``String.hashCode`` over UTF-16 code units, without the sign bit."""
    data = text.encode("utf-16-be")
    h = 0
    for at in range(0, len(data), 2):
        h = h * 31 + (data[at] << 8 | data[at + 1]) & _MASK
    return h & 0x7FFFFFFF


def bundle_hash(topic: str) -> int:
    """Where a topic's full name falls on its namespace's ring of bundles: CRC-32, 0 to 2**32 - 1."""
    return zlib.crc32(topic.encode())


def topics_hash(topics: Iterable[str]) -> str:
    """What clients compare to learn whether a list of topics changed: 8 hex digits.

    CRC32-C of the sorted names joined by commas, its bytes printed least significant first.
    """
    checksum: int = crc32c(",".join(sorted(topics)).encode())
    return checksum.to_bytes(4, "little").hex()
