"""What runs on a timer: keep-alive of all connections, and what all topics need now and then."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.model.histogram import Histogram

from .cluster.topic_registry import TopicRegistry
from .connection import Connection
from .settings.housekeeping import HousekeepingSettings
from .topics.topic import StoredTopic, Topic

log = logging.getLogger(__name__)

SWEEPS_PER_INTERVAL: Final = 30


class KeepAliveSweep:
    """Ticks the connections that are due: one timer for all of them."""

    def __init__(self, interval_s: float, clock: Clock) -> None:
        self._pause_s = interval_s / SWEEPS_PER_INTERVAL
        self._clock = clock
        self._connections: dict[Connection, None] = {}  # In the order in which they came.

    def __len__(self) -> int:
        return len(self._connections)

    def members(self) -> list[Connection]:
        return list(self._connections)

    def add(self, connection: Connection) -> None:
        self._connections[connection] = None

    def discard(self, connection: Connection) -> None:
        self._connections.pop(connection, None)

    def sweep(self) -> None:
        """Tick every connection that is due."""
        now = self._clock.now()
        for connection in [each for each in self._connections if each.due <= now]:
            try:
                connection.tick()
            except Exception:  # One connection's defect must not end keep-alive for all.
                log.exception("keep_alive.tick_failed member=%r", connection)

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            await self._clock.sleep(self._pause_s)
            self.sweep()


class HousekeepingTask(NamedTuple):
    """A periodic task for every open topic. It raises what the stores raise."""

    what: str
    interval_s: float
    do: Callable[[Topic], Awaitable[None]]
    took: Histogram | None = None  # How long it took for all of them.


def chores(
    settings: HousekeepingSettings,
    registry: TopicRegistry,
    *,
    retention_check_s: float,
    inactive_check_s: float,
    backlog_checks: Histogram,
) -> list[HousekeepingTask]:
    """Runs a broker's periodic tasks; ``backlog_checks`` notes how long that check takes."""

    async def trim(topic: Topic) -> None:
        """Roll over old ledgers, delete those not needed, and unload idle topics.

        One whose log was fenced while it was opened is closed: whoever uses it opens it afresh.
        """
        if topic.fenced:
            if registry.loaded.get(topic.name) is topic:
                log.warning("topic.opened_afresh topic=%s reason=its log is fenced", topic.name)
                await registry.unload(topic.name)
            return
        await topic.maintain()
        await registry.unload_if_idle(topic)

    expire = _if_stored(lambda topic: topic.upkeep.expire_old())
    drop_unused_subscriptions = _if_stored(lambda topic: topic.upkeep.drop_unused_subscriptions())
    compact = _if_stored(lambda topic: topic.compact_if_due())
    found = [
        HousekeepingTask("trim", retention_check_s, trim),
        HousekeepingTask("expire messages", settings.expiry_check_s, expire),
        HousekeepingTask(
            "expire subscriptions", settings.subscription_check_s, drop_unused_subscriptions
        ),
        HousekeepingTask("compact", settings.compaction_check_s, compact),
        HousekeepingTask("delete unused", inactive_check_s, registry.delete_if_unused),
    ]
    if settings.backlog_check:
        check_backlog = _if_stored(lambda topic: topic.upkeep.check_backlog())
        every_s = settings.backlog_check_s
        found.append(HousekeepingTask("check backlog", every_s, check_backlog, backlog_checks))
    return found


def _if_stored(do: Callable[[StoredTopic], Awaitable[None]]) -> Callable[[Topic], Awaitable[None]]:
    """Do it for topics that keep messages."""

    async def do_if_stored(topic: Topic) -> None:
        if topic.stored is not None:
            await do(topic.stored)

    return do_if_stored


async def look_after_topics(registry: TopicRegistry, chore: HousekeepingTask, clock: Clock) -> None:
    """Do one chore for every open topic, for ever."""
    while True:
        await clock.sleep(chore.interval_s)
        began = clock.now()
        await do_for_all(registry, chore)
        if chore.took is not None:
            chore.took.note(clock.now() - began)


async def do_for_all(registry: TopicRegistry, chore: HousekeepingTask) -> None:
    """Do one chore for every open topic, once."""
    for topic in list(registry.loaded.values()):
        try:
            await chore.do(topic)
        except MagnetarError as error:
            log.warning("chore.failed what=%r topic=%s error=%s", chore.what, topic.name, error)
        except Exception:  # One topic's defect must not stop what others need.
            log.exception("chore.failed what=%r topic=%s", chore.what, topic.name)
