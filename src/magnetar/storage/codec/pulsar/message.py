"""Messages as the values of records: read, compressed or not, with what nobody here knows. Pure.

A broker of Pulsar's may be set to compress its records. What is written here never is.
"""

import struct
from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message

from magnetar.errors import InvalidValue, MagnetarError
from magnetar.message.compression import decompress
from magnetar.proto.ManagedLedger_pb2 import CompressionMetadata

M = TypeVar("M", bound=Message)

SIZE_MAX: Final = 64 * 1024 * 1024
"""Of a record that was compressed: far more than a metadata store takes."""

UNKNOWN: Final = "protobuf"
"""Under which name a record keeps the bytes of what nobody here knows."""

_COMPRESSED: Final = b"\x47\x78"
_SIZE: Final = struct.Struct(">I")


def parse(kind: type[M], value: bytes) -> M:
    """Read a record. Raises InvalidValue."""
    try:
        return parse_entry(kind, _plain(value))
    except MagnetarError as error:
        raise InvalidValue(str(error)) from error


def parse_entry(kind: type[M], value: bytes) -> M:
    """Read what is never compressed. Raises InvalidValue."""
    message = kind()
    try:
        message.ParseFromString(value)
    except DecodeError as error:
        raise InvalidValue(f"it is no {kind.DESCRIPTOR.name}: {error}") from error
    return message


def unknown_of(message: Message, known: tuple[str, ...]) -> dict[str, bytes]:
    """Take ``known`` fields out of a message; return what is left of it."""
    for name in known:
        message.ClearField(name)
    left = message.SerializePartialToString()
    return {UNKNOWN: left} if left else {}


def _plain(value: bytes) -> bytes:
    if not value.startswith(_COMPRESSED):
        return value
    start = len(_COMPRESSED) + _SIZE.size
    if len(value) < start:
        raise InvalidValue(f"it ends after {len(value)} bytes, as something compressed")
    (head_size,) = _SIZE.unpack_from(value, len(_COMPRESSED))
    head = parse_entry(CompressionMetadata, value[start : start + head_size])
    return decompress(
        head.compressionType,
        value[start + head_size :],
        head.uncompressedSize,
        size_max=SIZE_MAX,
    )
