"""How the broker as a whole fares: its loop, its disk, its memory."""

import gc
import os
import resource
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Final, NamedTuple

from magnetar.auth.authentication import Authentication
from magnetar.broker.server_tls import Expiry
from magnetar.broker.threads import in_thread
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.model.cluster_stores import ClusterStores
from magnetar.model.counts import (
    ConnectionCounts,
    GroupTimes,
    LogCounts,
    OperationCounts,
    TraceCounts,
)
from magnetar.model.histogram import Histogram
from magnetar.model.log_damage import LogDamage
from magnetar.model.names import NamespaceName
from magnetar.storage.managed_ledger.cache import EntryCache

LAG_INTERVAL_S: Final = 0.25
"""How often the loop is asked for a turn; how late it comes is the lag."""
_STATM: Final = Path("/proc/self/statm")


class Disk(NamedTuple):
    """The file system of the data folder."""

    free_bytes: int
    total_bytes: int


async def _well() -> None:
    """There is no log that could be checked."""


@dataclass(slots=True)
class BrokerHealth:
    """Counters and gauges of the whole broker."""

    clock: Clock
    connections: ConnectionCounts = field(default_factory=ConnectionCounts)
    throttled_connections: Callable[[], int] = int
    unwritten_bytes: Callable[[], int] = int  # They wait for clients to read them.
    backlog_checks: Histogram = field(default_factory=Histogram)
    authentication: Authentication | None = None  # None: nobody is asked who it is.
    sync_latency: Histogram | None = None  # None: nothing is written to a disk.
    log_times: Callable[[], GroupTimes | None] = lambda: None  # Of what the log answers now.
    data_directory: Path | None = None
    cache: EntryCache = field(default_factory=EntryCache)
    logs: defaultdict[NamespaceName, LogCounts] = field(
        default_factory=lambda: defaultdict(LogCounts)
    )
    metadata: Mapping[str, OperationCounts] = field(default_factory=dict)  # By kind.
    metadata_put_bytes: Callable[[], int] = int
    check_log: Callable[[], Awaitable[None]] = _well
    write_error: Callable[[], str] = str  # Why the log takes nothing; "": it does.
    write_failure: Callable[[], tuple[float, str] | None] = lambda: None  # The last: when, why.
    folder_lost: Callable[[], str] = str  # Why dataDirectory is no longer ours; "": it is.
    damage: LogDamage = field(default_factory=LogDamage)  # That the start found in the log.
    load_report: Callable[[], Mapping[str, Any]] | None = None  # None: no load is balanced.
    loop_lag: Histogram = field(default_factory=Histogram)
    gc_pauses: Histogram = field(default_factory=Histogram)  # Nothing else runs meanwhile.
    traces: TraceCounts | None = None  # None: there are none.
    certificates: Callable[[], Sequence[Expiry]] = tuple  # Those of TLS.
    cluster: ClusterStores | None = None  # None: the broker is alone.
    started_at: float = field(init=False)  # By ``Clock.now``.
    started_ms: int = field(init=False)
    _collection_began: float = field(default=0.0, init=False)
    disk_seen: Disk | None = None
    """The free and total space found at the last look."""

    def __post_init__(self) -> None:
        self.started_at = self.clock.now()
        self.started_ms = self.clock.wall_ms()

    async def watch_loop(self) -> None:
        """Note how late the loop is, and how long garbage collections take, for ever."""
        clock, note = self.clock, self.loop_lag.note
        gc.callbacks.append(self._collection)
        try:
            while True:
                due = clock.now() + LAG_INTERVAL_S
                await clock.sleep(LAG_INTERVAL_S)
                note(clock.now() - due)
        finally:
            gc.callbacks.remove(self._collection)

    def _collection(self, phase: str, _: Mapping[str, int]) -> None:
        now = self.clock.now()
        if phase == "start":
            self._collection_began = now
        else:
            self.gc_pauses.note(now - self._collection_began)

    async def disk(self) -> Disk | None:
        """None where nothing is stored, or the folder cannot be asked. It holds up nobody."""
        if self.data_directory is None:
            return None
        with suppress(OSError):
            blocks = await in_thread(os.statvfs, self.data_directory)
            size = blocks.f_frsize
            self.disk_seen = Disk(blocks.f_bavail * size, blocks.f_blocks * size)
            return self.disk_seen
        return None

    @staticmethod
    def memory_bytes() -> int:
        """What the process holds of memory, or the most it held, where that is all one knows."""
        with suppress(OSError, ValueError, IndexError):
            return int(_STATM.read_text().split()[1]) * resource.getpagesize()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
