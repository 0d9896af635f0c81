"""What the user sees: stages with progress and a live table, or plain lines without a terminal."""

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.text import Text

from magnetar.tools.quickstart.board import Board, Stage
from magnetar.tools.quickstart.reconcile import Reconciliation
from magnetar.tools.quickstart.results import Results
from magnetar.tools.quickstart.screen import TABLE_LINES_MIN, carriers_table, stages_table
from magnetar.tools.quickstart.summary import lines
from magnetar.tools.quickstart.totals import CarrierTotal, by_carrier

_TICKS_PER_TABLE = 5
_PLAIN_EVERY_S = 5.0


class Show(Protocol):
    """Told ten times a second to look at the board; told at the end how it went."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def tick(self) -> None: ...

    def say(self, text: str) -> None: ...

    def close(self, outcome: Reconciliation) -> None: ...


class LiveShow:
    """For a terminal."""

    def __init__(
        self, console: Console, board: Board, results: Results, airlines: Mapping[str, str]
    ) -> None:
        self._console = console
        self._board = board
        self._results = results
        self._airlines = airlines
        self._spinner = Spinner("dots")
        self._ticks = 0
        self._totals: list[CarrierTotal] = []
        self._live = Live(console=console, refresh_per_second=4, transient=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def tick(self) -> None:
        if self._ticks % _TICKS_PER_TABLE == 0:
            self._totals = _totals(self._results)
        self._ticks += 1
        self._live.update(self._picture())

    def say(self, text: str) -> None:
        self._live.console.print(text)

    def close(self, outcome: Reconciliation) -> None:
        self._totals = _totals(self._results)
        self._live.update(self._picture(whole=True))
        self._live.stop()
        colour = "green" if outcome.adds_up else "red"
        title = "It adds up" if outcome.adds_up else "It does not add up"
        text = Text("\n".join(lines(outcome, self._board)))
        self._console.print(Panel(text, title=title, border_style=colour, expand=False))

    def _picture(self, *, whole: bool = False) -> RenderableType:
        """What fits on the terminal; ``whole``: the last one, which may scroll."""
        board, (width, height) = self._board, self._console.size
        stages = stages_table(board.stages, board.clock.now(), width, self._spinner)
        height -= len(board.stages)
        if not self._totals or (height < TABLE_LINES_MIN and not whole):
            return stages
        return Group(
            stages,
            carriers_table(self._totals, self._airlines, width, None if whole else height),
        )


class PlainShow:
    """For a log: a line when a stage begins or ends, and now and then in between."""

    def __init__(self, console: Console, board: Board) -> None:
        self._console = console
        self._board = board
        self._said: set[tuple[str, bool]] = set()
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return

    def tick(self) -> None:
        now_s = self._board.clock.now()
        for stage in self._board.stages:
            ended = stage.ended_s is not None
            if stage.began_s is not None and (stage.title, ended) not in self._said:
                self._said.add((stage.title, ended))
                self._say(stage, now_s, "done" if ended else "...")
        if now_s >= self._next_s:
            self._next_s = now_s + _PLAIN_EVERY_S
            for stage in self._board.stages:
                if stage.count and stage.ended_s is None:
                    self._say(stage, now_s, "...")

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self, outcome: Reconciliation) -> None:
        for line in lines(outcome, self._board):
            self.say(line)

    def _say(self, stage: Stage, now_s: float, state: str) -> None:
        self.say(f"{stage.title:<18} {state:<5} {stage_text(stage, now_s)}".rstrip())


def stage_text(stage: Stage, now_s: float) -> str:
    """``123,456 of 336,776 messages, 98,765/s, 1.2 s``, as far as there is something to say."""
    parts = []
    if stage.total:
        parts.append(f"{stage.count:,} of {stage.total:,} {stage.unit}")
        if stage.rate(now_s) >= 1:
            parts.append(f"{stage.rate(now_s):,.0f}/s")
    if stage.took_s(now_s):
        parts.append(f"{stage.took_s(now_s):.1f} s")
    if stage.note:
        parts.append(stage.note)
    return ", ".join(parts)


def _totals(results: Results) -> list[CarrierTotal]:
    """Copied first, each in one step: a thread goes on adding meanwhile."""
    return by_carrier(results.windows.copy(), results.cancelled.copy())
