import json

from support.clock import ManualClock

from magnetar.tools.quickstart.board import Board
from magnetar.tools.quickstart.reconcile import Counts, Reconciliation
from magnetar.tools.quickstart.summary import lines, seconds, to_json


def finished_board():
    clock = ManualClock(100.0)
    board = Board(clock)
    for stage in board.stages:
        with board.during(stage):
            stage.count = 336_776
            clock.move(2.0)
    return board


def outcome(**given):
    values = {
        "flights": 336_776,
        "counts": Counts(336_776, 336_776, 336_776),
        "in_windows": 328_521,
        "in_cancelled": 8_255,
        "lost": 0,
        "duplicated": 0,
        "misplaced": 0,
        "unknown": 0,
        "windows": 5_420,
        "windows_differing": 0,
    }
    return Reconciliation(**{**values, **given})


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


def test_nothing_begun_takes_no_time():
    assert seconds(Board(ManualClock(100.0))) == 0.0
