"""Writes blocks of entries for the log, and finds the records in a part of it. Pure.

``inner/record.py`` says what a record looks like. Its checksums begin with the segment's seed.
"""

import struct
from typing import NamedTuple

from google_crc32c import extend

from magnetar.inner.record import (
    BLOCK,
    COVERED,
    COVERED_FROM,
    ENTRIES_MAX,
    HEAD_SIZE,
    JOIN_BELOW,
    JOINED,
    NUMBER_MAX,
    OFFSET_BITS,
    SALT_SIZE,
    TABLES_SIZE,
)

from .checksum import checksum

Blocks = tuple[int, list[int], list[int], int, int, int]
"""Ledger id; first entry and location of each block; one behind the last entry; and the bytes of
all bodies, and of all records."""

Mark = tuple[int, int, int]
"""A record of another kind: its kind, ledger id, and entry id or number of entries."""

LEDGERS_MAX = 1024  # That have blocks in one call.


def encode_block(  # noqa: PLR0917 - the compiled ones have no others
    salt: bytes,
    seed: int,
    synced: int,
    ledger_id: int,
    first: int,
    data: list[bytes],
    checksums: list[int],
) -> list[bytes]:
    """A block of entries, as pieces to be written one behind the other."""
    count = len(data)
    if count != len(checksums) or len(salt) != SALT_SIZE:
        raise ValueError("lists of different lengths, or no salt")
    lengths = [len(entry) for entry in data]
    size = sum(lengths)
    small = size < JOIN_BELOW * count
    body = b"".join(data) if small else b""
    joined = small and count > 1
    sums = (JOINED, checksum(body)) if joined else (0, 0)
    covered = COVERED.pack(BLOCK, *sums, synced, ledger_id, first, size, count)
    try:
        covered += struct.pack(f"<{2 * count}I", *lengths, *checksums)
    except struct.error as error:
        raise ValueError("a checksum is a number of 32 bits, and so is a size") from error
    head = salt + extend(seed, covered).to_bytes(4, "little") + covered
    return [head + body] if small else [head, *data]


class _Record(NamedTuple):
    """A header, as it lies there."""

    kind: int
    flags: int
    body_checksum: int
    synced: int
    ledger_id: int
    first: int
    body_size: int
    entries: int


def cut_records(  # noqa: PLR0917 - the compiled ones have no others
    data: bytes,
    position: int,
    end: int,
    place: int,
    salt: bytes,
    seed: int,
    verify_bodies: bool,  # noqa: FBT001
) -> tuple[int, int, list[Blocks], list[Mark]]:
    """The records from ``position`` on, one behind the other, none of which ends behind ``end``.

    ``place`` is the location of the first byte of ``data``. Returns where the records end, the
    greatest ``synced`` among them, the blocks of each ledger, and the others. Stops at the first
    record whose header, tables or, with ``verify_bodies``, body is damaged or not all in ``data``,
    and where there are too many ledgers.
    """
    if not 0 <= position <= len(data) or end < 0 or len(salt) != SALT_SIZE:
        raise ValueError(f"no position, end or salt: {position}, {end}, {salt!r}")
    offset = place & ((1 << OFFSET_BITS) - 1)
    ledgers: dict[int, Blocks] = {}
    marks: list[Mark] = []
    synced = 0
    while (record := _record_at(data, position, end, salt, seed)) is not None:
        ledger_id, first = record.ledger_id, record.first
        body = position + HEAD_SIZE + TABLES_SIZE * record.entries
        # A record says what was synced before it: one that claims more was not written by us.
        if record.synced > offset + position:
            break
        if verify_bodies and not _body_intact(data, body, record):
            break
        if record.kind != BLOCK:
            marks.append((record.kind, ledger_id, first))
        elif ledger_id not in ledgers and len(ledgers) == LEDGERS_MAX:
            break
        else:
            _, firsts, places, behind, bodies, records = ledgers.get(
                ledger_id, (ledger_id, [], [], 0, 0, 0)
            )
            firsts.append(first)
            places.append(place + position)
            behind = max(behind, first + record.entries)
            bodies += record.body_size
            records += body - position + record.body_size
            ledgers[ledger_id] = (ledger_id, firsts, places, behind, bodies, records)
        synced = max(synced, record.synced)
        position = body + record.body_size
    return position, synced, list(ledgers.values()), marks


def _record_at(data: bytes, at: int, end: int, salt: bytes, seed: int) -> _Record | None:
    """The record at ``at``, if its header and tables are here and intact."""
    tables = at + HEAD_SIZE
    if tables > min(len(data), end) or not data.startswith(salt, at):
        return None
    record = _Record._make(COVERED.unpack_from(data, at + COVERED_FROM))
    body = tables + TABLES_SIZE * record.entries
    if record.entries > ENTRIES_MAX or record.ledger_id | record.first > NUMBER_MAX:
        return None
    if body > len(data) or body + record.body_size > end:
        return None
    found = extend(seed, data[at + COVERED_FROM : body])
    return record if found == int.from_bytes(data[at + 8 : at + 12], "little") else None


def _body_intact(data: bytes, start: int, record: _Record) -> bool:
    """Whether the body that starts here is all here, and what was written."""
    end = start + record.body_size
    if end > len(data):
        return False
    if record.flags & JOINED:
        return checksum(data[start:end]) == record.body_checksum
    count = record.entries
    tables = struct.unpack_from(f"<{2 * count}I", data, start - TABLES_SIZE * count)
    for length, expected in zip(tables[:count], tables[count:], strict=True):
        entry = data[start : min(start + length, end)]
        if len(entry) < length or checksum(entry) != expected:
            return False
        start += length
    return True
