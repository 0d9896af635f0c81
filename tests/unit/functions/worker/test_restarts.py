"""How long a function that failed waits."""

from magnetar.functions.worker.restarts import DELAY_S_MAX, HEALTHY_AFTER_S, Restarts


def test_each_failure_in_a_row_doubles_the_wait_up_to_a_minute():
    restarts = Restarts()
    waits = []
    now = 1000.0
    for _ in range(9):
        waits.append(restarts.failed(now))
        assert restarts.due == now + waits[-1]
        now = restarts.due
        restarts.began(now)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (restarts.count, max(waits)) == (9, DELAY_S_MAX)


def test_one_that_never_begins_is_not_taken_for_well():
    restarts = Restarts()
    assert [restarts.failed(now) for now in (0.0, 1000.0, 2000.0)] == [1, 2, 4]


def test_a_function_that_ran_for_a_minute_was_well():
    restarts = Restarts()
    restarts.failed(0.0)
    restarts.began(1.0)
    assert restarts.failed(1.0 + HEALTHY_AFTER_S) == 1
    assert restarts.count == 2


def test_a_change_is_tried_at_once():
    restarts = Restarts()
    restarts.failed(0.0)
    restarts.forgive()
    assert (restarts.due, restarts.count, restarts.in_a_row) == (0.0, 1, 0)
