"""How a bucket of delayed entries is stored: as the entries of a ledger. Pure.

    entries 0 ... n - 1    segments: SEGMENT_ENTRIES delayed entries each, the last one fewer
    entry n                the footer; a bucket without one was not finished

    segment   three columns of little-endian 64-bit numbers: due (milliseconds), ledger, entry
    footer    "MGDB", version (1 byte), and compressed by zlib:
              count of segments, the first due of each; count of chunks, then of each
              ledger, number and CHUNK_ENTRIES bits (``EntrySet.chunks``)

The segments follow each other in the order of ``due``. The footer has what must be in memory.
"""

import struct
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from magnetar.errors import CorruptEntry

from .entry_set import CHUNK_ENTRIES, EntrySet

SEGMENT_ENTRIES: Final = 250
"""Delayed entries that are loaded together: of each bucket, so many may be in memory."""

_HEAD: Final = b"MGDB\x01"
_CHUNK: Final = struct.Struct(f"<qq{CHUNK_ENTRIES // 8}s")

Delayed = tuple[int, int, int]
"""When an entry is due, in milliseconds since the epoch; its ledger and its entry id."""


class Footer(NamedTuple):
    """A bucket's metadata, known without reading its segments."""

    first_due_ms: Sequence[int]  # Of each segment.
    entries: EntrySet


def footer_of(delayed: Sequence[Delayed]) -> Footer:
    """The footer of a bucket. ``delayed`` must ascend."""
    ledgers: dict[int, list[int]] = {}
    for _, ledger_id, entry_id in delayed:
        ledgers.setdefault(ledger_id, []).append(entry_id)
    entries = EntrySet()
    for ledger_id, entry_ids in ledgers.items():
        entries.add(ledger_id, sorted(entry_ids))
    return Footer([due_ms for due_ms, _, _ in delayed[::SEGMENT_ENTRIES]], entries)


def encode_bucket(delayed: Sequence[Delayed], footer: Footer) -> list[bytes]:
    """The entries of a bucket's ledger."""
    starts = range(0, len(delayed), SEGMENT_ENTRIES)
    segments = [encode_segment(delayed[start : start + SEGMENT_ENTRIES]) for start in starts]
    return [*segments, encode_footer(footer)]


def encode_segment(delayed: Sequence[Delayed]) -> bytes:
    columns = zip(*delayed, strict=True)
    return b"".join(struct.pack(f"<{len(delayed)}q", *column) for column in columns)


def decode_segment(data: bytes) -> list[Delayed]:
    """Raises CorruptEntry."""
    count, rest = divmod(len(data), 24)
    if rest:
        raise CorruptEntry(f"A segment of delayed entries has {len(data)} bytes, not 24 for each")
    numbers = struct.unpack(f"<{3 * count}q", data)
    return list(zip(numbers[:count], numbers[count : 2 * count], numbers[2 * count :], strict=True))


def encode_footer(footer: Footer) -> bytes:
    chunks = list(footer.entries.chunks())
    count = len(footer.first_due_ms)
    content = [struct.pack(f"<q{count}qq", count, *footer.first_due_ms, len(chunks))]
    size = CHUNK_ENTRIES // 8
    content += [_CHUNK.pack(led, at, bits.to_bytes(size, "little")) for led, at, bits in chunks]
    return _HEAD + zlib.compress(b"".join(content), 1)


def decode_footer(data: bytes, last_entry_id: int) -> Footer:
    """The last entry of a bucket's ledger. Raises CorruptEntry, also where it is no footer."""
    if not data.startswith(_HEAD):
        raise CorruptEntry("A bucket of delayed entries has no footer that this Magnetar reads")
    try:
        content = zlib.decompress(data[len(_HEAD) :])
        (count,) = struct.unpack_from("<q", content)
        first_due_ms = struct.unpack_from(f"<{count}q", content, 8)
        (chunks,) = struct.unpack_from("<q", content, 8 + 8 * count)
        entries, start = EntrySet(), 16 + 8 * count
        for ledger_id, chunk, bits in _CHUNK.iter_unpack(content[start:]):
            entries.add_chunk(ledger_id, chunk, int.from_bytes(bits, "little"))
            chunks -= 1
    except (zlib.error, struct.error) as error:
        raise CorruptEntry(f"The footer of delayed entries is damaged: {error}") from error
    if chunks or count != last_entry_id:
        raise CorruptEntry("The footer of a bucket of delayed entries is not of this bucket")
    return Footer(first_due_ms, entries)
