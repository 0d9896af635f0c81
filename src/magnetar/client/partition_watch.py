"""Notices that a partitioned topic has got more partitions."""

import logging
from collections.abc import Awaitable, Callable

from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.tasks import Tasks

from .lookup import Lookup

log = logging.getLogger(__name__)


class PartitionWatch:
    """Asks from time to time; partitions are only ever added."""

    def __init__(
        self,
        topic: str,
        partitions: int,
        grow: Callable[[range], Awaitable[None]],
        *,
        lookup: Lookup,
        clock: Clock,
        interval_s: float,
    ) -> None:
        """``grow`` gets the indexes of new partitions; when it raises, it gets them again."""
        self._topic = topic
        self._partitions = partitions
        self._grow = grow
        self._lookup = lookup
        self._clock = clock
        self._interval_s = interval_s
        self._tasks = Tasks(f"client.partition_watch {topic}")

    def start(self) -> None:
        """Ask every ``interval_s`` seconds from now on; never when it is 0."""
        if self._interval_s:
            self._tasks.spawn("watch", self._watch())

    async def close(self) -> None:
        await self._tasks.close()

    async def check(self) -> None:
        """Ask now. Raises what the broker or ``grow`` raises."""
        now = await self._lookup.partitions(self._topic, auto_create=False)
        if now > self._partitions:
            log.info("client.more_partitions topic=%s count=%d", self._topic, now)
            await self._grow(range(self._partitions, now))
            self._partitions = now

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(self._interval_s)
            try:
                await self.check()
            except MagnetarError as error:
                log.info("client.partitions_unknown topic=%s error=%s", self._topic, error)
