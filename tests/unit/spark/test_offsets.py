from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import InvalidValue
from magnetar.spark.offsets import NOTHING_READ, Offset, covers, from_json, to_json

OFFSETS = st.builds(
    Offset,
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.integers(-1, 2**31 - 1),
)


@given(
    st.dictionaries(st.text().map("persistent://{}".format), OFFSETS), st.none() | st.just("mine")
)
def test_offsets_survive_the_checkpoint(offsets, subscription):
    told = to_json(offsets, subscription)
    assert from_json(told) == offsets
    assert told.get("subscription") == subscription


@given(OFFSETS)
def test_an_offset_prints_as_it_is_parsed(offset):
    assert Offset.parse(str(offset)) == offset


@given(st.lists(OFFSETS, min_size=2, max_size=20))
def test_reads_between_ascending_offsets_divide_the_log(offsets):
    """Each message lies in one and only one of the ranges between offsets."""
    borders = [NOTHING_READ, *sorted(set(offsets))]
    for message in offsets:
        if message > NOTHING_READ:
            pairs = pairwise(borders)
            assert sum(after < message <= upto for after, upto in pairs) == 1


def test_offsets_compare_in_log_order():
    in_order = ["-1:-1:-1", "7:-1:-1", "7:3:-1", "7:4:-1", "7:4:0", "7:4:1", "7:10:-1", "8:-1:-1"]
    offsets = [Offset.parse(text) for text in in_order]
    assert offsets == sorted(offsets)


@pytest.mark.parametrize(
    "text", ["", "7", "7:3", "7:3:-2", "a:b:c", "7:3:0:1", " 7:3:0", "7:3:0\n"]
)
def test_what_is_no_offset_is_refused_with_an_example(text):
    with pytest.raises(InvalidValue, match="7:4:0"):
        Offset.parse(text)


def test_a_place_between_ledgers_names_no_message():
    assert not NOTHING_READ.names_a_message
    assert not Offset(7, -1).names_a_message
    assert Offset(7, 0).names_a_message


def test_done_covers_wanted_when_each_partition_got_there():
    wanted = {"a": Offset(1, 5), "b": Offset(2, 0)}
    assert covers({"a": Offset(1, 5), "b": Offset(2, 1)}, wanted)
    assert not covers({"a": Offset(1, 4, 99), "b": Offset(2, 1)}, wanted)
    assert not covers({"a": Offset(1, 5)}, wanted)
    assert covers({}, {})
