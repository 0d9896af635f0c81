"""Sends of a run of entries. Pure.

totalSize(4) commandSize(4) 08 06 32 size  08 producer 10 sequence [18 messages]  0e 01 checksum(4)
entry
"""

from struct import Struct

from magnetar.model.varint import varint

from .messages import JOINED_SIZE_MAX

_SIZES = Struct(">II").pack


def send_frames(
    producer_id: int,
    sequence_id: int,
    data: list[bytes],
    checksums: list[int],
    counts: list[int],
) -> list[bytes]:
    """One SEND for each entry, with ascending sequence ids: as pieces, one behind the other.

    ``counts`` are how many messages each entry holds.
    """
    if not len(data) == len(checksums) == len(counts):
        raise ValueError("lists of different lengths")
    before = b"\x08%b\x10" % varint(producer_id)
    pieces = []
    for index, entry in enumerate(data):
        messages = b"" if counts[index] == 1 else b"\x18" + varint(counts[index])
        send = b"%b%b%b" % (before, varint(sequence_id + index), messages)
        command = b"\x08\x06\x32%c%b" % (len(send), send)
        sizes = _SIZES(10 + len(command) + len(entry), len(command))
        pieces += [b"%b%b\x0e\x01%b" % (sizes, command, checksums[index].to_bytes(4)), entry]
    joined = sum(map(len, pieces)) < JOINED_SIZE_MAX * len(data)
    return [b"".join(pieces)] if joined else pieces
