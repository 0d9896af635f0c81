import io

import pytest
from rich.console import Console
from support.clock import ManualClock

from magnetar.tools.quickstart.board import Board
from magnetar.tools.quickstart.figures import CarrierDay, Figures
from magnetar.tools.quickstart.reconcile import Counts, Reconciliation, Window
from magnetar.tools.quickstart.results import Results
from magnetar.tools.quickstart.show import LiveShow, PlainShow

OUTCOME = Reconciliation(10, Counts(10, 10, 10), 9, 1, 0, 0, 0, 0, 1, 0)


@pytest.fixture
def board():
    return Board(ManualClock(100.0))


def console(*, terminal, width=120, height=50):
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, height=height)


def printed(screen):
    return screen.file.getvalue()


def test_without_a_terminal_each_stage_says_when_it_begins_and_ends(board):
    screen = console(terminal=False)
    with PlainShow(screen, board) as show:
        with board.during(board.published) as stage:
            stage.total, stage.unit = 10, "messages"
            show.tick()
            show.tick()
            stage.count = 10
            board.clock.move(2)
        show.tick()
        show.close(OUTCOME)
    text = printed(screen)
    assert text.count("Publish            ...") == 1
    assert "Publish            done  10 of 10 messages, 5/s, 2.0 s" in text
    assert "accounted for" in text
    assert "\x1b" not in text


def test_without_a_terminal_a_long_stage_is_heard_of_now_and_then(board):
    screen = console(terminal=False)
    show = PlainShow(screen, board)
    with board.during(board.published) as stage:
        stage.total, stage.count = 10, 3
        show.tick()
        for _ in range(20):
            board.clock.move(1)
            show.tick()
    assert 4 <= printed(screen).count("3 of 10") <= 6


def test_on_a_terminal_carriers_appear_as_results_do(board):
    screen = console(terminal=True)
    results = Results(board.results, board.clock)
    show = LiveShow(screen, board, results, {"UA": "United Air Lines Inc."})
    with show:
        show.tick()
        figures = Figures(9, 4.5, 77, None, None)
        results.windows[CarrierDay("UA", "2013-01-01")] = Window(figures, range(9))
        results.cancelled.append(("UA", 9))
        show.close(OUTCOME)
    text = printed(screen)
    assert "UA United Air Lines " in text
    assert " 4.5 " in text
    assert "It adds up" in text


def test_an_outcome_that_does_not_add_up_says_so(board):
    screen = console(terminal=True)
    with LiveShow(screen, board, Results(board.results, board.clock), {}) as show:
        show.close(Reconciliation(10, Counts(10, 10, 10), 8, 1, 1, 0, 0, 0, 1, 0))
    assert "It does not add up" in printed(screen)


@pytest.mark.parametrize(("height", "rows"), [(10, 0), (13, 0), (14, 1), (24, 11), (40, 16)])
def test_while_it_goes_on_nothing_is_cut_off_from_a_low_terminal(board, height, rows):
    screen = console(terminal=True, width=80, height=height)
    results = Results(board.results, board.clock)
    for number in range(16):
        figures = Figures(100 - number, 4.5, 77, None, None)
        results.windows[CarrierDay(f"C{number:02}", "2013-01-01")] = Window(figures, [])
    show = LiveShow(screen, board, results, {})
    with show:
        show.tick()
        show._live.refresh()
        text = printed(screen)
    assert "..." not in text
    assert sum(f"C{number:02}" in text for number in range(16)) == rows
    assert ("more" in text) == (0 < rows < 16)
