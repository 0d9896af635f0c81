import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import EntryNotFound, InvalidValue
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.planning import Range, advance, ranges, resolve, shares


def test_a_range_per_partition_with_something_new():
    start = {"a": Offset(1, 5), "b": Offset(2, 0)}
    end = {"a": Offset(1, 9, 3), "b": Offset(2, 0), "c": Offset(0, 0)}
    assert ranges(start, end) == [
        Range("a", Offset(1, 5), Offset(1, 9, 3)),
        Range("c", NOTHING_READ, Offset(0, 0)),
    ]


def test_a_place_between_ledgers_is_nothing_to_read():
    assert ranges({"a": Offset(1, 5)}, {"a": Offset(2, -1)}) == []


def test_the_same_offsets_make_no_ranges():
    offsets = {"a": Offset(1, 5)}
    assert ranges(offsets, offsets) == []


def test_a_batch_ends_at_each_partitions_last_message():
    start = {"a": Offset(1, 5)}
    last = {"a": Offset(1, 9), "new": Offset(3, 3)}
    assert advance(start, last, fail_on_data_loss=True) == last


def test_a_partition_without_messages_stays_where_it_is():
    start = {"a": Offset(1, 5), "b": NOTHING_READ}
    last = {"a": None, "b": None, "new": None}
    assert advance(start, last, fail_on_data_loss=True) == {**start, "new": NOTHING_READ}


def test_a_topic_that_was_made_anew_is_data_loss():
    with pytest.raises(EntryNotFound, match="failOnDataLoss"):
        advance({"a": Offset(9, 5)}, {"a": Offset(1, 0)}, fail_on_data_loss=True)


def test_a_topic_that_was_made_anew_waits_when_data_may_be_lost():
    start = {"a": Offset(9, 5)}
    assert advance(start, {"a": Offset(1, 0)}, fail_on_data_loss=False) == start


def test_a_partition_that_is_gone_is_data_loss():
    with pytest.raises(EntryNotFound, match="gone"):
        advance({"a": Offset(9, 5)}, {}, fail_on_data_loss=True)
    assert advance({"a": Offset(9, 5)}, {}, fail_on_data_loss=False) == {"a": Offset(9, 5)}


@given(st.integers(1, 10**9), st.integers(1, 1000))
def test_shares_are_even_and_leave_nobody_out(total, waiting):
    parts = shares(total, waiting)
    assert len(parts) == waiting
    assert max(parts) - min(parts) <= 1
    assert min(parts) >= 1
    assert sum(parts) == max(total, waiting)


def test_nobody_waits_for_a_share():
    assert shares(10, 0) == []


A, B = "persistent://public/default/a", "persistent://public/default/b"
PARTS = {f"{B}-partition-{index}": Offset(5, index) for index in range(2)}
LAST = {A: Offset(1, 9, 3), **PARTS}


def test_earliest_and_latest_are_for_every_partition():
    assert resolve("earliest", LAST, otherwise="latest") == dict.fromkeys(LAST, NOTHING_READ)
    assert resolve("latest", LAST, otherwise="earliest") == LAST


def test_the_latest_message_of_an_empty_topic_is_none():
    assert resolve("latest", {A: None}, otherwise="earliest") == {A: NOTHING_READ}


def test_offsets_by_name_leave_the_others_to_the_default():
    assert resolve({A: "1:4:0"}, LAST, otherwise="latest") == {**LAST, A: Offset(1, 4, 0)}


def test_the_name_of_a_partitioned_topic_stands_for_its_partitions():
    found = resolve({B: "earliest"}, LAST, otherwise="latest")
    assert found == {A: LAST[A], **dict.fromkeys(PARTS, NOTHING_READ)}
    with pytest.raises(InvalidValue, match="has partitions"):
        resolve({B: "1:0:-1"}, LAST, otherwise="latest")


def test_a_name_that_is_not_read_is_a_mistake():
    with pytest.raises(InvalidValue, match="not among"):
        resolve({f"{A}-partition-7": "earliest"}, LAST, otherwise="latest")


@pytest.mark.parametrize("last", [Offset(1, 9, 3), None])
def test_an_offset_beyond_the_end_is_a_mistake(last):
    with pytest.raises(InvalidValue, match="beyond its last message"):
        resolve({A: "1:9:4"}, {A: last}, otherwise="latest")
