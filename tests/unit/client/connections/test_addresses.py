from magnetar.client.connections.addresses import Addresses
from magnetar.client.connections.backoff import Backoff


def addresses(begin=0):
    return Addresses(
        ["a:1", "b:1", "c:1"], lambda: Backoff(lambda: 0.0, first_s=1.0, max_s=60.0), begin=begin
    )


def test_one_that_works_is_asked_again():
    ask = addresses(begin=1)
    assert ask.in_turn(0) == ["b:1", "c:1", "a:1"]
    ask.worked("c:1")
    assert ask.in_turn(0) == ["c:1", "a:1", "b:1"]


def test_one_that_could_not_help_is_followed_by_the_next():
    ask = addresses()
    ask.skip("a:1")
    assert ask.in_turn(0) == ["b:1", "c:1", "a:1"]
    ask.skip("a:1")  # It is not the current one any more.
    assert ask.in_turn(0)[0] == "b:1"


def test_one_that_failed_is_passed_over_and_longer_the_next_time():
    ask = addresses()
    ask.failed("a:1", 10.0)
    assert ask.in_turn(10.9) == ["b:1", "c:1"]
    assert ask.in_turn(11.0) == ["b:1", "c:1", "a:1"]
    ask.failed("a:1", 11.0)
    assert ask.in_turn(12.9) == ["b:1", "c:1"]
    ask.worked("a:1")
    ask.failed("a:1", 20.0)
    assert "a:1" in ask.in_turn(21.0)


def test_when_all_have_failed_all_are_tried():
    ask = addresses()
    for each in ("a:1", "b:1", "c:1"):
        ask.failed(each, 0.0)
    assert ask.in_turn(0.0) == ["a:1", "b:1", "c:1"]
