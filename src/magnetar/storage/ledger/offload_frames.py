"""What a broker and the process that offloads say to one another. Pure.

A frame is ``size(4) header_size(4) header body``: the size is that of what follows it, the header a
JSON object, the body bytes. Entries are a body:

    count(4), for each entry size(4), for each entry checksum(4), then the entries

Numbers are big-endian.
"""

import json
from itertools import accumulate, pairwise
from struct import Struct, error, pack, unpack_from
from typing import Any, Final

from magnetar.errors import CorruptEntry, InvalidValue

from .store import LedgerEntries

FRAME_SIZE_MAX: Final = 256 * 1024 * 1024
"""A larger frame is a defect: entries are read about a MiB at a time, and one is 5 MiB or so."""

_SIZES: Final = Struct(">II")


def frame(header: dict[str, Any], body: bytes = b"") -> bytes:
    said = json.dumps(header, separators=(",", ":")).encode()
    return b"".join((_SIZES.pack(4 + len(said) + len(body), len(said)), said, body))


def frame_size(head: bytes) -> int:
    """The bytes that follow the first four. Raises InvalidValue."""
    size = int.from_bytes(head)
    if not 4 < size <= FRAME_SIZE_MAX:
        raise InvalidValue(f"a frame of {size} bytes; at most {FRAME_SIZE_MAX} are sent")
    return size


def parse_frame(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and body of what follows the size. Raises InvalidValue."""
    stop = 4 + int.from_bytes(data[:4])
    try:
        header = json.loads(data[4:stop])
    except ValueError as wrong:
        raise InvalidValue(f"a frame whose header is not JSON: {wrong}") from wrong
    if not isinstance(header, dict):
        raise InvalidValue(f"a frame whose header is a {type(header).__name__}")
    return header, data[stop:]


def entries_body(entries: LedgerEntries) -> bytes:
    count = len(entries.data)
    numbers = pack(f">{1 + 2 * count}I", count, *map(len, entries.data), *entries.checksums)
    return b"".join((numbers, *entries.data))


def parse_entries(body: bytes) -> LedgerEntries:
    """Raises CorruptEntry."""
    try:
        (count,) = unpack_from(">I", body)
        sizes = unpack_from(f">{count}I", body, 4)
        checksums = list(unpack_from(f">{count}I", body, 4 + 4 * count))
    except error as wrong:
        raise CorruptEntry(f"entries that are cut off: {wrong}") from wrong
    ends = list(accumulate(sizes, initial=4 + 8 * count))
    if ends[-1] != len(body):
        raise CorruptEntry(f"{len(body)} bytes of entries instead of {ends[-1]}")
    return LedgerEntries([body[start:end] for start, end in pairwise(ends)], checksums)
