import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import EntryNotFound, InvalidValue
from magnetar.model.position import MessageId, Position
from magnetar.spark.offsets import NOTHING_READ, WHOLE_ENTRY, Offset
from magnetar.spark.planning import (
    Range,
    advance,
    cut,
    lost,
    ranges,
    resolve,
    shares,
    times_between,
)


def always(_topic):
    return True


def test_a_range_per_partition_with_something_new():
    start = {"a": Offset(1, 5), "b": Offset(2, 0)}
    end = {"a": Offset(1, 9, 3), "b": Offset(2, 0), "c": Offset(0, 0)}
    assert ranges(start, end) == [
        Range("a", Offset(1, 5), Offset(1, 9, 3)),
        Range("c", NOTHING_READ, Offset(0, 0)),
    ]


def test_a_range_may_end_before_a_ledger():
    between = Range("a", Offset(1, 5), Offset(2, -1))
    assert ranges({"a": between.after}, {"a": between.upto}) == [between]


OFFSETS = st.builds(Offset, st.integers(0, 3), st.integers(-1, 3), st.sampled_from([-1, 0, 1]))


@given(OFFSETS, OFFSETS, st.lists(OFFSETS))
def test_the_pieces_of_a_range_meet_and_are_never_empty(after, upto, places):
    pieces = cut(Range("a", after, upto), places) if after < upto else []
    assert all(piece.after < piece.upto for piece in pieces)
    assert [piece.upto for piece in pieces[:-1]] == [piece.after for piece in pieces[1:]]
    if pieces:
        assert (pieces[0].after, pieces[-1].upto) == (after, upto)
        assert {place for place in places if after < place < upto} == {
            piece.upto for piece in pieces[:-1]
        }


@pytest.mark.parametrize(
    ("first_ms", "last_ms", "count", "times_ms"),
    [
        (100, 200, 4, [125, 150, 175]),
        (100, 101, 4, []),
        (100, 102, 4, [101]),
        (100, 100, 4, []),
        (200, 100, 4, []),
        (100, 200, 1, []),
    ],
)
def test_a_time_is_divided_evenly(first_ms, last_ms, count, times_ms):
    assert times_between(first_ms, last_ms, count) == times_ms


def test_a_reader_begins_at_the_message_before_a_range_or_at_its_first():
    topic = "persistent://public/default/a-partition-3"
    begins = {
        NOTHING_READ: MessageId(-1, -1),
        Offset(7, -1): MessageId(7, 0, 3),
        Offset(7, 4, 1): MessageId(7, 4, 3, 1),
        Offset(7, 4): MessageId(7, 4, 3),
        Offset.before(Position(7, 5)): MessageId(7, 5, 3),
    }
    for after, start in begins.items():
        assert Range(topic, after, Offset(9, 9)).start_id == start


def test_the_same_offsets_make_no_ranges():
    offsets = {"a": Offset(1, 5)}
    assert ranges(offsets, offsets) == []


def test_a_batch_ends_at_each_partitions_last_message():
    start = {"a": Offset(1, 5)}
    last = {"a": Offset(1, 9), "new": Offset(3, 3)}
    assert advance(start, last, fail_on_data_loss=True, asked_for=always) == last


def test_a_partition_without_messages_stays_where_it_is():
    start = {"a": Offset(1, 5), "b": NOTHING_READ}
    last = {"a": None, "b": None, "new": None}
    assert advance(start, last, fail_on_data_loss=True, asked_for=always) == {
        **start,
        "new": NOTHING_READ,
    }


def test_a_topic_that_was_made_anew_is_data_loss():
    with pytest.raises(EntryNotFound, match="failOnDataLoss"):
        advance({"a": Offset(9, 5)}, {"a": Offset(1, 0)}, fail_on_data_loss=True, asked_for=always)


def test_a_topic_that_was_made_anew_is_read_from_its_beginning_when_data_may_be_lost():
    start = {"a": Offset(9, 5)}
    end = advance(start, {"a": Offset(1, 0)}, fail_on_data_loss=False, asked_for=always)
    assert end == {"a": Offset(1, 0)}
    assert ranges(start, end, made_anew=True) == [Range("a", NOTHING_READ, Offset(1, 0))]
    assert ranges(start, end) == []
    assert lost(start, end, always) == {
        "a": "it was read up to 9:5:-1 and made anew; it is read up to 1:0:-1"
    }


def test_a_place_behind_the_last_message_is_no_loss():
    start = {"a": Offset(9, 5, WHOLE_ENTRY)}
    last = {"a": Offset(9, 5, 3)}
    assert advance(start, last, fail_on_data_loss=True, asked_for=always) == start
    assert (
        ranges(
            start, advance(start, last, fail_on_data_loss=True, asked_for=always), made_anew=True
        )
        == []
    )
    assert lost(start, last, always) == {}


def test_a_partition_that_is_gone_is_data_loss():
    with pytest.raises(EntryNotFound, match="gone"):
        advance({"a": Offset(9, 5)}, {}, fail_on_data_loss=True, asked_for=always)
    assert advance({"a": Offset(9, 5)}, {}, fail_on_data_loss=False, asked_for=always) == {
        "a": Offset(9, 5)
    }
    assert lost({"a": Offset(9, 5)}, {}, always) == {"a": "it was read up to 9:5:-1 and is gone"}


def test_a_topic_that_is_no_longer_asked_for_is_not_gone():
    start, other = {"a": Offset(9, 5)}, {"b": Offset(1, 0)}
    with pytest.raises(EntryNotFound, match=r"^a was read up to 9:5:-1 and is no longer asked for"):
        advance(start, other, fail_on_data_loss=True, asked_for={"b"}.__contains__)
    said = {"a": "it was read up to 9:5:-1 and is no longer asked for by the options of the query"}
    assert lost(start, other, {"b"}.__contains__) == said


@given(st.integers(1, 10**9), st.lists(st.integers(1, 10**12), min_size=1, max_size=100))
def test_shares_are_in_proportion_and_leave_nobody_out(total, sizes):
    parts = shares(total, sizes)
    assert sum(parts) == max(total, len(sizes))
    assert min(parts) >= 1
    if total * min(sizes) >= sum(sizes):
        for part, size in zip(parts, sizes, strict=True):
            assert abs(part - total * size / sum(sizes)) <= 1


def test_what_is_shared_out():
    assert shares(10, []) == []
    assert shares(100, [900, 100]) == [90, 10]
    assert shares(7, [1, 1]) == [3, 4]
    assert shares(4, [1, 10**6]) == [1, 3]
    assert shares(1, [1, 10**6]) == [1, 1]
    assert shares(4, [0, 0]) == [2, 2]


A, B = "persistent://public/default/a", "persistent://public/default/b"
PARTS = {f"{B}-partition-{index}": Offset(5, index) for index in range(2)}
LAST = {A: Offset(1, 9, 3), **PARTS}


def nothing_at(*_place):
    raise AssertionError("nobody asked for a time")


def test_a_time_is_looked_for_in_each_partition_with_messages():
    first, second = sorted(PARTS)[:2]
    asked = {(A, 5): Offset(1, 3), (first, 7): None}
    last = {**dict.fromkeys([A, first], Offset(1, 9)), second: None}
    found = resolve({A: "@5", B: "@7"}, last, lambda *place: asked[place], otherwise="earliest")
    assert found == {A: Offset(1, 3), first: Offset(1, 9), second: NOTHING_READ}


def test_earliest_and_latest_are_for_every_partition():
    assert resolve("earliest", LAST, nothing_at, otherwise="latest") == dict.fromkeys(
        LAST, NOTHING_READ
    )
    assert resolve("latest", LAST, nothing_at, otherwise="earliest") == LAST


def test_the_latest_message_of_an_empty_topic_is_none():
    assert resolve("latest", {A: None}, nothing_at, otherwise="earliest") == {A: NOTHING_READ}


def test_offsets_by_name_leave_the_others_to_the_default():
    assert resolve({A: "1:4:0"}, LAST, nothing_at, otherwise="latest") == {
        **LAST,
        A: Offset(1, 4, 0),
    }


def test_the_name_of_a_partitioned_topic_stands_for_its_partitions():
    found = resolve({B: "earliest"}, LAST, nothing_at, otherwise="latest")
    assert found == {A: LAST[A], **dict.fromkeys(PARTS, NOTHING_READ)}
    with pytest.raises(InvalidValue, match="has partitions"):
        resolve({B: "1:0:-1"}, LAST, nothing_at, otherwise="latest")


def test_a_name_that_is_not_read_is_a_mistake():
    with pytest.raises(InvalidValue, match="not among"):
        resolve({f"{A}-partition-7": "earliest"}, LAST, nothing_at, otherwise="latest")


@pytest.mark.parametrize("last", [Offset(1, 9, 3), None])
def test_an_offset_beyond_the_end_is_a_mistake(last):
    with pytest.raises(InvalidValue, match="beyond its last message"):
        resolve({A: "1:9:4"}, {A: last}, nothing_at, otherwise="latest")
