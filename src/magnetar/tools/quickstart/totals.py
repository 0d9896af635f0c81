"""Carrier by carrier, what the results add up to so far: the rows of the live table. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from magnetar.tools.quickstart.figures import CarrierDay
from magnetar.tools.quickstart.reconcile import Window


class CarrierTotal(NamedTuple):
    """A carrier's year, or as much of it as was heard of."""

    carrier: str
    days: int
    flights: int
    cancelled: int
    mean_departure_delay: float
    worst_departure_delay: int
    worst_day: str


def by_carrier(
    windows: Mapping[CarrierDay, Window], cancelled: Iterable[tuple[str, int]]
) -> list[CarrierTotal]:
    """The busiest first."""
    cancellations = Counter(carrier for carrier, _ in cancelled)
    days: dict[str, list[tuple[str, Window]]] = defaultdict(list)
    for where, window in windows.items():
        days[where.carrier].append((where.day, window))
    totals = []
    for carrier, windows_of_carrier in days.items():
        figures = [(day, window.figures) for day, window in windows_of_carrier]
        flights = sum(one.flights for _, one in figures)
        minutes = sum(one.flights * (one.mean_departure_delay or 0.0) for _, one in figures)
        worst, worst_day = max((one.worst_departure_delay or 0, day) for day, one in figures)
        totals.append(
            CarrierTotal(
                carrier=carrier,
                days=len(figures),
                flights=flights,
                cancelled=cancellations[carrier],
                mean_departure_delay=minutes / flights if flights else 0.0,
                worst_departure_delay=worst,
                worst_day=worst_day,
            )
        )
    return sorted(totals, key=lambda one: (-one.flights, one.carrier))
