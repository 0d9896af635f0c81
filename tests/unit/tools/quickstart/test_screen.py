import io

import pytest
from rich.console import Console
from support.clock import ManualClock

from magnetar.tools.quickstart.board import Board
from magnetar.tools.quickstart.screen import TABLE_LINES_MIN, carriers_table, stages_table
from magnetar.tools.quickstart.totals import CarrierTotal

AIRLINES = {
    "UA": "United Air Lines Inc.",
    "EV": "ExpressJet Airlines Inc.",
    "FL": "AirTran Airways Corporation",
    "WN": "Southwest Airlines Co.",
    "B6": "JetBlue Airways",
}
WHOLE_YEAR = [
    CarrierTotal(carrier, 365, 58_665, 10_001, 100.5, 1_301, "2013-12-31") for carrier in AIRLINES
]
WIDTHS = pytest.mark.parametrize("width", [60, 80, 120])


@pytest.fixture
def stages():
    """At the end of a slow run of the whole year, when every figure is at its longest."""
    board = Board(ManualClock(1000.0))
    for stage in board.stages:
        stage.began_s, stage.ended_s = 100.0, 999.9
        if stage.unit:
            stage.total = stage.count = 336_776
    board.published.began_s = 999.5
    board.broker.note = "pulsar://127.0.0.1:36999, http://127.0.0.1:45023"
    board.windows.note = "1,001 micro-batches"
    board.results.note = "5,420 windows, 10,840 updates"
    return board.stages


def shown(renderable, width):
    """The lines of a terminal so wide."""
    screen = Console(file=io.StringIO(), width=width)
    screen.print(renderable)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


@WIDTHS
def test_each_stage_has_one_line_with_nothing_cut_off(stages, width):
    lines = shown(stages_table(stages, 1000.0, width, "*"), width)
    assert len(lines) == len(stages)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    for stage, line in zip(stages, lines, strict=True):
        assert line.startswith(f"✓ {stage.title} ")
    assert lines[3].split()[-2:] == ["336,776", "841,940/s"]


@pytest.mark.parametrize(
    ("width", "broker", "results"),
    [
        (60, ["pulsar://127.0.0.1:36999"], []),
        (80, ["pulsar://127.0.0.1:36999,", "http://127.0.0.1:45023"], ["5,420", "windows"]),
        (
            120,
            ["pulsar://127.0.0.1:36999,", "http://127.0.0.1:45023"],
            ["5,420", "windows,", "10,840", "updates"],
        ),
    ],
)
def test_of_a_note_the_parts_are_shown_that_there_is_room_for(stages, width, broker, results):
    lines = shown(stages_table(stages, 1000.0, width, "*"), width)
    assert lines[0].split()[4:] == broker
    assert lines[-1].partition("374/s")[2].split() == results


def test_a_stage_is_marked_as_to_come_under_way_or_done(stages):
    stages[1].began_s = stages[1].ended_s = None
    stages[2].ended_s = None
    lines = shown(stages_table(stages, 1000.0, 80, "*"), 80)
    assert [line[0] for line in lines[:4]] == ["✓", " ", "*", "✓"]


@WIDTHS
def test_each_carrier_has_one_line_with_nothing_cut_off(width):
    lines = shown(carriers_table(WHOLE_YEAR, AIRLINES, width), width)
    assert len(lines) == 5 + len(WHOLE_YEAR)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    assert lines[0] == "Departures from New York, 2013 (delays in minutes)"
    assert "EV ExpressJet Airlines " in lines[4]
    assert lines[-1].split() == ["all", "293,325", "50,005"]
    assert ("days" in lines[1], "2013-12-31" in lines[4]) == (width >= 80, width >= 80)


def test_a_low_terminal_shows_the_busiest_carriers_and_the_sum_of_the_others():
    lines = shown(carriers_table(WHOLE_YEAR, AIRLINES, 80, height=TABLE_LINES_MIN + 1), 80)
    assert len(lines) == TABLE_LINES_MIN + 1
    assert [line[:2] for line in lines[3:]] == ["UA", "EV", "3 ", "", "al"]
    assert lines[5].split() == ["3", "more", "175,995", "30,003"]
