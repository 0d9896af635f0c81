"""The live table: carrier by carrier, what the results add up to so far. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rich import box
from rich.table import Table

from quickstart.figures import CarrierDay, Figures
from quickstart.reconcile import Window

ALL_COLUMNS = 76
"""The width of the table with all its columns; a narrower one leaves out the first and the last."""
_LINES_BESIDE_CARRIERS = 5  # The title, the header, a rule, a blank line, the sums.
TABLE_LINES_MIN = _LINES_BESIDE_CARRIERS + 2
"""The table then has one carrier, and one row for the others."""
_TITLE = "Departures from New York, 2013 (delays in minutes)"
_COLUMNS = ("days", "flights", "cancelled", "mean", "worst", "on")


class CarrierTotal(NamedTuple):
    """A carrier's year, or as much of it as the results have so far."""

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
    """The totals of each carrier, the one with the most flights first."""
    cancellations = Counter(carrier for carrier, _ in cancelled)
    days: dict[str, list[tuple[str, Figures]]] = defaultdict(list)
    for where, window in windows.items():
        days[where.carrier].append((where.day, window.figures))
    totals = []
    for carrier, figures in days.items():
        flights = sum(one.flights for _, one in figures)
        minutes = sum(one.flights * (one.mean_departure_delay or 0.0) for _, one in figures)
        mean = minutes / flights if flights else 0.0
        worst = max((one.worst_departure_delay or 0, day) for day, one in figures)
        totals.append(
            CarrierTotal(carrier, len(figures), flights, cancellations[carrier], mean, *worst)
        )
    return sorted(totals, key=lambda one: (-one.flights, one.carrier))


def carriers_table(
    totals: list[CarrierTotal], airlines: Mapping[str, str], width: int, height: int | None = None
) -> Table:
    """A row for each carrier, in the order of ``totals``, and a last row of sums.

    ``height`` lines at most, when given: TABLE_LINES_MIN or more.
    """
    rows_max = len(totals) if height is None else height - _LINES_BESIDE_CARRIERS
    shown = totals if len(totals) <= rows_max else totals[: rows_max - 1]
    columns = slice(None) if width >= ALL_COLUMNS else slice(1, -1)
    table = Table(
        title=_TITLE,
        title_justify="left",
        min_width=len(_TITLE),
        box=box.SIMPLE,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("carrier", no_wrap=True)
    for name in _COLUMNS[columns]:
        table.add_column(name, justify="right", no_wrap=True)
    for one in shown:
        name = re.sub(r" (Inc\.|Co\.|Corporation)$", "", airlines.get(one.carrier, ""))
        table.add_row(f"{one.carrier} {name}", *_cells(one)[columns])
    if len(shown) < len(totals):
        others = totals[len(shown) :]
        table.add_row(f"{len(others)} more", *_sums(others)[columns])
    table.add_section()
    table.add_row("all", *_sums(totals)[columns])
    return table


def _cells(one: CarrierTotal) -> list[str]:
    counts = [f"{one.days}", f"{one.flights:,}", f"{one.cancelled:,}"]
    delays = [f"{one.mean_departure_delay:.1f}", f"{one.worst_departure_delay:,}"]
    return [*counts, *delays, one.worst_day]


def _sums(totals: list[CarrierTotal]) -> list[str]:
    flights = sum(one.flights for one in totals)
    cancelled = sum(one.cancelled for one in totals)
    return ["", f"{flights:,}", f"{cancelled:,}", "", "", ""]
