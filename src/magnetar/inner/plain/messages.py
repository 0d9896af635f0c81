"""Messages for a consumer out of a run of entries. Pure.

totalSize(4) commandSize(4) 08 09 4a size  08 consumer 12 size { 08 ledger 10 entry
18 partition }  more  0e 01 checksum(4) entry
"""

from struct import Struct

from magnetar.model.varint import varint

# Entries that are smaller on average, heads and all, are joined into one piece: copying them costs
# less than handing each of them to the transport.
JOINED_SIZE_MAX = 4096

_SIZES = Struct(">II").pack


def message_frames(  # noqa: PLR0917 - the compiled ones have no others
    consumer_id: int,
    ledger_id: int,
    first_entry_id: int,
    partition: int,
    data: list[bytes],
    checksums: list[int],
    picked: list[int] | None,
    more: list[bytes] | None,
    step: int = 1,
) -> list[bytes]:
    """One MESSAGE for each entry, or for those ``picked``: as pieces, one behind the other.

    ``more`` is what each command says behind the message's id: more of its fields. ``step``
    is from one entry's id to the next; 0 where nothing was stored.
    """
    if len(data) != len(checksums):
        raise ValueError("lists of different lengths")
    indexes = range(len(data)) if picked is None else picked
    consumer, ledger, part = varint(consumer_id), varint(ledger_id), varint(partition)
    pieces = []
    for index, fields in zip(indexes, [b""] * len(indexes) if more is None else more, strict=True):
        message_id = b"\x08%b\x10%b\x18%b" % (ledger, varint(first_entry_id + index * step), part)
        message = b"\x08%b\x12%c%b%b" % (consumer, len(message_id), message_id, fields)
        command = b"\x08\x09\x4a%b%b" % (varint(len(message)), message)
        sizes = _SIZES(10 + len(command) + len(data[index]), len(command))
        head = b"%b%b\x0e\x01%b" % (sizes, command, checksums[index].to_bytes(4))
        pieces += [head, data[index]]
    joined = sum(map(len, pieces)) < JOINED_SIZE_MAX * len(indexes)
    return [b"".join(pieces)] if joined else pieces
