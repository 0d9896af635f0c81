"""Chooses what is traced. Pure.

Who sent something may have decided; of the rest one in so many is taken, at distances by chance.
Never more than some in a second: a client that samples all it sends must not slow down the others.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from magnetar.model.counts import TraceCounts

from .traceparent import Parent, parent_of

TRACES_PER_S_MAX: Final = 100
"""Publishes and requests that are traced in a second; others are counted as skipped."""
DELIVERIES_PER_S_MAX: Final = 200
"""The most deliveries that are traced in a second; a publish may have many."""

Chance: TypeAlias = Callable[[], float]
"""A number from 0 to less than 1."""


class PerSecond:
    """So many in a second, and no more."""

    __slots__ = ("_left", "_most", "_until")

    def __init__(self, most: int) -> None:
        self._most = self._left = most
        self._until = -math.inf

    def take(self, now: float) -> bool:
        if now >= self._until:
            self._left, self._until = self._most, now + 1
        self._left -= 1
        return self._left >= 0


class Sampling:
    """Chooses what is traced."""

    __slots__ = ("_chance", "_counts", "_from_parents", "_limit", "_share", "_skip")

    def __init__(
        self, *, from_parents: bool, share: float, chance: Chance, counts: TraceCounts
    ) -> None:
        """``share`` of what has no parent, from 0 to 1; without ``from_parents``, of all."""
        self._from_parents = from_parents
        self._share = share
        self._chance = chance
        self._counts = counts
        self._limit = PerSecond(TRACES_PER_S_MAX)
        self._skip = self._distance()  # So many are not traced before the next is.

    def choose(self, entries: Sequence[bytes], now: float) -> list[tuple[int, Parent | None]]:
        """Which of these entries are traced, by index, and in which span they were sent."""
        chosen = []
        for index, entry in enumerate(entries):
            parent = parent_of(entry)
            if self.wants(parent) and self.admits(now):
                chosen.append((index, parent))
        return chosen

    def wants(self, parent: Parent | None) -> bool:
        """Whether something that was sent in this span is traced."""
        if parent is not None and self._from_parents:
            return parent.sampled
        if self._skip:
            self._skip -= 1
            return False
        self._skip = self._distance()
        return bool(self._share)

    def admits(self, now: float) -> bool:
        """Whether there were not too many in this second."""
        if self._limit.take(now):
            return True
        self._counts.skipped += 1
        return False

    def _distance(self) -> int:
        if self._share >= 1:
            return 0
        if self._share <= 0:
            return 1 << 62
        share = max(self._share, sys.float_info.min)
        return int(math.log(1 - self._chance()) / math.log1p(-share))
