"""The server name in the first bytes of TLS (RFC 6066), read without taking part in it. Pure."""

from collections.abc import Iterator
from typing import Final

RECORD_MAX: Final = 5 + 16 * 1024
"""Bytes of the record that a ClientHello is in; one in several records has no name here."""
_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 22, 1, 0, 0


def size_of_record(begin: bytes) -> int:
    """The bytes of the record that begins so; 0 where it is none of a handshake."""
    if len(begin) < 5 or begin[0] != _HANDSHAKE:
        return 0
    return min(5 + int.from_bytes(begin[3:5], "big"), RECORD_MAX)


def server_name(record: bytes) -> str | None:
    """The name by which a client greets; None where it says none, or it is no ClientHello."""
    try:
        if record[0] != _HANDSHAKE or record[5] != _CLIENT_HELLO:
            return None
        at = 5 + 4 + 2 + 32  # Behind the heads of record and message, version and random.
        at += 1 + record[at]  # The session's id.
        at += 2 + int.from_bytes(record[at : at + 2], "big")  # Ciphers.
        at += 1 + record[at]  # Compressions.
        extensions = record[at + 2 : at + 2 + int.from_bytes(record[at : at + 2], "big")]
        for kind, data in _pairs(extensions, 2):
            if kind == _SERVER_NAME:
                names = dict(_pairs(data[2:], 1))
                return names[_HOST_NAME].decode("ascii") if _HOST_NAME in names else None
    except (IndexError, UnicodeDecodeError):
        return None
    return None


def _pairs(data: bytes, kind_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The kinds and contents of what lies one behind the other."""
    at = 0
    while at + kind_bytes + 2 <= len(data):
        kind = int.from_bytes(data[at : at + kind_bytes], "big")
        at += kind_bytes
        size = int.from_bytes(data[at : at + 2], "big")
        yield kind, data[at + 2 : at + 2 + size]
        at += 2 + size
