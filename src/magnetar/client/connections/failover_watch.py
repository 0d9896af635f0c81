"""Tries now and then which clusters answer, and has the client go over to another."""

import logging
from collections.abc import Sequence

from magnetar.client.failover import AutoClusterFailover
from magnetar.client.gather_all import gather_all
from magnetar.clock import Clock
from magnetar.errors import MagnetarError

from .cluster import Cluster
from .endpoint import Endpoint
from .pool import ConnectionPool


class ClusterChoice:
    """Begins with the first, the primary; times are in seconds of any clock."""

    current: int  # The index of the one to use.

    def __init__(self, *, failover_delay_s: float, switch_back_delay_s: float) -> None:
        self.current = 0
        self._failover_delay_s = failover_delay_s
        self._switch_back_delay_s = switch_back_delay_s
        self._down_since: float | None = None  # The current one.
        self._primary_up_since: float | None = None

    def probed(self, now: float, up: Sequence[bool]) -> int:
        """Take in which clusters answer now; the index of the one to use."""
        if not up[0]:
            self._primary_up_since = None
        elif self._primary_up_since is None:
            self._primary_up_since = now
        if up[self.current]:
            self._down_since = None
        elif self._down_since is None:
            self._down_since = now
        if _lasted(self._down_since, now, self._failover_delay_s) and True in up:
            self._use(list(up).index(True))
        elif self.current and _lasted(self._primary_up_since, now, self._switch_back_delay_s):
            self._use(0)
        return self.current

    def _use(self, index: int) -> None:
        self.current = index
        self._down_since = None


def _lasted(since: float | None, now: float, delay_s: float) -> bool:
    return since is not None and now - since >= delay_s


log = logging.getLogger(__name__)


async def watch_clusters(
    failover: AutoClusterFailover, clusters: list[Cluster], pool: ConnectionPool, clock: Clock
) -> None:
    """Until it is cancelled. ``pool`` begins with the first of ``clusters``."""
    choice = ClusterChoice(
        failover_delay_s=failover.failover_delay_s,
        switch_back_delay_s=failover.switch_back_delay_s,
    )
    while True:
        await clock.sleep(failover.check_interval_s)
        up = await gather_all(_answers(cluster, pool) for cluster in clusters)
        cluster = clusters[choice.probed(clock.now(), up)]
        if cluster is not pool.cluster:
            log.warning("client.cluster_switched from=%s to=%s", pool.cluster.url, cluster.url)
            pool.use(cluster)


async def _answers(cluster: Cluster, pool: ConnectionPool) -> bool:
    """Whether one of its brokers lets us in, or has and answers still."""
    for address in cluster.url.addresses:
        try:
            await pool.connect(Endpoint(address, address), cluster)
        except MagnetarError as error:
            log.info("client.cluster_silent broker=%s error=%s", address, error)
        else:
            return True
    return False
