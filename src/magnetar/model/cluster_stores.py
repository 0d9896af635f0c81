"""The stores that the brokers of a cluster share, as one of them sees these. Pure.

What is counted is counted since the broker began, with whatever is sent or answered together.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final, NamedTuple

from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.counts import OperationCounts
from magnetar.model.histogram import Histogram

CONNECTED: Final = "connected"
SUSPENDED: Final = "suspended"  # The server does not answer; the session may live on.
LOST: Final = "lost"
SESSION_STATES: Final = (CONNECTED, SUSPENDED, LOST)


class Presence(StrEnum):
    """Whether a bookie is there."""

    WRITABLE = "writable"
    READ_ONLY = "read-only"
    AWAY = "away"  # The cluster knows it, and it has no session with ZooKeeper.


@dataclass(slots=True)
class BookieCounts:
    """What a broker asked of one bookie."""

    add_latency: Histogram = field(default_factory=Histogram)  # Of entries that went together.
    added: int = 0  # Entries.
    adds_failed: int = 0  # Entries that were refused, or were lost with a connection.
    add_timeouts: int = 0
    reads: OperationCounts = field(default_factory=OperationCounts)
    read_timeouts: int = 0
    connections: int = 0
    connections_failed: int = 0
    quarantines: int = 0


@dataclass(frozen=True, slots=True)
class BookieState:
    """How a bookie is now."""

    bookie_id: str
    presence: Presence
    quarantined: bool  # It failed of late, and is avoided.
    connected: bool
    adds_pending: int
    counts: BookieCounts


@dataclass(slots=True)
class LedgerCounts:
    """What a broker did with ledgers."""

    created: OperationCounts = field(default_factory=OperationCounts)
    opened: OperationCounts = field(default_factory=OperationCounts)
    recovered: OperationCounts = field(default_factory=OperationCounts)
    deleted: OperationCounts = field(default_factory=OperationCounts)
    add_latency: Histogram = field(default_factory=Histogram)
    """Until enough bookies had the oldest of the entries that were answered together."""
    adds_failed: int = 0
    reads: OperationCounts = field(default_factory=OperationCounts)
    ensemble_changes: int = 0


@dataclass(slots=True)
class SessionCounts:
    """A session with ZooKeeper."""

    servers: str
    name: str = "metadata-store"
    state: str = CONNECTED
    reconnections: int = 0
    lost: int = 0  # Sessions.
    watches: Callable[[], int] = int
    operations: Mapping[str, OperationCounts] = field(
        default_factory=lambda: {kind: OperationCounts() for kind in ("get", "put", "del")}
    )
    put_bytes: int = 0


class DiskSpace(NamedTuple):
    """The disks of a bookie, in bytes."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class ClusterStores:
    """All of them."""

    bookies: Callable[[], list[BookieState]]
    ledgers: LedgerCounts
    sessions: Sequence[SessionCounts]  # The first is that of the broker's own records.
    ensemble_size: int  # Of a ledger, where a namespace says nothing else.
    disks: Callable[[], Awaitable[Mapping[str, DiskSpace | MagnetarError]]]
    """Asks each bookie that is there. Raises what keeps ZooKeeper from saying which these are."""
