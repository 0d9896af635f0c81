import dataclasses
import io
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from magnetar.pipelines.declaration import Action, Check, Location, Pipeline, Source, Step
from magnetar.pipelines.query_counts import QueryCounts
from magnetar.tools.pipelines_table import PipelineTable

PLACE = Location("pulsar", {})
STEP = Step("clean", "", None, (), None, (), (Check("positive", "x", Action.DROP),), None)
PIPELINE = Pipeline("orders", Path(), "c", "available-now", {}, (), (STEP,), ())


def concluded(*, passed, terminal=False):
    counts = {"rows": 1010, "passed": passed, "failed: positive": 10}
    tally = QueryCounts(
        rows_read=1510, rows_written=1000, rows_duplicate=500, batches=2, batch_ms=1500
    )
    tally.steps["clean"] = counts
    tally.lag_messages = 7
    query = SimpleNamespace(name="copy", aside=None, tally=tally)
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=terminal, width=100, color_system=None)
    with PipelineTable(console, PIPELINE, [query]) as table:
        table.tick()
    return table.conclude(), printed.getvalue()


def test_the_end_says_where_every_row_went():
    adds_up, printed = concluded(passed=1000)
    assert adds_up
    assert "copy: 1,510 read, 1,000 written, 500 duplicates, 2 micro-batches, lag 7" in printed
    assert "copy at clean: 1,010 = 1,000 passed + 10 dropped + 0 quarantined" in printed
    assert printed.endswith("every row is accounted for\n")


def test_what_does_not_add_up_is_said():
    adds_up, printed = concluded(passed=999)
    assert not adds_up
    assert "does not add up: copy: at clean 1,010 rows came" in printed


def test_what_a_source_rejected_is_shown():
    source = Source("orders", PLACE, True, None, "id int", None, PLACE)
    tally = QueryCounts(steps={"orders": {"rows": 9, "passed": 7, "failed: malformed": 2}})
    query = SimpleNamespace(name="copy", aside=None, tally=tally)
    printed = io.StringIO()
    pipeline = dataclasses.replace(PIPELINE, sources=(source,))
    console = Console(file=printed, width=100)
    assert PipelineTable(console, pipeline, [query]).conclude()
    said = "copy at orders: 9 = 7 passed + 0 dropped + 0 quarantined + 2 rejected\n"
    assert said in printed.getvalue()


@pytest.mark.parametrize("cell", ["copy", "1,510", "1,000", "510", "1.5", "7"])
def test_a_terminal_has_a_table(cell):
    _, printed = concluded(passed=1000, terminal=True)
    assert cell in printed.partition("copy at")[0].split()
