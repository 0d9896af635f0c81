"""wire/keepalive.py: when to ask, and when to give up."""

from magnetar.wire.keepalive import KeepAlive


def test_nothing_is_due_before_the_interval_is_over():
    assert KeepAlive(30, now=100).tick(120) is None


def test_a_silent_peer_is_asked_once_and_then_given_up():
    alive = KeepAlive(30, now=100)
    assert alive.tick(130) == "ping"
    assert alive.tick(131) is None
    assert alive.tick(160) == "close"


def test_any_sign_of_life_counts():
    alive = KeepAlive(30, now=0)
    assert alive.tick(30) == "ping"
    alive.received()
    assert alive.tick(60) == "ping"
    alive.received()
    assert alive.tick(90) == "ping"


def test_a_ping_is_due_even_while_the_peer_talks():
    alive = KeepAlive(30, now=0)
    for second in range(1, 30):
        alive.received()
        assert alive.tick(second) is None
    assert alive.tick(30) == "ping"


def test_what_came_before_the_ping_does_not_answer_it():
    alive = KeepAlive(30, now=0)
    alive.received()
    assert alive.tick(30) == "ping"
    assert alive.tick(60) == "close"


def test_a_timer_that_fires_a_moment_early_loses_no_interval():
    assert KeepAlive(30, now=0).tick(29.999) == "ping"


def test_the_next_interval_begins_when_the_last_one_was_seen_to_end():
    alive = KeepAlive(30, now=0)
    assert alive.due == 30
    alive.tick(40)
    assert alive.due == 70
