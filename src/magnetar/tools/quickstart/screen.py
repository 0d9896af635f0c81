"""What fits on a terminal: each stage on one line, the carriers below. Pure.

Nothing is cut off or wrapped from 60 columns on. What a narrow terminal has no room for is left
out as a whole: notes and columns at the right first. A low one shows the busiest carriers, and one
row for the others.
"""

from collections.abc import Iterable, Mapping

from rich import box
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from magnetar.tools.quickstart.board import Stage
from magnetar.tools.quickstart.totals import CarrierTotal

WIDE = 100
"""From so many columns on there is room for long progress bars, and for all notes beside them."""
ALL_COLUMNS = 76
"""So wide is the table of carriers with all its columns."""
_LINES_BESIDE_CARRIERS = 5  # The title, the header, a rule, a blank line, the sums.
TABLE_LINES_MIN = _LINES_BESIDE_CARRIERS + 2
"""The table of carriers with one of them, and one row for the others."""
_STAGE_COLUMNS = 27  # Before the progress bar: mark, title, seconds, and a space after each.
_COUNT_COLUMNS = 22  # Behind it: "  336,776  123,456/s  ".
_TITLE = "Departures from New York, 2013 (delays in minutes)"
_COMPANY_FORMS = (" Inc.", " Co.", " Corporation")


def stages_table(
    stages: Iterable[Stage], now_s: float, width: int, running: RenderableType
) -> Table:
    """A line for each stage, ``width`` columns wide at most; ``running`` marks those under way."""
    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(no_wrap=True, width=16)
    table.add_column(no_wrap=True, width=7, justify="right")
    table.add_column(no_wrap=True)
    for stage in stages:
        took_s = stage.took_s(now_s)
        table.add_row(
            _mark(stage, running),
            stage.title,
            f"{took_s:.1f} s" if took_s else "",
            _counted(stage, now_s, width - _STAGE_COLUMNS)
            if stage.total
            else Text(_fitting(stage.note, width - _STAGE_COLUMNS)),
        )
    return table


def carriers_table(
    totals: list[CarrierTotal], airlines: Mapping[str, str], width: int, height: int | None = None
) -> Table:
    """Carriers, busiest first, with a last row of sums.

    ``height`` lines at most, when given: TABLE_LINES_MIN or more.
    """
    rows_max = len(totals) if height is None else height - _LINES_BESIDE_CARRIERS
    shown = totals if len(totals) <= rows_max else totals[: rows_max - 1]
    table = Table(
        title=_TITLE,
        title_justify="left",
        min_width=len(_TITLE),
        box=box.SIMPLE,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    every_column = width >= ALL_COLUMNS
    names = ["flights", "cancelled", "mean", "worst"]
    table.add_column("carrier", no_wrap=True)
    for name in ["days", *names, "on"] if every_column else names:
        table.add_column(name, justify="right", no_wrap=True)
    days = [""] if every_column else []
    for one in shown:
        name = f"{one.carrier} {_short(airlines.get(one.carrier, ''))}"
        delays = [f"{one.mean_departure_delay:.1f}", f"{one.worst_departure_delay:,}"]
        if every_column:
            table.add_row(name, f"{one.days}", *_sums([one]), *delays, one.worst_day)
        else:
            table.add_row(name, *_sums([one]), *delays)
    others = totals[len(shown) :]
    if others:
        table.add_row(f"{len(others)} more", *days, *_sums(others))
    table.add_section()
    table.add_row("all", *days, *_sums(totals))
    return table


def _mark(stage: Stage, running: RenderableType) -> RenderableType:
    if stage.began_s is None:
        return " "
    return running if stage.ended_s is None else Text("✓", style="green")


def _counted(stage: Stage, now_s: float, width: int) -> Table:
    bar = 30 if width >= WIDE - _STAGE_COLUMNS else 10
    rate = stage.rate(now_s)
    table = Table.grid(padding=(0, 2))
    table.add_column(width=bar)
    table.add_column(no_wrap=True, width=7, justify="right")
    table.add_column(no_wrap=True, width=9, justify="right")
    table.add_column(no_wrap=True)
    table.add_row(
        ProgressBar(stage.total, stage.count, width=bar),
        f"{stage.count:,}",
        f"{rate:,.0f}/s" if rate >= 1 else "",
        _fitting(stage.note, width - bar - _COUNT_COLUMNS),
    )
    return table


def _fitting(note: str, width: int) -> str:
    """As many of its parts, from the first on, as there is room for."""
    parts = note.split(", ")
    while parts and len(", ".join(parts)) > width:
        parts.pop()
    return ", ".join(parts)


def _short(airline: str) -> str:
    for form in _COMPANY_FORMS:
        airline = airline.removesuffix(form)
    return airline


def _sums(totals: list[CarrierTotal]) -> list[str]:
    flights = sum(one.flights for one in totals)
    return [f"{flights:,}", f"{sum(one.cancelled for one in totals):,}"]
