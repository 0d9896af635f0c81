from datetime import UTC, datetime

import pyarrow as pa
import pytest

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import PackedBatch
from magnetar.errors import InvalidValue
from magnetar.inner.plain.batches import Single
from magnetar.message.batch import pack
from magnetar.spark.rows import (
    BATCH_BYTES_MAX,
    BATCH_MESSAGES_MAX,
    ROW_SHOWN_MAX,
    Rows,
    count_of,
)

WHEN = datetime(2013, 1, 1, 5, 15, 0, 999, tzinfo=UTC)
WHEN_MS = int(WHEN.timestamp() * 1000)
MAPS = pa.map_(pa.string(), pa.string())


def batch(**columns):
    return pa.RecordBatch.from_pydict(columns)


def batches(rows, *, first_id=0, done=0):
    found = Rows(rows)
    ((_, picked),) = found.by_topic("t").items()
    return list(found.batches(picked, first_id, done))


def test_a_row_without_a_value_is_a_tombstone_where_that_is_wanted():
    rows = batch(value=[b"v", None], key=["a", "b"])
    with pytest.raises(InvalidValue, match=r"a row has no value: {'key': 'b'}.*nullValue=tombston"):
        Rows(rows).by_topic("t")
    wanted = Rows(rows, nulls=True)
    (packed,) = wanted.batches(wanted.by_topic("t")["t"], 0, 0)
    details = {0: Single(key="a"), 1: Single(key="b", null_value=True)}
    assert packed.payload == pack([b"v", b""], first_sequence_id=0, details=details)


@pytest.mark.parametrize("size", [1, BATCH_BYTES_MAX])
def test_headers_are_properties(size):
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    said = [[("a", b"0")], [("a", b"1"), ("b", b"2"), ("c", None)], None]
    dicts = [each and [{"key": name, "value": value} for name, value in each] for each in said]
    rows = pa.RecordBatch.from_pydict(
        {"value": [b"x" * size] * 3, "headers": pa.array(dicts, kind)}
    ).slice(1)
    found = batches(rows)
    if size == 1:
        details = {0: Single(properties={"a": "1", "b": "2"})}
        assert found[0].payload == pack([b"x", b"x"], first_sequence_id=0, details=details)
    else:
        assert [one.properties for one in found] == [{"a": "1", "b": "2"}, {}]


def test_rows_go_to_their_topics_in_their_order():
    rows = Rows(batch(value=["1", "2", "3"], topic=["a", "b", "a"]))
    found = rows.by_topic(None)
    assert {topic: count_of(picked) for topic, picked in found.items()} == {"a": 2, "b": 1}
    (of_a,) = rows.batches(found["a"], 5, 0)
    assert of_a == PackedBatch(pack([b"1", b"3"], first_sequence_id=5), 2, 5, 2)
    assert rows.by_topic("c") == {"c": 3}
    assert Rows(batch(value=[])).by_topic("c") == {}


def everything(value):
    properties = pa.array([[("a", "1"), ("b", None)], None], MAPS)
    times = pa.array([WHEN, None], pa.timestamp("us", "UTC"))
    return batch(
        value=[value, value],
        key=pa.array([b"k", b"\xff"]),
        ordering_key=[b"o", None],
        properties=properties,
        event_time=times,
    )


@pytest.mark.parametrize("offset", [0, 1])
def test_a_row_may_say_all_that_a_message_can(offset):
    (found,) = batches(everything(b"v").slice(offset, 2), first_id=3)
    details = [
        Single("k", False, b"o", {"a": "1"}, WHEN_MS),
        Single("/w==", True),
    ][offset:]
    payload = pack([b"v"] * len(details), first_sequence_id=3, details=dict(enumerate(details)))
    assert found.payload == payload
    assert (found.key, found.ordering_key) == [("k", b"o"), (b"\xff", None)][offset]


def test_a_message_too_large_for_a_batch_goes_alone_and_says_the_same():
    large = b"v" * BATCH_BYTES_MAX
    assert batches(everything(large), first_id=3) == [
        OutgoingMessage(large, "k", b"o", {"a": "1"}, WHEN_MS, 3),
        OutgoingMessage(large, b"\xff", None, {}, None, 4),
    ]


def test_batches_are_bounded():
    many = batches(batch(value=["v"] * (BATCH_MESSAGES_MAX + 1)))
    assert [each.message_count for each in many] == [BATCH_MESSAGES_MAX, 1]
    large = batches(batch(value=["v" * (BATCH_BYTES_MAX // 2)] * 5))
    assert [each.message_count for each in large] == [2, 2, 1]
    assert [each.first_sequence_id for each in large] == [0, 2, 4]


@pytest.mark.parametrize("done", [0, 1, 2, 3, 4, 5])
def test_what_is_done_is_left_out_and_batches_end_at_the_same_rows(done):
    rows = batch(value=["v" * (BATCH_BYTES_MAX // 2)] * 5)
    ends = [
        found.first_sequence_id + found.message_count
        for found in batches(rows, first_id=10, done=done)
    ]
    assert ends == [end for end in (12, 14, 15) if end > 10 + done]
    firsts = [found.first_sequence_id for found in batches(rows, first_id=10, done=done)]
    assert firsts[:1] == [10 + done][: len(firsts)]


def test_wide_columns_are_written_too():
    (found,) = batches(batch(value=pa.array(["é"], pa.large_string())))
    assert found.payload == pack(["é".encode()], first_sequence_id=0)


def test_a_row_that_lacks_something_is_shown():
    def refused(to, **columns):
        with pytest.raises(InvalidValue) as error:
            Rows(batch(**columns)).by_topic(to)
        return str(error.value)

    assert "no value: {'key': 'k'}" in refused("t", value=["v", None], key=["j", "k"])
    assert "no topic: {'value': 'w'}" in refused(None, value=["v", "w"], topic=["t", None])
    assert "no topic: {'value': 'v'}" in refused(None, value=["v"])
    nowhere = pa.array([None], pa.string())
    assert len(refused(None, value=["v" * 5000], topic=nowhere)) < 2 * ROW_SHOWN_MAX


def test_a_row_that_no_message_can_carry_is_shown():
    early = pa.array([WHEN, datetime(1969, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    with pytest.raises(InvalidValue, match=r"an event time before 1970: \{'value': 'w'"):
        batches(batch(value=["v", "w"], event_time=early))
