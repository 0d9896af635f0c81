"""Entries that are copied from one cluster to another. Pure.

A copy is the entry as it was published, with two fields more behind its metadata: the cluster that
it was published in, so that it goes no further, and its position there, as a property. By that
position the other cluster knows what it has already. Pulsar's own replicators write the same.
"""

import re
from collections.abc import Callable
from dataclasses import field
from typing import Final

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position

from . import metadata
from .entry import checksum

SOURCE_POSITION: Final = "__MSG_PROP_REPL_SOURCE_POSITION"

_MARKER: Final = re.compile(rb"\xa0\x01[\x0a-\x0d]").search

SchemaVersions = Callable[[bytes], bytes | None]
"""Tells the version that a schema has in the other cluster; None: that is not known yet."""


@dataclass(slots=True)
class Copies:
    """What goes of a run of entries: parallel lists."""

    indexes: list[int] = field(default_factory=list)  # Of the entries that were copied.
    data: list[bytes] = field(default_factory=list)
    checksums: list[int] = field(default_factory=list)
    end: int = 0  # The index behind the last entry that was looked at.
    unknown: bytes | None = None  # The version that the entry there names, and must be known first.
    markers: list[int] = field(default_factory=list)  # The indexes of those of subscriptions.

    def add(self, indexes: list[int], data: list[bytes], checksums: list[int]) -> None:
        self.indexes += indexes
        self.data += data
        self.checksums += checksums


def copies(
    data: list[bytes],
    first: Position,
    *,
    here: str,
    there: str,
    schema_version: SchemaVersions,
    usual_version: bytes = b"",
) -> Copies:
    """Copy a run of entries, of which ``first`` is the place of the first, from here to there.

    What is not to go is left out: what came from elsewhere, what names other clusters, the markers
    of transactions, and what nobody can read. Entries that name ``usual_version`` of a schema go on
    naming it.
    """
    found, at, total = Copies(), 0, len(data)
    names = here.encode(), there.encode()
    while True:
        found.end, *plain = inner.replicas(data, at, *first, *names, usual_version)
        found.add(*plain)  # type: ignore[arg-type]  # Of a tuple the rest is as it was.
        if found.end == total:
            return found
        entry = data[found.end]
        if _MARKER(entry, 4, 4 + int.from_bytes(entry[:4])):
            found.markers.append(found.end)  # Or what has such bytes in a text.
        version = metadata.schema_version(entry) or None
        known = None if version is None else schema_version(version)
        if version is not None and known is None:
            found.unknown = version
            return found
        source = SOURCE_POSITION, f"{first.ledger_id}:{first.entry_id + found.end}"
        try:
            copy = metadata.replica(entry, here, there, source=source, schema_version=known)
        except CorruptEntry:
            copy = None
        if copy is not None:
            found.add([found.end], [copy], [checksum(copy)])
        at = found.end + 1


def source_of(entry: bytes) -> Position | None:
    """Where a copy was published; None for what is none."""
    [found] = inner.source_places([entry])
    return None if found is None else Position(*found)
