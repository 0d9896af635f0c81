"""What runs on a timer: keep-alive of all connections, and letting go of old ledgers."""

import logging
from typing import Final, Generic, Protocol, TypeVar

from magnetar.clock import Clock
from magnetar.errors import MagnetarError

from .topics.registry import TopicRegistry

log = logging.getLogger(__name__)

SWEEPS_PER_INTERVAL: Final = 30


class Watched(Protocol):
    """Somebody who wants to be called when it is time."""

    @property
    def due(self) -> float:
        """When, on the clock's scale; it moves on with each tick."""

    def tick(self) -> None: ...


T = TypeVar("T", bound=Watched)


class KeepAliveSweep(Generic[T]):
    """Looks at all connections now and then, and ticks those that are due: one timer for all."""

    def __init__(self, interval_s: float, clock: Clock) -> None:
        self._pause_s = interval_s / SWEEPS_PER_INTERVAL
        self._clock = clock
        self._members: set[T] = set()

    def __len__(self) -> int:
        return len(self._members)

    def members(self) -> list[T]:
        return list(self._members)

    def add(self, member: T) -> None:
        self._members.add(member)

    def discard(self, member: T) -> None:
        self._members.discard(member)

    def sweep(self) -> None:
        """Tick who is due."""
        now = self._clock.now()
        for member in [member for member in self._members if member.due <= now]:
            try:
                member.tick()
            except Exception:  # one connection's defect must not end keep-alive for all
                log.exception("keep_alive.tick_failed member=%r", member)

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            await self._clock.sleep(self._pause_s)
            self.sweep()


async def trim_for_ever(registry: TopicRegistry, interval_s: float, clock: Clock) -> None:
    """Now and then, end the ledgers that are old enough and let go of those nobody needs."""
    while True:
        await clock.sleep(interval_s)
        for topic in list(registry.loaded.values()):
            try:
                await topic.maintain()
            except MagnetarError as error:
                log.warning("ledger.trim_failed topic=%s error=%s", topic.name, error)
            except Exception:  # one topic's defect must not end trimming for all
                log.exception("ledger.trim_failed topic=%s", topic.name)
