"""What runs on a timer: keep-alive of all connections, trimming and unloading of all topics."""

import logging
from typing import Final

from magnetar.clock import Clock
from magnetar.errors import MagnetarError

from .connection import Connection
from .topics.registry import TopicRegistry

log = logging.getLogger(__name__)

SWEEPS_PER_INTERVAL: Final = 30


class KeepAliveSweep:
    """Ticks the connections that are due: one timer for all of them."""

    def __init__(self, interval_s: float, clock: Clock) -> None:
        self._pause_s = interval_s / SWEEPS_PER_INTERVAL
        self._clock = clock
        self._connections: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._connections)

    def members(self) -> list[Connection]:
        return list(self._connections)

    def add(self, connection: Connection) -> None:
        self._connections.add(connection)

    def discard(self, connection: Connection) -> None:
        self._connections.discard(connection)

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


async def look_after_topics(registry: TopicRegistry, interval_s: float, clock: Clock) -> None:
    """Every so often, roll over old ledgers, delete those not needed, and unload idle topics."""
    while True:
        await clock.sleep(interval_s)
        for topic in list(registry.loaded.values()):
            try:
                await topic.maintain()
                await registry.unload_if_idle(topic)
            except MagnetarError as error:
                log.warning("ledger.trim_failed topic=%s error=%s", topic.name, error)
            except Exception:  # One topic's defect must not end trimming for all.
                log.exception("ledger.trim_failed topic=%s", topic.name)
