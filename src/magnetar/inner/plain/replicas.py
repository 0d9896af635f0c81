"""Copies of entries for another cluster. Pure.

What a copy has more than the entry stands behind the rest of its metadata: the cluster that it was
published in, and its position there as a property.
"""

import re
from typing import Final

from magnetar.model.varint import varint

from .checksum import checksum
from .fields import UnusualForm, fields

SOURCE_POSITION = b"__MSG_PROP_REPL_SOURCE_POSITION"

_SOURCE: Final = b"\x0a%c%b\x12" % (len(SOURCE_POSITION), SOURCE_POSITION)
_PLACE: Final = re.compile(rb"([0-9]{1,19}):([0-9]{1,19})").fullmatch
_NUMBER_MAX: Final = 2**63 - 1

_REPLICATED_FROM, _REPLICATE_TO, _SCHEMA_VERSION = 0x2A, 0x3A, 130
# Marker type, both halves of a transaction's id.
_GENERAL = {160, 176, 184}


def replicas(  # noqa: PLR0917 - the compiled ones have no others
    data: list[bytes],
    start: int,
    ledger_id: int,
    first_entry_id: int,
    here: bytes,
    there: bytes,
    schema_version: bytes,
) -> tuple[int, list[int], list[bytes], list[int]]:
    """Copy the entries from ``start`` on that are to go from the cluster ``here`` to ``there``.

    Left out is what came from another cluster, and what names others to go to. Returns where it
    stopped, at the first entry that is not plain or behind the last one; the indexes of what was
    copied; the copies; and their checksums. An entry is plain if it is no marker, in no
    transaction, and names no other version of a schema than this one; one that would go must name
    no place yet.
    """
    if not 0 <= start <= len(data):
        raise ValueError(f"no index of {len(data)} entries: {start}")
    origin = b"\x2a%b%b" % (varint(len(here)), here)
    indexes: list[int] = []
    copies: list[bytes] = []
    checksums: list[int] = []
    for index in range(start, len(data)):
        entry = data[index]
        end = 4 + int.from_bytes(entry[:4])
        goes = _goes(entry, end, there, schema_version) if 4 <= len(entry) >= end else None
        if goes is None:
            return index, indexes, copies, checksums
        if goes:
            position = b"%d:%d" % (ledger_id, first_entry_id + index)
            pair = b"\x0a%c%b\x12%c%b" % (
                len(SOURCE_POSITION),
                SOURCE_POSITION,
                len(position),
                position,
            )
            metadata = b"%b%b\x22%c%b" % (entry[4:end], origin, len(pair), pair)
            copy = b"%b%b%b" % (len(metadata).to_bytes(4), metadata, entry[end:])
            indexes.append(index)
            copies.append(copy)
            checksums.append(checksum(copy))
    return len(data), indexes, copies, checksums


def _goes(entry: bytes, end: int, there: bytes, schema_version: bytes) -> bool | None:
    """Whether an entry goes to a cluster; None where it is not plain."""
    targets, version, came = [], b"", False
    try:
        for tag, _, content in fields(entry, 4, end):
            if tag in _GENERAL:
                return None
            if tag == _REPLICATED_FROM:
                came = True
            elif tag == _REPLICATE_TO:
                targets.append(content)
            elif tag == _SCHEMA_VERSION:
                version = content
    except UnusualForm:
        return None
    if came or (targets and there not in targets):
        return False
    if entry.find(SOURCE_POSITION, 4, end) >= 0:
        return None
    return None if version and version != schema_version else True


def source_places(data: list[bytes]) -> list[tuple[int, int] | None]:
    """Ledger and entry id that each entry has where it was copied from; None for what is no copy.

    That is the first property of that name that has two numbers as they are written in Java.
    """
    return list(map(_source_place, data))


def _source_place(entry: bytes) -> tuple[int, int] | None:
    end = min(4 + int.from_bytes(entry[:4]), len(entry))
    at = entry.find(_SOURCE, 4, end)
    while at >= 0:
        start = at + len(_SOURCE) + 1
        if start <= end and start + entry[start - 1] <= end:
            found = _PLACE(entry[start : start + entry[start - 1]])
            if found is not None:
                ledger_id, entry_id = int(found[1]), int(found[2])
                if max(ledger_id, entry_id) <= _NUMBER_MAX:
                    return ledger_id, entry_id
        at = entry.find(_SOURCE, at + 1, end)
    return None
