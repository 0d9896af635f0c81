from datetime import UTC, datetime

import pyarrow as pa
import pytest

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaType
from magnetar.spark.rows import ROW_SHOWN_MAX, TextSchema, to_messages

WHEN = datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
WHEN_MS = int(WHEN.timestamp() * 1000)


def batch(**columns):
    return pa.RecordBatch.from_pydict(columns)


def test_rows_become_messages_by_topic_in_their_order():
    rows = batch(value=["1", "2", "3"], topic=["a", "b", "a"])
    found = to_messages(rows, None)
    assert {topic: [one.value for one in many] for topic, many in found.items()} == {
        "a": [b"1", b"3"],
        "b": [b"2"],
    }
    assert {topic: len(many) for topic, many in to_messages(rows, "c").items()} == {"c": 3}


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


def test_a_row_that_lacks_something_is_shown():
    with pytest.raises(InvalidValue, match=r"no value: \{'key': 'k'\}"):
        to_messages(batch(value=["v", None], key=["j", "k"]), "t")
    with pytest.raises(InvalidValue, match=r"no topic: \{'value': 'w'\}"):
        to_messages(batch(value=["v", "w"], topic=["t", None]), None)
    with pytest.raises(InvalidValue, match=r"no topic: \{'value': 'v'\}"):
        to_messages(batch(value=["v"]), None)
    with pytest.raises(InvalidValue) as refused:
        to_messages(batch(value=["v" * 5000], topic=pa.array([None], pa.string())), None)
    assert len(str(refused.value)) < 2 * ROW_SHOWN_MAX


def test_text_is_told_of_and_left_as_it_is():
    schema = TextSchema()
    assert schema.info.type is SchemaType.STRING
    assert schema.decode(schema.encode("ü".encode())) == "ü".encode()
