"""Receipts for a whole run of sends, column by column. Pure.

The receipts of a run differ in a few bytes only. So one receipt is written and repeated, and each
byte that differs is put into all of them by one assignment to a slice with a stride: the work per
receipt is done by C loops. ``replies.send_receipt`` makes the same bytes one by one.

    totalSize(4) commandSize(4) 08 07 3a size  08 producer 10 sequence  1a size { 08 ledger
    10 entry }  20 highest
"""

from itertools import groupby, repeat
from struct import Struct

from magnetar.message.send_run import SendRun
from magnetar.message.varint import Stretch, stretches, varint

_SIZES = Struct(">II").pack
_NO_HIGHEST = b"\x00"
_SINGLY_MAX = 3  # runs that short are quicker made one by one


def send_receipts(run: SendRun, ledger_id: int, first_entry_id: int) -> bytes:
    """One SEND_RECEIPT for each send of the run, stored as consecutive entries."""
    producer, ledger = varint(run.producer_id), varint(ledger_id)
    sequences, highest = run.sequences, run.highest
    if len(sequences) <= _SINGLY_MAX:
        tops = highest or [_NO_HIGHEST] * len(sequences)
        ids = range(first_entry_id, first_entry_id + len(sequences))
        return b"".join(map(_one, repeat(producer), repeat(ledger), sequences, ids, tops))
    if highest is not None and b"" in highest:
        highest = [number or _NO_HIGHEST for number in highest]
    receipts: list[bytes | bytearray] = []
    for stretch in stretches(first_entry_id, len(run)):
        part = slice(stretch.start, stretch.stop)
        top_part = None if highest is None else highest[part]
        receipts += _of_stretch(producer, ledger, sequences[part], top_part, stretch)
    return b"".join(receipts)


def _one(producer: bytes, ledger: bytes, sequence: bytes, entry_id: int, highest: bytes) -> bytes:
    message_id = b"\x08%b\x10%b" % (ledger, varint(entry_id))
    receipt = b"\x08%b\x10%b\x1a%c%b\x20%b" % (
        producer,
        sequence,
        len(message_id),
        message_id,
        highest or _NO_HIGHEST,
    )
    size = 4 + len(receipt)
    return b"%b\x08\x07\x3a%c%b" % (_SIZES(4 + size, size), len(receipt), receipt)


def _of_stretch(
    producer: bytes,
    ledger: bytes,
    sequences: list[bytes],
    highest: list[bytes] | None,
    stretch: Stretch,
) -> list[bytearray]:
    """The receipts of a stretch, cut again where a sequence id grows by a byte."""
    columns = _columns(sequences)
    tops = [_NO_HIGHEST * len(sequences)] if highest is None else _columns(highest)
    if columns is not None and tops is not None:
        return [_repeat(producer, ledger, columns, tops, (stretch.columns, stretch.rest))]
    widths = map(len, sequences), map(len, highest or sequences)
    receipts = []
    start = 0
    for _, group in groupby(zip(*widths, strict=True)):
        stop = start + sum(1 for _ in group)
        columns = _columns(sequences[start:stop])
        tops = _columns(highest[start:stop]) if highest else [_NO_HIGHEST * (stop - start)]
        entries = tuple(column[start:stop] for column in stretch.columns)
        assert columns is not None
        assert tops is not None
        receipts.append(_repeat(producer, ledger, columns, tops, (entries, stretch.rest)))
        start = stop
    return receipts


def _columns(varints: list[bytes]) -> list[bytes] | None:
    """Byte i of each, for each i; None when they are not of one length."""
    width = len(varints[0])
    joined = b"".join(varints)
    # As many bytes below 0x80 as there are varints: when the last column has them all, each
    # varint ends there.
    if len(joined) != width * len(varints) or not joined[width - 1 :: width].isascii():
        return None
    return [joined[index::width] for index in range(width)]


def _repeat(
    producer: bytes,
    ledger: bytes,
    sequences: list[bytes],
    highest: list[bytes],
    entry_ids: tuple[tuple[bytes, ...], bytes],
) -> bytearray:
    """A receipt for each row of the columns; entry ids have columns and what all end with."""
    entries, rest = entry_ids
    message_id = b"\x08%b\x10%b%b" % (ledger, bytes(len(entries)), rest)
    receipt = b"\x08%b\x10%b\x1a%c%b\x20%b" % (
        producer,
        bytes(len(sequences)),
        len(message_id),
        message_id,
        bytes(len(highest)),
    )
    size = 4 + len(receipt)
    frame = _SIZES(4 + size, size) + b"\x08\x07\x3a%c" % len(receipt) + receipt
    size = len(frame)
    frames = bytearray(frame * len(sequences[0]))
    at = 14 + len(producer)
    for column in sequences:
        frames[at::size] = column
        at += 1
    at += 4 + len(ledger)
    for column in entries:
        frames[at::size] = column
        at += 1
    at += len(rest) + 1
    for column in highest:
        frames[at::size] = column
        at += 1
    return frames
