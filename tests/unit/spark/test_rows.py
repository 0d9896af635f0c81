from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.client.message import OutgoingMessage
from magnetar.errors import InvalidValue
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.rows import TIME_MS_MAX, parts, to_messages, to_rows
from magnetar.spark.schema import READ_SCHEMA

ARROW_SCHEMA = to_arrow_schema(READ_SCHEMA, timezone="UTC")
WHEN = datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
WHEN_MS = int(WHEN.timestamp() * 1000)


@pytest.fixture(scope="module")
def messages(magnetar_broker):
    """Two messages in a batch, and one of its own, as a client receives them."""
    topic = "persistent://public/default/rows"
    full = OutgoingMessage(b"\x00v", "k", b"o", {"a": "1", "b": "2"}, WHEN_MS)
    with blocking.Client(magnetar_broker.service_url) as client:
        with client.create_producer(topic, name="together", batch_delay_s=0.05) as producer:
            producer.send_many([full, OutgoingMessage(b"w", key=b"\xff")])
        with client.create_producer(topic, name="alone", batching=False) as producer:
            producer.send_many([OutgoingMessage(b"x", event_time_ms=TIME_MS_MAX + 1)])
        with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
            found = []
            while len(found) < 3:
                found += reader.receive_many(10, 10.0)
    return found


def test_the_schema_is_exactly_what_spark_expects(messages):
    assert to_rows(messages, ARROW_SCHEMA).schema.equals(ARROW_SCHEMA, check_metadata=True)


def test_columns_say_what_messages_do(messages):
    columns = to_rows(messages, ARROW_SCHEMA).to_pydict()
    assert columns["value"] == [b"\x00v", b"w", b"x"]
    assert columns["key"] == [b"k", b"\xff", None]
    assert columns["ordering_key"] == [b"o", None, None]
    assert columns["properties"] == [[("a", "1"), ("b", "2")], [], []]
    assert columns["event_time"] == [WHEN, None, None]
    assert columns["topic"] == ["persistent://public/default/rows"] * 3
    assert columns["partition"] == [-1, -1, -1]
    assert columns["producer_name"] == ["together", "together", "alone"]
    assert columns["sequence_id"] == [0, 1, 0]
    assert [row["batch_index"] for row in columns["message_id"]] == [0, 1, -1]
    for row, message in zip(columns["message_id"], messages, strict=True):
        assert (row["ledger_id"], row["entry_id"]) == message.message_id.position
    assert all(time > datetime(2020, 1, 1, tzinfo=UTC) for time in columns["publish_time"])


def test_only_the_columns_asked_for_are_made(messages):
    schema = StructType([READ_SCHEMA["event_time"], READ_SCHEMA["value"]])
    rows = to_rows(messages, to_arrow_schema(schema, timezone="UTC"))
    assert rows.schema.names == ["event_time", "value"]


def test_large_messages_are_divided_between_batches(messages):
    assert [len(part) for part in parts(messages, bytes_max=3)] == [2, 1]
    assert [part[0] for part in parts(messages, bytes_max=1)] == messages
    assert list(parts([])) == []


def test_no_messages_are_no_rows():
    assert to_rows([], ARROW_SCHEMA).num_rows == 0


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
