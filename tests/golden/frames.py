"""A frame as plain data: the command's name and the fields that were set, entry included."""

from typing import Any, NamedTuple

import google_crc32c
from google.protobuf.message import DecodeError, Message

from magnetar.proto import PulsarApi_pb2 as pb

PAYLOAD_SHOWN_MAX = 200
CHECKSUM_MAGIC = b"\x0e\x01"


class Decoded(NamedTuple):
    command: str
    fields: dict[str, Any]


def split(frame: bytes) -> tuple[bytes, bytes]:
    """The serialized command, and what follows it."""
    end = 8 + int.from_bytes(frame[4:8], "big")
    return frame[8:end], frame[end:]


def join(command: bytes, rest: bytes) -> bytes:
    body = len(command).to_bytes(4, "big") + command + rest
    return len(body).to_bytes(4, "big") + body


def parse(frame: bytes) -> pb.BaseCommand | None:
    """The command, or None for bytes that are none: some conversations send such on purpose."""
    try:
        command = pb.BaseCommand.FromString(split(frame)[0])
    except DecodeError:
        return None
    return command if command.IsInitialized() else None


def decode(frame: bytes) -> Decoded:
    command = parse(frame)
    if command is None:
        return Decoded("UNREADABLE", {"hex": frame.hex()[:PAYLOAD_SHOWN_MAX]})
    name = pb.BaseCommand.Type.Name(command.type)
    descriptors = command.DESCRIPTOR.fields_by_number
    descriptor = descriptors.get(command.type)
    fields = plain(getattr(command, descriptor.name)) if descriptor is not None else {}
    rest = split(frame)[1]
    if rest:
        fields["entry"] = decode_entry(rest)
    return Decoded(name, fields)


def decode_entry(data: bytes) -> dict[str, Any]:
    checksum = "none"
    if data[:2] == CHECKSUM_MAGIC:
        covered = data[6:]
        right = google_crc32c.value(covered) == int.from_bytes(data[2:6], "big")
        checksum, data = ("right" if right else "wrong"), covered
    end = 4 + int.from_bytes(data[:4], "big")
    try:
        metadata: Any = plain(pb.MessageMetadata.FromString(data[4:end]))
    except DecodeError:
        metadata = data[4:end].hex()
    payload = data[end:]
    shown = payload.hex()[:PAYLOAD_SHOWN_MAX]
    return {
        "checksum": checksum,
        "metadata": metadata,
        "payload": shown,
        "payload_size": len(payload),
    }


def plain(message: Message) -> dict[str, Any]:
    """Fields that were set, by name; enums by name, bytes as hex, huge uint64 as negative."""
    return {
        field.name: (
            [plain_value(field, item) for item in value]
            if field.is_repeated
            else plain_value(field, value)
        )
        for field, value in message.ListFields()
    }


def plain_value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return plain(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known is not None else value
    if isinstance(value, bytes):
        return value.hex()
    if field.type == field.TYPE_UINT64 and value >= 1 << 63:
        return value - (1 << 64)
    return value
