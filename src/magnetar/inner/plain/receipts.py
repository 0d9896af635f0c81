"""Receipts for a run of sends, stored as consecutive entries. Pure.

totalSize(4) commandSize(4) 08 07 3a size  08 producer 10 sequence  1a size { 08 ledger
10 entry }  20 highest
"""

from struct import Struct

from magnetar.inner.varint import varint

_SIZES = Struct(">II").pack


def send_receipts(
    producer_id: int,
    sequences: list[int],
    highest: list[int],
    ledger_id: int,
    first_entry_id: int,
) -> bytes:
    """One SEND_RECEIPT for each send. ``highest`` has 0 for sends without a highest sequence id."""
    producer, ledger = varint(producer_id), varint(ledger_id)
    frames = []
    for index, (sequence, top) in enumerate(zip(sequences, highest, strict=True)):
        message_id = b"\x08%b\x10%b" % (ledger, varint(first_entry_id + index))
        receipt = b"\x08%b\x10%b\x1a%c%b\x20%b" % (
            producer,
            varint(sequence),
            len(message_id),
            message_id,
            varint(top),
        )
        sizes = _SIZES(8 + len(receipt), 4 + len(receipt))
        frames.append(b"%b\x08\x07\x3a%c%b" % (sizes, len(receipt), receipt))
    return b"".join(frames)
