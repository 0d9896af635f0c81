"""Digests of entries, as they are stored at bookies, and the keys that a password becomes. Pure.

A digest covers the first 32 bytes of an entry (ledger id, entry id, last confirmed, length) and its
payload.
"""

import hmac
import zlib
from collections.abc import Callable
from hashlib import sha1
from typing import Final

from google_crc32c import extend, value

from .ledger_metadata import DigestType

Digest = Callable[[bytes, bytes], bytes]
"""The digest of a head and a payload."""

SIZES: Final = {
    DigestType.CRC32: 8,
    DigestType.HMAC: 20,
    DigestType.CRC32C: 4,
    DigestType.DUMMY: 0,
}


def master_key(password: bytes) -> bytes:
    """What a bookie knows a ledger's writer by: 20 bytes."""
    return sha1(b"ledger" + password, usedforsecurity=False).digest()


def digest_of(kind: DigestType, password: bytes) -> Digest:
    """The digest of a ledger's entries."""
    if kind is DigestType.CRC32C:
        return _crc32c
    if kind is DigestType.CRC32:
        return _crc32
    if kind is DigestType.HMAC:
        key = sha1(b"mac" + password, usedforsecurity=False).digest()
        return lambda head, payload: hmac.digest(key, head + payload, "sha1")
    return _none


def _crc32c(head: bytes, payload: bytes) -> bytes:
    return int(extend(value(head), payload)).to_bytes(4, "big")


def _crc32(head: bytes, payload: bytes) -> bytes:
    return zlib.crc32(payload, zlib.crc32(head)).to_bytes(8, "big")


def _none(_head: bytes, _payload: bytes) -> bytes:
    return b""
