"""What a running pipeline shows: a line for each query, and at the end where every row went."""

from collections.abc import Sequence
from typing import Final, Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table

from magnetar.clock import SystemClock
from magnetar.pipelines.accounts import ViewAccount, accounts, differences
from magnetar.pipelines.declaration import Pipeline
from magnetar.pipelines.query_counts import QueryCounts

_PLAIN_EVERY_S: Final = 10.0


class Query(Protocol):
    """A query as it is shown; ``aside`` is the view of which it writes what is set aside."""

    name: str
    aside: str | None
    tally: QueryCounts


class PipelineTable(Live):
    """Drawn again and again in a thread of its own; a log gets a line now and then instead."""

    def __init__(self, console: Console, pipeline: Pipeline, queries: Sequence[Query]) -> None:
        """``queries`` grows while they are started."""
        self._pipeline = pipeline
        self._queries = queries
        self._clock = SystemClock()
        self._next_s = self._clock.now() + _PLAIN_EVERY_S
        super().__init__(
            console=console,
            get_renderable=self._picture,
            refresh_per_second=4,
            transient=True,  # The end has a picture of its own.
        )

    def tick(self) -> None:
        """Without a terminal, print a line for each query every ten seconds."""
        if self.console.is_terminal or self._clock.now() < self._next_s:
            return
        self._next_s = self._clock.now() + _PLAIN_EVERY_S
        for query in list(self._queries):
            self._say(_line(query))

    def conclude(self) -> bool:
        """Print the counts. Returns whether they add up."""
        tallies = {query.name: query.tally for query in self._queries}
        found = accounts(self._pipeline, tallies)
        aside = {query.name: query.aside for query in self._queries if query.aside}
        wrong = differences(found, tallies, aside)
        if self.console.is_terminal:
            self.console.print(self._picture())
        else:
            for query in self._queries:
                self._say(_line(query))
        for one in found:
            self._say(_account(one))
        for line in wrong:
            self._say(f"does not add up: {line}")
        if found and not wrong:
            self._say("every row is accounted for")
        return not wrong

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _picture(self) -> Table:
        table = Table(title=self._pipeline.name, title_justify="left", box=None, pad_edge=False)
        table.add_column("query", no_wrap=True)
        for name in ("read", "rows/s", "written", "rows/s", "left out", "batch", "lag"):
            table.add_column(name, justify="right", no_wrap=True)
        for query in list(self._queries):
            one = query.tally
            lag = "" if one.lag_messages is None else f"{one.lag_messages:,}"
            table.add_row(
                query.name,
                f"{one.rows_read:,}",
                f"{one.read_per_s:,.0f}",
                f"{one.rows_written:,}",
                f"{one.written_per_s:,.0f}",
                f"{_left_out(one):,}",
                f"{one.batch_ms / 1000:.1f} s" if one.batches else "",
                lag,
            )
        return table


def _left_out(tally: QueryCounts) -> int:
    """Rows that checks, deduplication and the watermark took out."""
    at_checks = sum(counts["rows"] - counts["passed"] for counts in tally.steps.values())
    return at_checks + tally.rows_duplicate + tally.rows_late


def _line(query: Query) -> str:
    one = query.tally
    parts = [
        f"{one.rows_read:,} read",
        f"{one.rows_written:,} written",
        f"{one.rows_duplicate:,} duplicates" if one.rows_duplicate else "",
        f"{one.rows_late:,} late" if one.rows_late else "",
        f"{one.batches:,} micro-batches",
        f"lag {one.lag_messages:,}" if one.lag_messages is not None else "",
    ]
    return f"{query.name}: {', '.join(part for part in parts if part)}"


def _account(one: ViewAccount) -> str:
    failed = ", ".join(f"{name} {count:,}" for name, count in one.failed.items() if count)
    said = (
        f"{one.query} at {one.view}: {one.rows:,} = {one.passed:,} passed + {one.dropped:,} dropped"
        f" + {one.quarantined:,} quarantined"
    )
    if one.rejected:
        said += f" + {one.rejected:,} rejected"
    return f"{said} ({failed})" if failed else said
