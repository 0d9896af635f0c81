"""Whether the broker of a connection is alive, and whether the connection is in use."""

import asyncio
from collections.abc import Callable
from enum import Enum, auto

from magnetar.clock import Clock
from magnetar.wire.keepalive import KeepAlive


class LivenessResult(Enum):
    """The outcome of one look at the connection."""

    PING = auto()  # The broker has been silent: it is to be sent a PING.
    DEAD = auto()  # It has not answered the PING.
    IDLE = auto()  # The connection was not used for too long.


class Liveness:
    """One timer of one connection, which runs from ``watch`` until ``stop``."""

    received: Callable[[], None]  # Anything came from the broker.

    def __init__(
        self,
        interval_s: float,
        idle_max_s: float,
        clock: Clock,
        *,
        used: Callable[[], bool],
        tell: Callable[[LivenessResult], None],
    ) -> None:
        """``tell`` gets what was found; after DEAD or IDLE the timer has ended.

        IDLE: the connection was not ``used`` for ``idle_max_s`` seconds; 0 is never.
        """
        self._keep_alive = KeepAlive(interval_s, clock.now())
        self.received = self._keep_alive.received
        self._idle_max_s = idle_max_s
        self._idle_since: float | None = None
        self._clock = clock
        self._used = used
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def keep(self) -> None:
        """Do not take it for idle yet: it is about to be used."""
        self._idle_since = None

    def watch(self) -> None:
        """Look again when the next PING is due."""
        wait_s = max(self._keep_alive.due - self._clock.now(), 0.0)
        self._timer = self._loop.call_later(wait_s, self._tick)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        verdict = self._keep_alive.tick(self._clock.now())
        if verdict == "close":
            self._tell(LivenessResult.DEAD)
        elif self._idle_too_long():
            self._tell(LivenessResult.IDLE)
        else:
            if verdict == "ping":
                self._tell(LivenessResult.PING)
            self.watch()

    def _idle_too_long(self) -> bool:
        """Return the answer, which is found as often as the keep-alive looks."""
        if not self._idle_max_s or self._used():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = self._clock.now()
        else:
            return self._clock.now() - self._idle_since >= self._idle_max_s
        return False
