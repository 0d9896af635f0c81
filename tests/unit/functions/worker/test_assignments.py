"""How functions are divided among workers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.functions.worker.assignments import decode, encode, placed, rebalanced

SIZES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 5), max_size=8)


def test_a_record_of_a_newer_version_is_read():
    assert decode(encode("w1")) == "w1"
    assert decode(b'{"workerId": "w1", "instance": {"id": 3}}') == "w1"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff"])
def test_what_is_none_is_refused(data):
    with pytest.raises(InvalidValue, match="a record of persistent://public/functions/assign"):
        decode(data)


def test_a_new_function_goes_to_the_worker_with_the_fewest_instances():
    instances = {"a": 3, "b": 1, "c": 1, "d": 1}
    assigned = {"a": "w1", "b": "w2"}
    found = placed(instances, assigned, there=["w1", "w2"], missed=["w1", "w2"])
    assert found == {"c": "w2", "d": "w2"}


def test_what_is_missed_keeps_its_functions_for_a_while_and_gets_no_others():
    instances, assigned = {"a": 1, "b": 1}, {"a": "w1"}
    assert placed(instances, assigned, there=["w2"], missed=["w1", "w2"]) == {"b": "w2"}
    assert placed(instances, assigned, there=["w2"], missed=["w2"]) == {"a": "w2", "b": "w2"}
    assert placed(instances, assigned, there=[], missed=[]) == {}


@given(SIZES)
def test_after_a_rebalance_no_move_makes_it_more_even(sizes):
    workers = ["w1", "w2", "w3"]
    now = dict.fromkeys(sizes, "w1")
    now |= rebalanced(sizes, now, workers)
    loads = {each: sum(sizes[name] for name in sizes if now[name] == each) for each in workers}
    gap = max(loads.values()) - min(loads.values())
    fullest = max(loads, key=loads.__getitem__)
    assert all(sizes[name] >= gap for name in sizes if now[name] == fullest)
    assert rebalanced(sizes, now, workers) == {}
