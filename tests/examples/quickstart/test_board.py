import pytest


def test_a_stage_has_a_time_and_a_rate(board, clock):
    stage = board.published
    with stage.during():
        stage.count = 500
        clock.move(2)
        assert stage.rate == 250
    clock.move(8)
    assert stage.took_s == 2


def test_what_comes_with_the_first_message_is_no_rate(board, clock):
    stage = board.results
    stage.began_s, stage.count = clock.now(), 1_000
    clock.move(0.5)
    assert stage.rate == 0
    clock.move(1.5)
    assert stage.rate == 500
    stage.ended_s = stage.began_s + 0.5
    assert stage.rate == 2_000


def test_a_stage_that_failed_has_no_end(board):
    with pytest.raises(RuntimeError), board.spark.during():
        raise RuntimeError
    assert board.spark.began_s is not None
    assert board.spark.ended_s is None


def test_a_stage_that_did_not_begin_took_no_time(board):
    assert (board.broker.took_s, board.broker.rate, board.seconds) == (0, 0, 0)
