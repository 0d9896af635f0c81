"""What everything that one client makes has in common."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from magnetar.client.connections.lookup import Lookup
from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.model.names import TopicName

from .config import ClientConfig
from .connections.backoff import Backoff
from .gather_all import gather_all
from .memory_limit import MemoryLimit

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


class TopicPart(Protocol):
    """One topic's part of a producer or consumer."""

    async def start(self) -> None: ...

    def close(self) -> Coroutine[Any, Any, None]: ...


@dataclass(frozen=True, slots=True)
class ClientContext:
    """The client's settings and doors, for the producers and consumers that it makes."""

    config: ClientConfig
    lookup: Lookup
    clock: Clock
    chance: Callable[[], float]  # In [0, 1).
    ids: Iterator[int]  # Of producers and consumers, on all connections.
    backoff: Callable[[], Backoff]
    memory: MemoryLimit | None = None  # Of all producers together; None: there is no limit.

    async def watch_partitions(
        self, name: TopicName, count: int, grow: Callable[[list[TopicName]], Awaitable[None]]
    ) -> None:
        """Call ``grow`` with the partitions that the topic gets beyond ``count``."""

        async def more(indexes: range) -> None:
            await grow([name.partition(index) for index in indexes])

        if self.config.partitions_refresh_s:
            await watch_partitions(
                str(name),
                count,
                more,
                lookup=self.lookup,
                clock=self.clock,
                interval_s=self.config.partitions_refresh_s,
            )


def partitions_of(name: TopicName, count: int) -> list[TopicName]:
    """The ``count`` partitions of a topic; the topic itself when it has none."""
    return [name.partition(index) for index in range(count)] or [name]


async def start_all(parts: Sequence[TopicPart], *, one_first: bool = False) -> None:
    """Start all; when one fails, or this is cancelled, close them all again.

    With ``one_first`` the others follow the first one: of two producers that wait for all
    partitions, neither then waits for what the other has.
    """
    try:
        if one_first:
            await parts[0].start()
        await gather_all(part.start() for part in (parts[1:] if one_first else parts))
    except BaseException:
        await gather_all(part.close() for part in parts)
        raise
