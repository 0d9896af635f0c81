"""The stores of a cluster as this broker sees them: bookies, and ZooKeeper. Not in Pulsar."""

from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import BrokerServices
from magnetar.errors import MagnetarError
from magnetar.model.cluster_stores import BookieState, DiskSpace, SessionCounts
from magnetar.model.histogram import Histogram
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.router import Route


async def get(admin: BrokerServices, _: Request) -> Reply:
    """All since the broker began; each bookie is asked how full its disks are."""
    stores = admin.health.cluster
    if stores is None:
        raise Rejection(404, "This broker is alone: its stores are on its own disk")
    try:
        disks = await stores.disks()
    except MagnetarError:
        disks = {}  # ZooKeeper is away, as its session says.
    counts = stores.ledgers
    return shown(
        {
            "ensembleSize": stores.ensemble_size,
            "bookies": [_bookie(each, disks.get(each.bookie_id)) for each in stores.bookies()],
            "ledgers": {
                "created": counts.created.latency.count,
                "opened": counts.opened.latency.count,
                "recovered": counts.recovered.latency.count,
                "deleted": counts.deleted.latency.count,
                "ensembleChanges": counts.ensemble_changes,
            },
            "sessions": list(map(_session, stores.sessions)),
        }
    )


def _bookie(state: BookieState, disk: DiskSpace | MagnetarError | None) -> dict[str, Any]:
    counts = state.counts
    return {
        "bookieId": state.bookie_id,
        "state": state.presence.value,
        "quarantined": state.quarantined,
        "connected": state.connected,
        "connections": counts.connections,
        "entriesAdded": counts.added,
        "addsPending": state.adds_pending,
        "addsFailed": counts.adds_failed,
        "addMs": _latency(counts.add_latency),
        "reads": counts.reads.latency.count,
        "readsPending": counts.reads.running,
        "readsFailed": counts.reads.failed,
        "readMs": _latency(counts.reads.latency),
        "timeouts": counts.add_timeouts + counts.read_timeouts,
        "quarantines": counts.quarantines,
        "disk": {"freeBytes": disk.free, "totalBytes": disk.total}
        if isinstance(disk, DiskSpace)
        else None,
        "error": str(disk) if isinstance(disk, MagnetarError) else None,
    }


def _session(counts: SessionCounts) -> dict[str, Any]:
    return {
        "name": counts.name,
        "servers": counts.servers,
        "state": counts.state,
        "reconnections": counts.reconnections,
        "lost": counts.lost,
        "watches": counts.watches(),
        "readMs": _latency(counts.operations["get"].latency),
        "writeMs": _latency(counts.operations["put"].latency),
    }


def _latency(histogram: Histogram) -> dict[str, float]:
    return {name: histogram.quantile_s(share) * 1000 for name, share in _QUANTILES.items()}


_QUANTILES: Final = {"p50": 0.5, "p99": 0.99}
SERVICES: Final = BrokerServices
ROUTES: Final = (Route("GET", "/admin/v2/magnetar/stores", get, Access.SUPERUSER),)
