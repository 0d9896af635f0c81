"""The state after any crash is that of the last commit; without commits, that of the topic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.functions import state as state_module
from magnetar.functions.state import FunctionState, Record

changes = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from([None, 1, 2, 5])), min_size=1, max_size=4
)


def changed(state, what):
    """Keys that end up with a value of their own, and counters that are added to."""
    for key, amount in what:
        if amount is None:
            state.delete(key)
        else:
            state.put(key, b"%d" % amount)
            state.increment(key, amount)


def loaded(records, **options):
    state = FunctionState("0", **options)
    state.apply(records)
    state.recover()
    return state


def seen(state):
    return state.values(), state.counters()


def compacted(records):
    """What compaction leaves: of each key the last record."""
    last = {record.key: place for place, record in enumerate(records)}
    return [record for place, record in enumerate(records) if last[record.key] == place]


def test_what_was_written_is_read_back():
    state = FunctionState("0", commits=False)
    changed(state, [("a", 1), ("b", 2), ("a", 5), ("b", None)])
    records = state.changes()
    assert [record.key for record in records] == [
        "value/a",
        "counter/a/0",
        "value/b",
        "counter/b/0",
    ]
    assert state.changes() == []
    assert seen(loaded(records, commits=False)) == ({"a": b"5"}, {"a": 6, "b": 2})


def test_an_empty_value_is_none():
    state = FunctionState("0", commits=False)
    state.put("a", b"")
    assert state.get("a") is None


def test_there_are_only_so_many_keys(monkeypatch):
    monkeypatch.setattr(state_module, "STATE_KEYS_MAX", 2)
    state = FunctionState("0", commits=False)
    state.put("a", b"1")
    state.increment("n", 1)
    for add in (lambda: state.put("b", b"1"), lambda: state.increment("m", 1)):
        with pytest.raises(InvalidValue, match=r"has 2 keys, and no place for .*: delete keys"):
            add()
    state.put("a", b"2")
    state.increment("n", 1)
    state.delete("never")
    state.delete("a")
    state.put("b", b"3")
    assert seen(state) == ({"b": b"3"}, {"n": 2})
    assert seen(loaded(state.changes(), commits=False)) == seen(state)


@pytest.mark.parametrize("writers", [1, 2])
def test_nothing_is_kept_of_keys_that_come_and_go(writers):
    state = FunctionState("0", commits=False, writers=writers)

    def change(key):
        state.put(key, b"1")
        state.increment(key, 1)
        state.delete(key)
        state.delete_counter(key)
        log = state.changes()
        if writers > 1:
            state.apply(log)

    def held():
        return sum(len(each) for each in vars(state).values() if isinstance(each, dict))

    change("a")
    before = held()
    for number in range(100):
        change(str(number))
    assert held() == before


def test_counters_of_instances_are_summed_up():
    one, two = (FunctionState(writer, commits=False, writers=2) for writer in "01")
    one.increment("n", 3)
    two.increment("n", 4)
    log = one.changes() + two.changes()
    for state in (one, two):
        state.apply(log)
        assert state.counter("n") == 7
    one.delete_counter("n")
    two.apply(one.changes())
    assert two.counter("n") is None


def test_of_two_instances_the_last_in_the_topic_has_set_a_value():
    one, two = (FunctionState(writer, commits=False, writers=2) for writer in "01")
    one.put("k", b"one")
    two.put("k", b"two")
    log = one.changes() + two.changes()
    for state in (one, two):
        state.apply(log)
        assert state.get("k") == b"two"


def test_positions_never_go_back():
    state = FunctionState("0", commits=True)
    state.put("a", b"1")
    records = state.changes({"in": "7:10:-1"})
    state.put("a", b"2")
    later = state.changes({"in": "8:0:3"})
    assert loaded(later + records, commits=True).positions == {"in": "8:0:3"}


def test_a_topic_with_something_else_in_it_is_refused():
    with pytest.raises(InvalidValue, match="where a number belongs"):
        loaded([Record("counter/n/0", b"x", {})], commits=False)


@given(st.lists(st.tuples(changes, st.integers(0, 9), st.booleans()), max_size=8))
def test_after_a_crash_the_state_is_that_of_the_last_commit(runs):
    """Each run may die after any of its records, and compaction may come at any time."""
    log, committed, position = [], ({}, {}), {}
    for number, (what, written, compact) in enumerate(runs):
        if compact:
            log = compacted(log)
        state = loaded(log, commits=True)
        assert seen(state) == committed
        assert state.positions == position
        changed(state, what)
        records = state.changes({"in": f"0:{number}:-1"})
        log += records[:written]
        if written >= len(records):
            committed, position = seen(state), {"in": f"0:{number}:-1"}
    assert seen(loaded(log, commits=True)) == committed


def test_what_an_instance_left_undone_that_is_no_more_is_undone():
    two = FunctionState("1", commits=True, writers=2)
    two.put("k", b"kept")
    log = two.changes({"in": "0:0:-1"})
    two.put("k", b"lost")
    log += two.changes({"in": "0:1:-1"})[:-1]
    assert loaded(log, commits=True, writers=1).get("k") == b"kept"
    assert loaded(log, commits=True, writers=2).get("k") == b"lost"  # It may still be at it.
