"""Shared: who gets how many, who is next, and where chunks go."""

from hypothesis import given
from hypothesis import strategies as st
from unit.broker.dispatch.receivers import Receiver, World, chunk, entry

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.shared import (
    ROUND_ROBIN_MESSAGES_MAX,
    RoundRobin,
    Shared,
    fitting,
)


def shared_strategy():
    return Shared(chunked_messages_max=9, waiting_chunks_max=9)


def assigned(counts, capacities, robin=None):
    """Entries by name of the consumer; ``capacities`` goes by consumer."""
    picks, _ = (robin or RoundRobin()).assign(range(len(counts)), counts, capacities)
    return {consumer.name: picked for consumer, picked in picks.items()}


def test_an_entry_goes_out_while_any_capacity_is_left():
    assert fitting([1, 1, 1], 2) == 2
    assert fitting([5, 5, 5], 6) == 2
    assert fitting([5], 1) == 1
    assert fitting([1, 1], 0) == 0
    assert fitting([1, 1], 9) == 2


def test_consumers_of_the_best_priority_are_served_first():
    capacities = {
        Receiver("c1"): 2,
        Receiver("c2"): 1,
        Receiver("c3"): 1,
        Receiver("c4", priority=1): 2,
    }
    assert assigned([1] * 6, capacities) == {"c1": [0, 1], "c2": [2], "c3": [3], "c4": [4, 5]}


def test_the_next_consumer_is_served_after_twenty_messages():
    picks = assigned([1] * 60, {Receiver("a"): 50, Receiver("b"): 50})
    assert picks == {"a": [*range(20), *range(40, 60)], "b": list(range(20, 40))}
    assert ROUND_ROBIN_MESSAGES_MAX == 20


def test_the_next_run_goes_on_where_the_last_one_stopped():
    robin, capacities = RoundRobin(), {Receiver("a"): 9, Receiver("b"): 9}
    assert [assigned([1], capacities, robin) for _ in range(3)] == [
        {"a": [0]},
        {"b": [0]},
        {"a": [0]},
    ]


def test_a_batch_may_overdraw_and_then_nothing_more_goes_to_that_consumer():
    capacities = {Receiver("a"): 1}
    assert assigned([5, 5], capacities) == {"a": [0]}
    assert list(capacities.values()) == [-4]


def test_nobody_with_capacity_gets_nothing():
    assert assigned([1, 1], {}) == {}


@given(
    counts=st.lists(st.integers(1, 30), max_size=60),
    capacities=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40)), max_size=5),
)
def test_the_first_entries_are_assigned_and_only_the_last_may_overdraw(counts, capacities):
    before = {Receiver("c", priority=one): most for one, most in sorted(capacities)}
    left = dict(before)
    picks, stop = RoundRobin().assign(range(len(counts)), counts, left)
    assert sorted(index for picked in picks.values() for index in picked) == list(range(stop))
    for consumer, picked in picks.items():
        assert picked == sorted(picked)
        assert sum(counts[index] for index in picked[:-1]) < before[consumer]
    assert stop == len(counts) or all(most <= 0 for most in left.values())


def two():
    shared, a, b = shared_strategy(), Receiver("a"), Receiver("b")
    shared.join(a)
    shared.join(b)
    return World(shared), a, b


def test_what_finds_no_capacity_waits_and_goes_before_what_is_new():
    world, a, b = two()
    a.permits = b.permits = 1
    run = [entry() for _ in range(4)]
    assert world.offer(*run) == {"a": [0], "b": [1]}
    assert (world.strategy.may_read(), world.strategy.due(9)) == (False, [(1, 2), (1, 3)])
    assert world.strategy.blocked(0.0) == Blocked(Why.NO_PERMITS, "a")
    b.permits = 1
    assert world.strategy.blocked(0.0) is None
    assert world.due(run) == {"b": [2]}


def test_consumers_are_served_by_priority_then_by_age():
    shared = shared_strategy()
    for receiver in (Receiver("late", priority=1), Receiver("a"), Receiver("b")):
        shared.join(receiver)
    assert [each.name for each in shared.receivers] == ["a", "b", "late"]


def test_all_chunks_of_a_message_go_to_one_consumer():
    world, _, _ = two()
    run = [chunk(uuid, index, 3) for index in range(3) for uuid in "mn"]
    assert world.offer(*run, entry()) == {"a": [0, 2, 4, 6], "b": [1, 3, 5]}
    assert not world.strategy.chunk_owners


def test_chunks_whose_owner_is_full_wait_for_it_alone():
    world, a, _ = two()
    a.permits = 1
    run = [chunk("m", index, 3) for index in range(3)]
    assert world.offer(*run, entry()) == {"a": [0], "b": [3]}
    assert world.strategy.due(9) == []
    assert world.strategy.may_read()
    assert world.strategy.blocked(0.0) == Blocked(Why.CHUNK_OWNER, "a")
    a.permits = 1
    assert world.due(run) == {"a": [1]}
    world.strategy.table.leave(a)
    world.strategy.leave(a)
    assert world.due(run) == {"b": [2]}


def test_without_consumers_that_is_the_reason():
    assert shared_strategy().blocked(0.0) == Blocked(Why.NO_CONSUMER)
