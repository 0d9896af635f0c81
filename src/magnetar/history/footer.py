"""What the footer of a ledger's file says of it, beside what Parquet says. Pure.

It is JSON under the key ``magnetar.ledger`` of the file's metadata:

    {"version": 1, "topic": "persistent://public/default/sales", "partition": -1,
     "ledgerId": 7, "entries": 50000, "size": 5300000, "rows": 500000, "missing": 0,
     "firstPublishMs": 1700000000000, "lastPublishMs": 1700000900000, "schemaVersions": ["0"],
     "groups": [[0, 10000, 100000, 4, 5310123, 20456], ...]}

Each of ``groups`` is a row group, in order: its first entry, how many entries and rows, and
where in the file the group's entries are told of (``envelopes.py``): offset and size.
"""

import json
from bisect import bisect_right
from typing import Final, NamedTuple

from magnetar.errors import CorruptEntry

KEY: Final = b"magnetar.ledger"
VERSION: Final = 1


class RowGroup(NamedTuple):
    """Consecutive entries and their rows."""

    first_entry_id: int
    entries: int
    rows: int
    offset: int  # Of the envelopes, in the file.
    size: int


class Footer(NamedTuple):
    """A ledger in a file."""

    topic: str
    partition: int  # -1 on a topic without partitions.
    ledger_id: int
    entries: int
    size: int  # Bytes of the entries, as they were in the log.
    rows: int
    missing: int
    """Entries of messages that are no rows: encrypted, unreadable, or part of a message of which
    the other chunks are in another ledger. Only the broker can give these."""
    first_publish_ms: int
    last_publish_ms: int
    schema_versions: tuple[int, ...]  # Of the topic's registry, that messages were written with.
    groups: tuple[RowGroup, ...]

    @property
    def whole(self) -> bool:
        """Whether the rows are all messages of the ledger."""
        return self.missing == 0

    def group_of(self, entry_id: int) -> int:
        """The index of the row group that has an entry."""
        firsts = [group.first_entry_id for group in self.groups]
        return bisect_right(firsts, entry_id) - 1

    def encode(self) -> bytes:
        return json.dumps(
            {
                "version": VERSION,
                "topic": self.topic,
                "partition": self.partition,
                "ledgerId": self.ledger_id,
                "entries": self.entries,
                "size": self.size,
                "rows": self.rows,
                "missing": self.missing,
                "firstPublishMs": self.first_publish_ms,
                "lastPublishMs": self.last_publish_ms,
                "schemaVersions": self.schema_versions,
                "groups": self.groups,
            },
            separators=(",", ":"),
        ).encode()

    @classmethod
    def decode(cls, metadata: dict[bytes, bytes] | None, source: str) -> "Footer":
        """Raises CorruptEntry, naming the file, for one that is none of ours."""
        try:
            said = json.loads((metadata or {})[KEY])
            if said["version"] != VERSION:
                raise CorruptEntry(
                    f"{source} has version {said['version']!r:.50}, and this Magnetar reads "
                    f"{VERSION}: use the Magnetar that wrote it, or a newer one"
                )
            return cls(
                said["topic"],
                said["partition"],
                said["ledgerId"],
                said["entries"],
                said["size"],
                said["rows"],
                said["missing"],
                said["firstPublishMs"],
                said["lastPublishMs"],
                tuple(said["schemaVersions"]),
                tuple(RowGroup(*group) for group in said["groups"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptEntry(
                f"{source} is no file of a ledger ({error!r}): Magnetar did not write it, or it "
                "was changed"
            ) from error
