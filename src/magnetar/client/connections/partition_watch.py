"""Notices that a partitioned topic has got more partitions."""

import logging
from collections.abc import Awaitable, Callable

from magnetar.clock import Clock
from magnetar.errors import MagnetarError

from .lookup import Lookup

log = logging.getLogger(__name__)


async def watch_partitions(
    topic: str,
    count: int,
    grow: Callable[[range], Awaitable[None]],
    *,
    lookup: Lookup,
    clock: Clock,
    interval_s: float,
) -> None:
    """Ask every ``interval_s`` seconds, until cancelled; partitions are only ever added.

    ``grow`` gets the indexes of partitions beyond ``count``; when it raises, it gets them again.
    """
    while True:
        await clock.sleep(interval_s)
        try:
            found = await lookup.partitions(topic, auto_create=False)
            if found > count:
                log.info("client.more_partitions topic=%s count=%d", topic, found)
                await grow(range(count, found))
                count = found
        except MagnetarError as error:
            log.info("client.partitions_unknown topic=%s error=%s", topic, error)
