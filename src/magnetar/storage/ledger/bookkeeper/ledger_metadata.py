"""What is kept of a ledger: where its entries are, and where it ends. Pure."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum
from typing import Final, NamedTuple

from magnetar.late_dataclass import dataclass

from .distribution import write_set

ENTRY_ID_END: Final = 2**63


class LedgerState(IntEnum):
    """Whether a ledger may still grow."""

    OPEN = 1
    IN_RECOVERY = 2  # Somebody finds out where it ends.
    CLOSED = 3


class DigestType(IntEnum):
    """How entries are protected."""

    CRC32 = 1
    HMAC = 2
    CRC32C = 3
    DUMMY = 4


class Segment(NamedTuple):
    """Which bookies have the entries from one on, up to the next segment."""

    first_entry_id: int
    ensemble: tuple[str, ...]  # Their ids, by position.


@dataclass(frozen=True, slots=True)
class LedgerMetadata:
    """One ledger; its segments ascend, and there is at least one."""

    ensemble_size: int
    write_quorum: int
    ack_quorum: int
    segments: tuple[Segment, ...]
    state: LedgerState = LedgerState.OPEN
    last_entry_id: int = -1  # Where it is closed.
    length: int = 0  # Bytes of all entries, where it is closed.
    digest_type: DigestType = DigestType.CRC32C
    password: bytes = b""
    created_ms: int | None = None  # Since the epoch.
    custom: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def last_segment(self) -> Segment:
        """The one that a writer writes to."""
        return self.segments[-1]

    def segment_of(self, entry_id: int) -> Segment:
        """The segment of an entry."""
        return self.segments[self._index(entry_id)]

    def bookies_of(self, entry_id: int) -> list[str]:
        """Those that have an entry, in the order in which they are asked for it."""
        ensemble = self.segment_of(entry_id).ensemble
        positions = write_set(entry_id, self.ensemble_size, self.write_quorum)
        return [ensemble[position] for position in positions]

    def segment_end(self, entry_id: int) -> int:
        """The entry behind the segment of an entry; a number behind all, for the last one."""
        index = self._index(entry_id) + 1
        return self.segments[index].first_entry_id if index < len(self.segments) else ENTRY_ID_END

    def with_ensemble(self, first_entry_id: int, ensemble: tuple[str, ...]) -> "LedgerMetadata":
        """The same with other bookies from an entry on, which is in the last segment."""
        segments = self.segments
        if self.last_segment.first_entry_id == first_entry_id:
            segments = segments[:-1]
        return replace(self, segments=(*segments, Segment(first_entry_id, ensemble)))

    def in_recovery(self) -> "LedgerMetadata":
        """The same while somebody finds out where it ends."""
        return replace(self, state=LedgerState.IN_RECOVERY)

    def closed(self, last_entry_id: int, length: int) -> "LedgerMetadata":
        """The same, with its end."""
        return replace(self, state=LedgerState.CLOSED, last_entry_id=last_entry_id, length=length)

    def _index(self, entry_id: int) -> int:
        return bisect_right(self.segments, entry_id, key=lambda each: each.first_entry_id) - 1
