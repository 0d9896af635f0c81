from datetime import UTC, datetime

import pyarrow as pa
import pytest

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import InvalidValue
from magnetar.spark.rows import to_messages

WHEN = datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
WHEN_MS = int(WHEN.timestamp() * 1000)


def batch(**columns):
    return pa.RecordBatch.from_pydict(columns)


def test_rows_become_messages_by_topic_in_their_order():
    rows = batch(value=["1", "2", "3"], topic=["a", None, "a"])
    found = to_messages(rows, "b")
    assert {topic: [one.value for one in many] for topic, many in found.items()} == {
        "a": [b"1", b"3"],
        "b": [b"2"],
    }


def test_a_row_may_say_all_that_a_message_can():
    properties = pa.array([[("a", "1"), ("b", None)]], pa.map_(pa.string(), pa.string()))
    times = pa.array([WHEN], pa.timestamp("us", "UTC"))
    rows = batch(
        value=[b"v"], key=["k"], ordering_key=[b"o"], properties=properties, event_time=times
    )
    assert to_messages(rows, "t") == {"t": [OutgoingMessage(b"v", "k", b"o", {"a": "1"}, WHEN_MS)]}


@pytest.mark.parametrize(("key", "sent"), [(b"UA", "UA"), (b"\xff", b"\xff"), (None, None)])
def test_a_key_that_is_text_goes_as_text(key, sent):
    rows = pa.RecordBatch.from_arrays(
        [pa.array(["v"]), pa.array([key], pa.binary())], names=["value", "key"]
    )
    assert to_messages(rows, "t")["t"][0].key == sent


def test_a_row_without_a_value_or_a_topic_is_refused():
    with pytest.raises(InvalidValue, match="no value"):
        to_messages(batch(value=pa.array([None], pa.string())), "t")
    with pytest.raises(InvalidValue, match="no topic"):
        to_messages(batch(value=["v"]), None)
