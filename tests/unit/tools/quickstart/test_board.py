import pytest
from support.clock import ManualClock

from magnetar.tools.quickstart.board import Board


def test_a_stage_has_a_time_and_a_rate():
    clock = ManualClock(0.0)
    board = Board(clock)
    with board.during(board.published) as stage:
        stage.count = 500
        clock.move(2.0)
        assert stage.rate(clock.now()) == 250
    clock.move(8.0)
    assert stage.took_s(clock.now()) == 2.0


def test_what_comes_with_the_first_message_is_no_rate():
    clock = ManualClock(0.0)
    stage = Board(clock).results
    stage.began_s, stage.count = 0.0, 1_000
    assert stage.rate(0.1) == 0
    assert stage.rate(2.0) == 500
    stage.ended_s = 0.5
    assert stage.rate(9.0) == 2_000


def test_the_time_of_a_pause_does_not_count():
    stage = Board(ManualClock(0.0)).published
    stage.began_s, stage.count = 10.0, 600
    stage.pause(12.0, "waits for Spark")
    assert (stage.took_s(50.0), stage.rate(50.0), stage.note) == (2.0, 300, "waits for Spark")
    stage.resume(112.0)
    assert (stage.took_s(113.0), stage.rate(113.0), stage.note) == (3.0, 200, "")


def test_a_stage_that_failed_has_no_end():
    board = Board(ManualClock(0.0))
    with pytest.raises(RuntimeError), board.during(board.spark):
        raise RuntimeError
    assert board.spark.began_s is not None
    assert board.spark.ended_s is None


def test_a_stage_that_did_not_begin_took_no_time():
    board = Board(ManualClock(0.0))
    assert board.broker.took_s(5.0) == 0.0
    assert board.broker.rate(5.0) == 0.0
