"""Shared: entries go round the consumers, best priority first, a few at a time. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import attrgetter
from typing import Generic, TypeVar

C = TypeVar("C")

_priority_of = attrgetter("priority")

ROUND_ROBIN_MESSAGES_MAX = 20
"""Messages a consumer gets in one turn: Pulsar's ``dispatcherMaxRoundRobinBatchSize``."""


@dataclass(slots=True)
class Seat(Generic[C]):
    """A consumer at the table: ``room`` is how many messages it may still take (> 0 to play)."""

    consumer: C
    priority: int
    room: int


@dataclass(slots=True)
class Share(Generic[C]):
    """Entries ``start`` to ``stop`` - 1 (indexes into the run) go to ``consumer``."""

    consumer: C
    start: int
    stop: int


def fitting(weights: Sequence[int], room: int) -> int:
    """How many of the leading entries may go out for ``room`` messages.

    An entry is never split: it goes while any room is left, so the last one may overdraw.
    """
    if room <= 0:
        return 0
    return min(bisect_left(list(accumulate(weights)), room) + 1, len(weights))


class RoundRobin(Generic[C]):
    """Remembers, per priority, who was served last."""

    def __init__(self) -> None:
        self._last: dict[int, C] = {}

    def assign(self, weights: Sequence[int], seats: Sequence[Seat[C]]) -> list[Share[C]]:
        """Deal a run's entries out to ``seats`` (sorted by priority); rooms go down.

        The shares cover the run from its start without gaps; entries behind the last share found
        no room.
        """
        shares: list[Share[C]] = []
        start, end = 0, len(weights)
        plain = weights.count(1) == end
        for priority, level in groupby(seats, _priority_of):
            ring = self._ring(priority, list(level))
            while ring and start < end:
                for seat in ring:
                    turn = min(seat.room, ROUND_ROBIN_MESSAGES_MAX, end - start)
                    if not turn:
                        break
                    stop = start + turn
                    if not plain:
                        stop = start + fitting(weights[start:stop], turn)
                    seat.room -= turn if plain else sum(weights[start:stop])
                    shares.append(Share(seat.consumer, start, stop))
                    start = stop
                self._last[priority] = shares[-1].consumer
                ring = [seat for seat in ring if seat.room > 0]
        return shares

    def forget(self, consumer: C) -> None:
        """The consumer is gone."""
        for priority in [known for known, last in self._last.items() if last is consumer]:
            del self._last[priority]

    def _ring(self, priority: int, level: list[Seat[C]]) -> list[Seat[C]]:
        """Those with room, from the one whose turn it is on."""
        last = self._last.get(priority)
        after = next((i + 1 for i, seat in enumerate(level) if seat.consumer is last), 0)
        return [seat for seat in level[after:] + level[:after] if seat.room > 0]
