"""Receipts for a run of sends. Pure.

totalSize(4) commandSize(4) 08 07 3a size  08 producer 10 sequence  1a size { 08 ledger
10 entry }  20 highest
"""

from magnetar.model.varint import varint


def send_receipts(  # noqa: PLR0917 - the compiled ones have no others
    producer_id: int,
    sequences: list[int],
    highest: list[int],
    ledger_id: int,
    first_entry_id: int,
    step: int = 1,
) -> bytes:
    """One SEND_RECEIPT for each send. ``highest`` has 0 for sends without a highest sequence id.

    ``step`` is from one entry's id to the next; 0 where nothing was stored.
    """
    before = b"\x08%b\x10" % varint(producer_id)
    between = b"\x08%b\x10" % varint(ledger_id)
    frames = []
    for index, (sequence_id, top) in enumerate(zip(sequences, highest, strict=True)):
        entry_id = between + varint(first_entry_id + index * step)
        receipt = b"%b%b\x1a%c%b\x20%b" % (
            before,
            varint(sequence_id),
            len(entry_id),
            entry_id,
            varint(top),
        )
        size = len(receipt)  # At most 57.
        frames.append(b"\0\0\0%c\0\0\0%c\x08\x07\x3a%c%b" % (size + 8, size + 4, size, receipt))
    return b"".join(frames)
