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


def test_what_comes_with_the_first_message_is_no_rate():
    clock = Clock()
    stage = Board(clock).results
    stage.began_s, stage.count = 0.0, 1_000
    assert stage.rate(0.1) == 0
    assert stage.rate(2.0) == 500
    stage.ended_s = 0.5
    assert stage.rate(9.0) == 2_000


def test_the_time_of_a_pause_does_not_count():
    stage = Board(Clock()).published
    stage.began_s, stage.count = 10.0, 600
    stage.pause(12.0, "waits for Spark")
    assert (stage.took_s(50.0), stage.rate(50.0), stage.note) == (2.0, 300, "waits for Spark")
    stage.resume(112.0)
    assert (stage.took_s(113.0), stage.rate(113.0), stage.note) == (3.0, 200, "")


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
