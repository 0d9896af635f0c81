import io
import json
from dataclasses import replace

import pytest
from quickstart.board import Board
from quickstart.figures import CarrierDay, Figures
from quickstart.reconcile import Counts, Reconciliation, Window
from quickstart.results import Results
from quickstart.show import Show, lines, to_json
from rich.console import Console
from support.clock import ManualClock

OUTCOME = Reconciliation(10, Counts(10, 10, 10), 9, 1, 0, 0, 0, 0, 1, 0)


@pytest.fixture
def full_board(board):
    """At the end of a slow run of the whole year, when every figure is at its longest."""
    now_s = board.clock.now()
    for stage in board.stages:
        stage.began_s, stage.ended_s = now_s - 900, now_s - 0.1
        if stage.unit:
            stage.total = stage.count = 336_776
    board.published.began_s = now_s - 0.5
    board.broker.note = "pulsar://127.0.0.1:36999, http://127.0.0.1:45023"
    board.windows.note = "1,001 micro-batches"
    board.results.note = "5,420 windows, 10,840 updates"
    return board


def console(*, terminal, width=120, height=50):
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, height=height)


def printed(screen):
    return screen.file.getvalue()


def shown(board, width):
    """The lines of a terminal so wide."""
    screen = console(terminal=False, width=width)
    screen.print(Show(screen, board, Results(board.results), {}).get_renderable())
    return [line.rstrip() for line in printed(screen).splitlines()]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_each_stage_has_one_line_with_nothing_cut_off(full_board, width):
    lines = shown(full_board, width)
    assert len(lines) == len(full_board.stages)
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    for stage, line in zip(full_board.stages, lines, strict=True):
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
def test_of_a_note_the_parts_are_shown_that_there_is_room_for(full_board, width, broker, results):
    lines = shown(full_board, width)
    assert lines[0].split()[4:] == broker
    assert lines[-1].partition("374/s")[2].split() == results


def test_a_stage_is_marked_as_to_come_under_way_or_done(full_board):
    stages = full_board.stages
    stages[1].began_s = stages[1].ended_s = None
    stages[2].ended_s = None
    lines = shown(full_board, 80)
    assert [line[0] for line in lines[:4]] == ["✓", " ", "⠋", "✓"]


def test_without_a_terminal_each_stage_says_when_it_begins_and_ends(board):
    screen = console(terminal=False)
    with Show(screen, board, Results(board.results), {}) as show:
        stage = board.published
        with stage.during():
            stage.total = 10
            show.tick()
            show.tick()
            stage.count = 10
            board.clock.move(2)
        show.tick()
        show.conclude(OUTCOME)
    text = printed(screen)
    assert text.count("Publish            ...") == 1
    assert "Publish            done  10 of 10 messages, 5/s, 2.0 s" in text
    assert "accounted for" in text
    assert "\x1b" not in text


def test_without_a_terminal_a_long_stage_is_heard_of_now_and_then(board):
    screen = console(terminal=False)
    show = Show(screen, board, Results(board.results), {})
    stage = board.published
    with stage.during():
        stage.total, stage.count = 10, 3
        show.tick()
        for _ in range(20):
            board.clock.move(1)
            show.tick()
    assert 4 <= printed(screen).count("3 of 10") <= 6


def test_on_a_terminal_carriers_appear_as_results_do(board):
    screen = console(terminal=True)
    results = Results(board.results)
    with Show(screen, board, results, {"UA": "United Air Lines Inc."}) as show:
        figures = Figures(9, 4.5, 77, None, None)
        results.windows[CarrierDay("UA", "2013-01-01")] = Window(figures, range(9))
        results.cancelled.append(("UA", 9))
        show.conclude(OUTCOME)
    text = printed(screen)
    assert "UA United Air Lines " in text
    assert " 4.5 " in text
    assert "It adds up" in text


def test_an_outcome_that_does_not_add_up_says_so(board):
    screen = console(terminal=True)
    with Show(screen, board, Results(board.results), {}) as show:
        show.conclude(Reconciliation(10, Counts(10, 10, 10), 8, 1, 1, 0, 0, 0, 1, 0))
    assert "It does not add up" in printed(screen)


@pytest.mark.parametrize(("height", "rows"), [(10, 0), (13, 0), (14, 1), (24, 11), (40, 16)])
def test_while_it_goes_on_nothing_is_cut_off_from_a_low_terminal(board, height, rows):
    screen = console(terminal=True, width=80, height=height)
    results = Results(board.results)
    for number in range(16):
        figures = Figures(100 - number, 4.5, 77, None, None)
        results.windows[CarrierDay(f"C{number:02}", "2013-01-01")] = Window(figures, [])
    with Show(screen, board, results, {}) as show:
        show.refresh()
        text = printed(screen)
    assert "..." not in text
    assert sum(f"C{number:02}" in text for number in range(16)) == rows
    assert ("more" in text) == (0 < rows < 16)


def finished_board():
    clock = ManualClock(100.0)
    board = Board(clock)
    for stage in board.stages:
        with stage.during():
            stage.count = 336_776
            clock.move(2.0)
    return board


def outcome(**given):
    counts = Counts(336_776, 336_776, 336_776)
    whole = Reconciliation(336_776, counts, 328_521, 8_255, 0, 0, 0, 0, 5_420, 0)
    return replace(whole, **given)


def test_the_lines_say_what_went_in_and_what_came_out():
    text = [" ".join(line.split()) for line in lines(outcome(), finished_board())]
    assert text[0] == "published 336,776 2.0 s, 168,388/s"
    assert text[1].startswith("read by Spark 336,776 2.0 s")
    assert text[3:6] == [
        "accounted for 336,776",
        "in 5,420 windows 328,521",
        "as cancelled 8,255",
    ]
    assert text[6:8] == ["lost 0", "duplicated 0"]
    assert text[-1] == "seconds 14.0"


def test_every_line_fits_into_a_panel_of_60_columns():
    board = finished_board()
    for stage in board.stages:
        stage.ended_s = stage.began_s + 100
    found = outcome(misplaced=336_776, unknown=336_776, lost=336_776)
    assert max(map(len, lines(found, board))) <= 56


def test_what_is_amiss_gets_lines_of_its_own():
    found = outcome(misplaced=2, unknown=3, examples=["flight in the wrong result: 7"])
    text = [" ".join(line.split()) for line in lines(found, finished_board())]
    assert "in the wrong result 2" in text
    assert "never published 3" in text
    assert text[-1] == "flight in the wrong result: 7"


def test_the_json_has_times_and_rates():
    value = json.loads(json.dumps(to_json(outcome(), finished_board())))
    assert value["adds_up"] is True
    assert value["seconds"] == 14.0
    assert value["stages"]["Publish"] == {"seconds": 2.0, "count": 336_776, "per_second": 168_388}
