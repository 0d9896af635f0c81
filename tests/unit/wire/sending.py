"""Frames of SEND as any client might write them."""

from google_crc32c import value as crc32c

from magnetar.wire.commands import CommandSend, serialize

CHECKSUM = b"\x0e\x01"


def framed(command, payload=b""):
    """A frame of serialised bytes."""
    body = len(command).to_bytes(4) + command + payload
    return len(body).to_bytes(4) + body


def checked(entry):
    return CHECKSUM + crc32c(entry).to_bytes(4) + entry


def send_frame(producer_id, sequence_id, entry, *, checksum=True, **fields):
    command = CommandSend(producer_id=producer_id, sequence_id=sequence_id, **fields)
    return framed(serialize(command), checked(entry) if checksum else entry)
