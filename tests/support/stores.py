"""The stores of a cluster as a broker sees them, without a cluster."""

from magnetar.model.cluster_stores import (
    BookieCounts,
    BookieState,
    ClusterStores,
    DiskSpace,
    LedgerCounts,
    Presence,
    SessionCounts,
)


def cluster_of(presences, *, quarantined=(), ensemble_size=2):
    """Bookies by their id: "writable", "read-only" or "away"."""
    bookies = [
        BookieState(
            bookie_id,
            Presence(presence),
            quarantined=bookie_id in quarantined,
            connected=True,
            adds_pending=0,
            counts=BookieCounts(),
        )
        for bookie_id, presence in presences.items()
    ]

    async def disks():
        return {each.bookie_id: DiskSpace(100, 40) for each in bookies}

    return ClusterStores(
        lambda: bookies, LedgerCounts(), [SessionCounts("zk:1")], ensemble_size, disks
    )
