"""PING, PONG, and when the peer is given up. Pure."""

from typing import Literal

_EARLY = 0.02  # of an interval: timers fire a moment before their time, too


class KeepAlive:
    """One side's watch over one connection.

    Each ``interval_s`` a PING is due, whether the connection was idle or not. When the next one is
    due and nothing at all has come since the last, the peer is gone.
    """

    __slots__ = ("_interval_s", "_waiting", "due")

    due: float  # when ``tick`` has something to say, in seconds

    def __init__(self, interval_s: float, now: float) -> None:
        self.due = now + interval_s
        self._interval_s = interval_s
        self._waiting = False  # for any sign of life since the last PING

    def received(self) -> None:
        """Anything came from the peer."""
        self._waiting = False

    def tick(self, now: float) -> Literal["ping", "close"] | None:
        """What to do now. To be asked at ``due``; asked earlier it says None."""
        if now < self.due - _EARLY * self._interval_s:
            return None
        self.due = now + self._interval_s
        if self._waiting:
            return "close"
        self._waiting = True
        return "ping"
