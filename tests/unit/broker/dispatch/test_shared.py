"""Shared: who gets how many, and whose turn it is."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.dispatch.shared import (
    ROUND_ROBIN_MESSAGES_MAX,
    RoundRobin,
    Seat,
    fitting,
)


def dealt(weights, seats, robin=None):
    shares = (robin or RoundRobin()).assign(weights, seats)
    return [(share.consumer, share.stop - share.start) for share in shares]


def test_an_entry_goes_out_while_any_room_is_left():
    assert fitting([1, 1, 1], 2) == 2
    assert fitting([5, 5, 5], 6) == 2
    assert fitting([5], 1) == 1
    assert fitting([1, 1], 0) == 0
    assert fitting([1, 1], 9) == 2


def test_consumers_of_the_best_priority_are_served_first():
    seats = [Seat("c1", 0, 2), Seat("c2", 0, 1), Seat("c3", 0, 1), Seat("c4", 1, 2)]
    assert dealt([1] * 6, seats) == [("c1", 2), ("c2", 1), ("c3", 1), ("c4", 2)]


def test_a_turn_ends_after_twenty_messages():
    seats = [Seat("a", 0, 50), Seat("b", 0, 50)]
    assert dealt([1] * 60, seats) == [("a", 20), ("b", 20), ("a", 20)]
    assert ROUND_ROBIN_MESSAGES_MAX == 20


def test_the_next_run_goes_on_where_the_last_one_stopped():
    robin = RoundRobin()
    assert dealt([1], [Seat("a", 0, 9), Seat("b", 0, 9)], robin) == [("a", 1)]
    assert dealt([1], [Seat("a", 0, 9), Seat("b", 0, 9)], robin) == [("b", 1)]
    assert dealt([1], [Seat("a", 0, 9), Seat("b", 0, 9)], robin) == [("a", 1)]


def test_a_batch_may_overdraw_and_then_nothing_more_goes_to_that_consumer():
    seats = [Seat("a", 0, 1)]
    assert dealt([5, 5], seats) == [("a", 1)]
    assert seats[0].room == -4


def test_nobody_with_room_gets_nothing():
    assert dealt([1, 1], []) == []


@given(
    weights=st.lists(st.integers(1, 30), max_size=60),
    rooms=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=5),
)
def test_shares_cover_the_run_in_order_and_only_the_last_entry_may_overdraw(weights, rooms):
    seats = [Seat(i, priority, room) for i, (priority, room) in enumerate(sorted(rooms))]
    before = {seat.consumer: seat.room for seat in seats}
    shares = RoundRobin().assign(weights, seats)
    assert [share.start for share in shares] == [0, *(share.stop for share in shares)][
        : len(shares)
    ]
    taken = {consumer: [] for consumer in before}
    for share in shares:
        taken[share.consumer].extend(weights[share.start : share.stop])
    for consumer, entries in taken.items():
        assert sum(entries[:-1]) < before[consumer]
    done = shares[-1].stop if shares else 0
    assert done == len(weights) or all(seat.room <= 0 for seat in seats)
