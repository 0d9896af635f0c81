"""The answers, computed without Magnetar and without Spark: plain sums over the data set. Pure.

This stays apart from the pipeline on purpose: the date comes from the data set's own columns, never
from a message's event time, so that a mistake there cannot hide in both.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from quickstart.flights import Flight


class CarrierDay(NamedTuple):
    """A window: one carrier's flights on one day of scheduled departure, ``2013-01-31``."""

    carrier: str
    day: str


class Figures(NamedTuple):
    """What is asked of a window. Delays are in minutes, over flights that were not cancelled.

    The arrival figures are over the flights that arrived where they were to: None when none did.
    """

    flights: int
    mean_departure_delay: float | None
    worst_departure_delay: int | None
    mean_arrival_delay: float | None
    worst_arrival_delay: int | None


def by_carrier_and_day(flights: Iterable[Flight]) -> dict[CarrierDay, Figures]:
    """The figures of every window that has a flight which was not cancelled."""
    operated: dict[CarrierDay, list[Flight]] = defaultdict(list)
    for one in flights:
        if not one.cancelled:
            day = f"{one.year:04}-{one.month:02}-{one.day:02}"
            operated[CarrierDay(one.carrier, day)].append(one)
    return {
        where: Figures(
            len(of_day),
            *_mean_and_worst(one.departure_delay for one in of_day),
            *_mean_and_worst(one.arrival_delay for one in of_day),
        )
        for where, of_day in operated.items()
    }


def _mean_and_worst(delays: Iterable[int | None]) -> tuple[float | None, int | None]:
    known = [delay for delay in delays if delay is not None]
    return (sum(known) / len(known), max(known)) if known else (None, None)
