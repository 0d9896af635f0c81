"""Tries now and then which clusters answer, and has the client go over to another."""

import logging

from magnetar.client.failover import AutoClusterFailover
from magnetar.client.gather_all import gather_all
from magnetar.clock import Clock
from magnetar.errors import MagnetarError

from .cluster import Cluster
from .cluster_choice import ClusterChoice
from .endpoint import Endpoint
from .pool import ConnectionPool

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
