"""Receipts for a whole run of sends, with C loops over all of them. Pure.

The receipts of a run differ in a few bytes only. In a short run, what is the same is put around
what differs and all is joined. In a long one, one receipt is written and repeated, and each byte
that differs is put into all of them by one assignment to a slice with a stride.
``replies.send_receipt`` makes the same bytes one by one.

    totalSize(4) commandSize(4) 08 07 3a size  08 producer 10 sequence  1a size { 08 ledger
    10 entry }  20 highest
"""

from functools import lru_cache
from itertools import chain, groupby, repeat
from struct import Struct

from magnetar.message.send_run import SendRun
from magnetar.message.varint import Stretch, similar, stretches, varint

_SIZES = Struct(">II").pack
_NO_HIGHEST = b"\x00"
_SHORT = 32  # Runs up to here are quicker joined from pieces.


def send_receipts(run: SendRun, ledger_id: int, first_entry_id: int) -> bytes:
    """One SEND_RECEIPT for each send of the run, stored as consecutive entries."""
    sequences, highest = run.sequences, run.highest
    count = len(sequences)
    if highest is None and count <= _SHORT:
        joined = _joined(run.producer_id, ledger_id, sequences, first_entry_id)
        if joined is not None:
            return joined
    producer, ledger = varint(run.producer_id), varint(ledger_id)
    if highest is not None and b"" in highest:
        highest = [number or _NO_HIGHEST for number in highest]
    receipts: list[bytes | bytearray] = []
    for stretch in stretches(first_entry_id, len(run)):
        part = slice(stretch.start, stretch.stop)
        top_part = None if highest is None else highest[part]
        receipts += _of_stretch(producer, ledger, sequences[part], top_part, stretch)
    return b"".join(receipts)


def _joined(producer_id: int, ledger_id: int, sequences: list[bytes], first: int) -> bytes | None:
    """The receipts of a short run whose varints do not grow on the way; None for another."""
    count = len(sequences)
    width = len(sequences[0])
    if count > 1 and len(set(map(len, sequences))) > 1:
        return None
    entries, rest = similar(first, count)
    if not entries:
        return None
    before, between, behind = _around(producer_id, ledger_id, width, len(entries[0]), rest)
    if count == 1:
        return b"%b%b%b%b%b" % (before, sequences[0], between, entries[0], behind)
    pieces = zip(repeat(before), sequences, repeat(between), entries, repeat(behind))
    return b"".join(chain.from_iterable(pieces))


@lru_cache(maxsize=4096)
def _around(
    producer_id: int, ledger_id: int, sequence_size: int, entry_size: int, rest: bytes
) -> tuple[bytes, bytes, bytes]:
    """What stands before the sequence id, between it and the entry id, and behind."""
    producer, ledger = varint(producer_id), varint(ledger_id)
    id_size = 2 + len(ledger) + entry_size + len(rest)
    between = b"\x1a%c\x08%b\x10" % (id_size, ledger)
    behind = rest + b"\x20" + _NO_HIGHEST
    head = b"\x08%b\x10" % producer
    receipt_size = len(head) + sequence_size + len(between) + entry_size + len(behind)
    size = 4 + receipt_size
    before = _SIZES(4 + size, size) + b"\x08\x07\x3a%c" % receipt_size + head
    return before, between, behind


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
