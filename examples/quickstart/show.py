"""What the user sees: stages with progress and a live table, or plain lines without a terminal.

On a terminal nothing is cut off or wrapped from 60 columns on. What a narrow one has no room for is
left out as a whole: notes and columns at the right first. A low one shows the busiest carriers.
"""

from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from quickstart.board import Board, Stage
from quickstart.carriers import TABLE_LINES_MIN, by_carrier, carriers_table
from quickstart.reconcile import Reconciliation
from quickstart.results import Results

_WIDE = 100
"""A terminal of so many columns has room for long progress bars and all notes beside them."""
_STAGE_COLUMNS = 27  # Before the progress bar: mark, title, seconds, and a space after each.
_COUNT_COLUMNS = 22  # Behind it: "  336,776  123,456/s  ".
_PLAIN_EVERY_S = 5.0


class Show(Live):
    """A picture of the board that rich draws again and again in a thread of its own."""

    def __init__(
        self, console: Console, board: Board, results: Results, airlines: Mapping[str, str]
    ) -> None:
        self._whole = False  # Whether the picture may scroll, as the last one may.
        self._board = board
        self._results = results
        self._airlines = airlines
        self._spinner = Spinner("dots")
        self._said: set[tuple[str, bool]] = set()
        self._next_s = 0.0
        super().__init__(
            console=console,
            get_renderable=self._picture,
            refresh_per_second=4,
            transient=not console.is_terminal,  # A log gets lines instead of a last picture.
        )

    def tick(self) -> None:
        """Without a terminal, print a line when a stage begins or ends, and every five seconds."""
        if self.console.is_terminal:
            return
        now_s = self._board.clock.now()
        due = now_s >= self._next_s
        if due:
            self._next_s = now_s + _PLAIN_EVERY_S
        for stage in self._board.stages:
            state = (stage.title, stage.ended_s is not None)
            news = stage.began_s is not None and state not in self._said
            if news or (due and stage.count and stage.ended_s is None):
                self._said.add(state)
                self.say(f"{stage.title:<18} {_text(stage)}")

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def conclude(self, outcome: Reconciliation) -> None:
        """Leave the last picture as it is, whole, and the outcome below it."""
        self._whole = True
        self.stop()
        text = "\n".join(lines(outcome, self._board))
        if not self.console.is_terminal:
            self.say(text)
            return
        colour = "green" if outcome.adds_up else "red"
        title = "It adds up" if outcome.adds_up else "It does not add up"
        self.console.print(Panel(Text(text), title=title, border_style=colour, expand=False))

    def _picture(self) -> RenderableType:
        width, height = self.console.size
        stages = self._stages(width)
        height -= len(self._board.stages)
        # Both are copied in one step each, since a thread goes on adding to them.
        totals = by_carrier(self._results.windows.copy(), self._results.cancelled.copy())
        if not totals or (height < TABLE_LINES_MIN and not self._whole):
            return stages
        table = carriers_table(totals, self._airlines, width, None if self._whole else height)
        return Group(stages, table)

    def _stages(self, width: int) -> Table:
        """A line for each stage, ``width`` columns wide at most."""
        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(no_wrap=True, width=16)
        table.add_column(no_wrap=True, width=7, justify="right")
        table.add_column(no_wrap=True)
        for stage in self._board.stages:
            mark: RenderableType = self._spinner if stage.began_s is not None else ""
            if stage.ended_s is not None:
                mark = Text("✓", style="green")
            seconds = f"{stage.took_s:.1f} s" if stage.took_s else ""
            table.add_row(mark, stage.title, seconds, _progress(stage, width - _STAGE_COLUMNS))
        return table


def _progress(stage: Stage, width: int) -> RenderableType:
    if not stage.total:
        return Text(_fitting(stage.note, width))
    bar = 30 if width >= _WIDE - _STAGE_COLUMNS else 10
    row = Table.grid(padding=(0, 2))
    row.add_column(width=bar)
    row.add_column(no_wrap=True, width=7, justify="right")
    row.add_column(no_wrap=True, width=9, justify="right")
    row.add_column(no_wrap=True)
    rate = f"{stage.rate:,.0f}/s" if stage.rate >= 1 else ""
    note = _fitting(stage.note, width - bar - _COUNT_COLUMNS)
    row.add_row(ProgressBar(stage.total, stage.count, width=bar), f"{stage.count:,}", rate, note)
    return row


def _fitting(note: str, width: int) -> str:
    """As many of its parts, from the first on, as there is room for."""
    parts = note.split(", ")
    while parts and len(", ".join(parts)) > width:
        parts.pop()
    return ", ".join(parts)


def _text(stage: Stage) -> str:
    """``...   123,456 of 336,776 messages, 98,765/s, 1.2 s``, as far as there is to say."""
    parts = {
        f"{stage.count:,} of {stage.total:,} {stage.unit}": stage.total,
        f"{stage.rate:,.0f}/s": stage.total and stage.rate >= 1,
        f"{stage.took_s:.1f} s": stage.took_s,
        stage.note: stage.note,
    }
    state = "..." if stage.ended_s is None else "done"
    return f"{state:<5} {', '.join(part for part, said in parts.items() if said)}".rstrip()


def lines(outcome: Reconciliation, board: Board) -> list[str]:
    """The reconciliation in lines: what went in, what came out, and what is wrong.

    No line but an example has more than 56 characters: so many fit into a panel of 60.
    """
    counts = outcome.counts
    rows: list[tuple[str, int, str]] = [
        ("published", counts.published, _pace(board.published)),
        ("read by Spark", counts.read_by_spark, _pace(board.windows)),
        (
            "read by Spark for cancelled",
            counts.read_by_spark_for_cancelled,
            _pace(board.cancelled),
        ),
        ("accounted for", outcome.accounted_for, ""),
        (f"  in {outcome.windows:,} windows", outcome.in_windows, ""),
        ("  as cancelled", outcome.in_cancelled, ""),
        ("lost", outcome.lost, ""),
        ("duplicated", outcome.duplicated, ""),
        ("figures that differ", outcome.windows_differing, "from plain Python"),
    ]
    if outcome.misplaced:
        rows.append(("in the wrong result", outcome.misplaced, ""))
    if outcome.unknown:
        rows.append(("never published", outcome.unknown, ""))
    text = [f"{name:<27}{count:>9,}  {note}".rstrip() for name, count, note in rows]
    return [*text, f"{'seconds':<27}{board.seconds:>9.1f}", *outcome.examples]


def to_json(outcome: Reconciliation, board: Board) -> dict[str, Any]:
    """The outcome with the time and rate of each stage."""
    stages = {
        stage.title: {
            "seconds": round(stage.took_s, 3),
            "count": stage.count,
            "per_second": round(stage.rate),
        }
        for stage in board.stages
        if stage.ended_s is not None
    }
    return {**outcome.to_json(), "seconds": round(board.seconds, 3), "stages": stages}


def _pace(stage: Stage) -> str:
    return f"{stage.took_s:.1f} s, {stage.rate:,.0f}/s" if stage.ended_s is not None else ""
