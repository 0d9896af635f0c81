"""Shared: entries go round the consumers, best priority first, a few at a time. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

C = TypeVar("C")

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
        start = 0
        end = len(weights)
        while start < end:
            seat = self._next(seats)
            if seat is None:
                break
            turn = min(seat.room, ROUND_ROBIN_MESSAGES_MAX)
            stop = start + fitting(weights[start : start + turn], turn)
            seat.room -= sum(weights[start:stop])
            shares.append(Share(seat.consumer, start, stop))
            start = stop
        return shares

    def forget(self, consumer: C) -> None:
        """The consumer is gone."""
        for priority in [known for known, last in self._last.items() if last is consumer]:
            del self._last[priority]

    def _next(self, seats: Sequence[Seat[C]]) -> Seat[C] | None:
        open_seats = [seat for seat in seats if seat.room > 0]
        if not open_seats:
            return None
        best = min(seat.priority for seat in open_seats)
        level = [seat for seat in seats if seat.priority == best]
        last = self._last.get(best)
        after = next((i + 1 for i, seat in enumerate(level) if seat.consumer is last), 0)
        for seat in level[after:] + level[:after]:
            if seat.room > 0:
                self._last[best] = seat.consumer
                return seat
        raise AssertionError("an open seat of the best priority exists")
