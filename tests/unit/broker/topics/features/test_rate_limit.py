import pytest

from magnetar.broker.topics.features.rate_limit import (
    MEASURED_S,
    WAIT_MAX_S,
    WAIT_MIN_S,
    RateLimit,
    wait_s,
)


def limit_of(messages, size_bytes=0, **more):
    limit = RateLimit("topic", 0)
    limit.set(messages, size_bytes, 0, **more)
    return limit


def left(limit, now):
    limit.refill(now)
    return limit.messages, limit.size_bytes


def test_a_period_s_worth_may_go_at_once_and_then_as_much_as_is_made_up_for():
    limit = limit_of(10)
    assert left(limit, 0)[0] == 10
    limit.take(10, 1000, 0)
    assert left(limit, 0)[0] == 0
    assert limit.wait_s(0) == pytest.approx(0.1)
    assert left(limit, 0.5)[0] == pytest.approx(5)
    assert limit.wait_s(0.5) == 0
    assert left(limit, 99)[0] == 10


def test_a_run_goes_as_a_whole_and_what_is_too_much_is_made_up_for():
    limit = limit_of(10)
    limit.take(40, 0, 0)
    assert limit.wait_s(0) == pytest.approx(3.1)
    assert left(limit, 3)[0] == pytest.approx(0)


@pytest.mark.parametrize("period_s", [2, 30])
def test_a_rate_is_of_its_period(period_s):
    limit = limit_of(3, period_s=period_s)
    limit.take(3, 0, 0)
    assert limit.wait_s(0) == pytest.approx(period_s / 3)
    assert left(limit, period_s)[0] == pytest.approx(3)


def test_a_period_of_nothing_is_a_second():
    limit = limit_of(4, period_s=0)
    limit.take(4, 0, 0)
    assert left(limit, 0.5)[0] == pytest.approx(2)


def test_bytes_and_messages_are_limited_each():
    limit = limit_of(10, 1000)
    limit.take(1, 2000, 0)
    assert left(limit, 0)[0] == 9
    assert left(limit, 0)[1] == -1000
    assert limit.wait_s(0) == pytest.approx(1.001)
    limit.take(9, 0, 0)
    assert limit.wait_s(1.01) == 0


def test_what_is_not_set_limits_nothing():
    limit = limit_of(0, -1)
    assert not limit
    limit.take(10**9, 10**12, 0)
    assert limit.wait_s(0) == 0
    assert left(limit, 0)[0] == left(limit, 0)[1] == float("inf")
    assert limit_of(0, 1)


def test_a_new_limit_keeps_what_is_to_be_made_up_for_and_none_forgets_it():
    limit = limit_of(10)
    limit.take(30, 0, 0)
    limit.set(100, 0, 0)
    assert limit.wait_s(0) == pytest.approx(0.21)
    limit.set(0, 0, 0)
    assert limit.wait_s(0) == 0
    limit.set(5, 0, 0)
    assert left(limit, 0)[0] == 5
    limit.set(2, 0, 0)
    assert left(limit, 0)[0] == 2


def test_a_limit_above_what_is_published_follows_the_measured_rate():
    published = [0, 0]
    limit = limit_of(10, 1000, above=lambda: tuple(published))
    limit.take(10, 1000, 0)
    published[:] = 200, 50_000
    limit.take(0, 0, 2 * MEASURED_S)  # Measured: 100 messages and 25,000 bytes in a second.
    limit.take(110, 26_000, 2 * MEASURED_S)
    assert left(limit, 2 * MEASURED_S + 0.5)[0] == pytest.approx(55)
    assert left(limit, 2 * MEASURED_S + 0.5)[1] == pytest.approx(13_000)
    limit.set(10, 0, 2 * MEASURED_S + 0.5)
    assert left(limit, 99)[0] == 10


def test_of_several_the_longest_wait_counts_within_bounds():
    slow, fast = limit_of(2), limit_of(1_000_000)
    assert wait_s([], 0) == wait_s([slow, fast], 0) == 0
    fast.take(1_000_000, 0, 0)
    assert wait_s([slow, fast], 0) == WAIT_MIN_S
    slow.take(2, 0, 0)
    assert wait_s([slow, fast], 0) == pytest.approx(0.5)
    slow.take(100, 0, 0)
    assert wait_s([slow, fast], 0) == WAIT_MAX_S
