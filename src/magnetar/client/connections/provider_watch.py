"""Asks a web server now and then which cluster to use, and has the client go over to it."""

import logging
from collections.abc import Callable
from typing import Final

from magnetar.client.config import ClientConfig, ClientOptions
from magnetar.client.failover import ControlledClusterFailover
from magnetar.client.web_answer import whole
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotReady

from .cluster import Cluster
from .pool import ConnectionPool

log = logging.getLogger(__name__)

SIZE_MAX: Final = 1 << 20
TIMEOUT_S: Final = 30.0


async def watch_provider(
    failover: ControlledClusterFailover,
    options: ClientOptions,
    pool: ConnectionPool,
    make: Callable[[ClientConfig], Cluster],
    clock: Clock,
) -> None:
    """Until it is cancelled. What cannot be had or used changes nothing, and is logged once."""
    last, trouble = b"", ""
    while True:
        try:
            answer = await _ask(failover)
            if answer != last:
                cluster = make(failover.told(answer, options))
                log.warning("client.cluster_switched from=%s to=%s", pool.cluster.url, cluster.url)
                pool.use(cluster)
                last = answer
            trouble = ""
        except MagnetarError as error:
            if str(error) != trouble:
                log.warning("client.provider_silent url=%s error=%s", failover.url_provider, error)
            trouble = str(error)
        await clock.sleep(failover.check_interval_s)


async def _ask(failover: ControlledClusterFailover) -> bytes:
    import aiohttp  # noqa: PLC0415 - who has no provider does not pay for it.

    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    headers = {"Accept": "application/json", **failover.headers}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers, trust_env=True) as web,
            web.get(failover.url_provider) as answer,
        ):
            if answer.status != 200:
                raise NotReady(f"it answers with status {answer.status}")
            return await whole(answer.content, SIZE_MAX)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise NotReady(str(error) or type(error).__name__) from error
