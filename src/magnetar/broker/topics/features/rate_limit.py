"""A limit on messages and bytes in time: what may go now, and how long to wait for more. Pure.

What goes is counted in runs. The run that uses up a limit goes as a whole, and nothing after it
until that is made up for: over time the rate is exact.
"""

from collections.abc import Callable, Sequence
from typing import Final

from magnetar.late_dataclass import dataclass

WAIT_MIN_S: Final = 0.02
"""The shortest wait: at a high rate, callers wait seldom instead of often."""
WAIT_MAX_S: Final = 1.0
"""Then it looks again: the limit may have changed."""
MEASURED_S: Final = 1.0
"""Over at least so long the rate of publishing is measured, where a limit is relative to it."""

_INFINITE: Final = float("inf")

Counters = Callable[[], tuple[int, int]]
"""Tells messages and bytes published up to now."""


@dataclass(slots=True, eq=False)
class RateLimit:
    """A rate limit, unlimited until it is set. ``name`` is its owner: topic, subscription, broker.

    ``messages`` and ``size_bytes`` may go, as of the last look at the time; below 0 they are to be
    made up for. They and their bounds are infinite where nothing is limited, so that whatever is
    done for each run needs no questions.
    """

    name: str
    at: float  # When it was refilled last.
    messages: float = _INFINITE
    size_bytes: float = _INFINITE
    _messages_max: float = _INFINITE
    _bytes_max: float = _INFINITE
    _messages_per_s: float = 0.0
    _bytes_per_s: float = 0.0
    _given: tuple[int, int, float] = (0, 0, 1.0)  # Messages, bytes, and the period.
    _published: "_Published | None" = None

    def set(
        self,
        messages: int,
        size_bytes: int,
        now: float,
        *,
        period_s: float = 1,
        above: Counters | None = None,
    ) -> None:
        """So many in a period from now on; 0 or less is no limit.

        What is to be made up for stays to be made up for. ``above``: and as many more as are
        published meanwhile.
        """
        self.refill(now)
        self._given = messages, size_bytes, max(period_s, 1)
        if above is None:
            self._published = None
        elif self._published is None:
            self._published = _Published(above, now)
        self._find_bounds()
        self.messages = min(self.messages, self._messages_max) if messages > 0 else _INFINITE
        self.size_bytes = min(self.size_bytes, self._bytes_max) if size_bytes > 0 else _INFINITE

    def __bool__(self) -> bool:
        """Whether it limits anything."""
        return self._messages_per_s > 0 or self._bytes_per_s > 0

    def take(self, messages: int, size_bytes: int, now: float) -> bool:
        """So much goes. True: it is used up then."""
        self.refill(now)
        self.messages -= messages
        self.size_bytes -= size_bytes
        return self.messages < 1 or self.size_bytes < 1

    def refill(self, now: float) -> None:
        """Look at the time."""
        elapsed = now - self.at
        if elapsed > 0:
            self.at = now
            if self._published is not None and self._published.measure(now):
                self._find_bounds()
            if self._messages_per_s:
                more = elapsed * self._messages_per_s
                self.messages = min(self.messages + more, self._messages_max)
            if self._bytes_per_s:
                self.size_bytes = min(
                    self.size_bytes + elapsed * self._bytes_per_s, self._bytes_max
                )

    def wait_s(self, now: float) -> float:
        """How long until more may go; 0: at once."""
        self.refill(now)
        wait_s = 0.0
        if self.messages < 1:
            wait_s = (1 - self.messages) / self._messages_per_s
        if self.size_bytes < 1:
            wait_s = max(wait_s, (1 - self.size_bytes) / self._bytes_per_s)
        return wait_s

    def _find_bounds(self) -> None:
        messages, size_bytes, period_s = self._given
        published = self._published
        self._messages_per_s = self._bytes_per_s = 0.0
        self._messages_max = self._bytes_max = _INFINITE
        if messages > 0:
            more = 0.0 if published is None else published.messages_per_s
            self._messages_per_s = messages / period_s + more
            self._messages_max = self._messages_per_s * period_s
        if size_bytes > 0:
            more = 0.0 if published is None else published.bytes_per_s
            self._bytes_per_s = size_bytes / period_s + more
            self._bytes_max = self._bytes_per_s * period_s


class _Published:
    """How fast is published, measured every so often."""

    __slots__ = ("_at", "_before", "_counters", "bytes_per_s", "messages_per_s")

    def __init__(self, counters: Counters, now: float) -> None:
        self._counters = counters
        self._before = counters()
        self._at = now
        self.messages_per_s = 0.0
        self.bytes_per_s = 0.0

    def measure(self, now: float) -> bool:
        """Look at the counters when it is time to. True: the rates are new."""
        elapsed = now - self._at
        if elapsed < MEASURED_S:
            return False
        before, self._before = self._before, self._counters()
        self.messages_per_s = (self._before[0] - before[0]) / elapsed
        self.bytes_per_s = (self._before[1] - before[1]) / elapsed
        self._at = now
        return True


def wait_s(limits: Sequence[RateLimit], now: float) -> float:
    """How long to wait until all of them may let something go; 0: not at all."""
    longest = max((limit.wait_s(now) for limit in limits), default=0.0)
    return min(max(longest, WAIT_MIN_S), WAIT_MAX_S) if longest else 0.0
