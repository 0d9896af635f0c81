import pytest

from magnetar.tools.quickstart.board import Board


class Clock:
    time = 0.0

    def now(self):
        return self.time


def test_a_stage_has_a_time_and_a_rate():
    clock = Clock()
    board = Board(clock)
    with board.during(board.published) as stage:
        stage.count = 500
        clock.time = 2.0
        assert stage.rate(clock.now()) == 250
    clock.time = 10.0
    assert stage.took_s(clock.now()) == 2.0


def test_a_stage_that_failed_has_no_end():
    board = Board(Clock())
    with pytest.raises(RuntimeError), board.during(board.spark):
        raise RuntimeError
    assert board.spark.began_s is not None
    assert board.spark.ended_s is None


def test_a_stage_that_did_not_begin_took_no_time():
    board = Board(Clock())
    assert board.broker.took_s(5.0) == 0.0
    assert board.broker.rate(5.0) == 0.0
