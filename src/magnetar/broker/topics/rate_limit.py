"""A limit on messages and bytes in time: what may go now, and how long to wait for more. Pure.

What goes is counted in runs. The run that uses up a limit goes as a whole, and nothing after it
until that is made up for: over time the rate is exact.
"""

from collections.abc import Callable, Sequence
from typing import Final

WAIT_MIN_S: Final = 0.02
"""Whoever waits does so at least this long, so that few wait often where the rate is high."""
WAIT_MAX_S: Final = 1.0
"""Then it looks again: the limit may have changed."""
MEASURED_S: Final = 1.0
"""Over at least so long the rate of publishing is measured, where a limit is relative to it."""

_INFINITE: Final = float("inf")

Counters = Callable[[], tuple[int, int]]
"""Tells messages and bytes published up to now."""


class _Bucket:
    """Tokens for a period, refilled steadily; overdrawn below 0."""

    __slots__ = ("amount", "tokens")

    def __init__(self) -> None:
        self.amount = 0.0  # In a period; 0: no limit.
        self.tokens = 0.0

    def set(self, amount: int) -> None:
        """Keep what is left, or is to be made up for, of an amount before."""
        self.tokens = min(self.tokens, amount) if self.amount else amount
        self.amount = max(amount, 0)

    def refill(self, periods: float, extra: float) -> None:
        """``extra`` comes on top in a period."""
        most = self.amount + extra
        self.tokens = min(self.tokens + periods * most, most)

    def wait(self, extra: float) -> float:
        """Periods until there is a token."""
        return (1 - self.tokens) / (self.amount + extra) if self.amount and self.tokens < 1 else 0.0


class RateLimit:
    """A limit, which is none until it is set. ``name`` tells whose it is."""

    __slots__ = ("_at", "_bytes", "_messages", "_period_s", "_published", "name")

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        self._at = now
        self._period_s = 1.0
        self._messages = _Bucket()
        self._bytes = _Bucket()
        self._published: _Published | None = None

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

        ``above``: and as many more as are published meanwhile.
        """
        self._refill(now)
        self._messages.set(messages)
        self._bytes.set(size_bytes)
        self._period_s = max(period_s, 1)
        if above is None:
            self._published = None
        elif self._published is None:
            self._published = _Published(above, now)

    def __bool__(self) -> bool:
        """Whether it limits anything."""
        return bool(self._messages.amount or self._bytes.amount)

    def take(self, messages: int, size_bytes: int, now: float) -> None:
        """So much goes."""
        self._refill(now)
        self._messages.tokens -= messages
        self._bytes.tokens -= size_bytes

    def messages_left(self, now: float) -> float:
        """How many may go."""
        self._refill(now)
        return self._messages.tokens if self._messages.amount else _INFINITE

    def bytes_left(self, now: float) -> float:
        self._refill(now)
        return self._bytes.tokens if self._bytes.amount else _INFINITE

    def wait_s(self, now: float) -> float:
        """How long until more may go; 0: at once."""
        self._refill(now)
        messages, size_bytes = self._extra()
        return self._period_s * max(self._messages.wait(messages), self._bytes.wait(size_bytes))

    def _refill(self, now: float) -> None:
        periods = (now - self._at) / self._period_s
        if periods > 0:
            self._at = now
            if self._published is not None:
                self._published.measure(now)
            messages, size_bytes = self._extra()
            self._messages.refill(periods, messages)
            self._bytes.refill(periods, size_bytes)

    def _extra(self) -> tuple[float, float]:
        if self._published is None:
            return 0.0, 0.0
        return (
            self._published.messages_per_s * self._period_s,
            self._published.bytes_per_s * self._period_s,
        )


class _Published:
    """How fast is published, measured every so often."""

    __slots__ = ("_at", "_before", "_counters", "bytes_per_s", "messages_per_s")

    def __init__(self, counters: Counters, now: float) -> None:
        self._counters = counters
        self._before = counters()
        self._at = now
        self.messages_per_s = 0.0
        self.bytes_per_s = 0.0

    def measure(self, now: float) -> None:
        elapsed = now - self._at
        if elapsed >= MEASURED_S:
            before, self._before = self._before, self._counters()
            self.messages_per_s = (self._before[0] - before[0]) / elapsed
            self.bytes_per_s = (self._before[1] - before[1]) / elapsed
            self._at = now


def wait_s(limits: Sequence[RateLimit], now: float) -> float:
    """How long to wait until all of them may let something go; 0: not at all."""
    longest = max((limit.wait_s(now) for limit in limits), default=0.0)
    return min(max(longest, WAIT_MIN_S), WAIT_MAX_S) if longest else 0.0
