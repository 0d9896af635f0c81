from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Delivery
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import CorruptEntry
from magnetar.history.arrays import TIME_MS_MAX
from magnetar.message import entry, metadata
from magnetar.model.position import EARLIEST_MESSAGE, Position
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.spark.columns import BATCH_BYTES_MAX, parts, to_rows
from magnetar.spark.schema import READ_SCHEMA

ARROW_SCHEMA = to_arrow_schema(READ_SCHEMA, timezone="UTC")
WHEN = datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
WHEN_MS = int(WHEN.timestamp() * 1000)


@pytest.fixture(scope="module")
def entries(magnetar_broker):
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
            while len(found) < 2:
                found += reader.receive_entries(10, 10.0)
    return found


def test_the_schema_is_exactly_what_spark_expects(entries):
    assert to_rows(entries, ARROW_SCHEMA).schema.equals(ARROW_SCHEMA, check_metadata=True)


def test_columns_say_what_messages_do(entries):
    columns = to_rows(entries, ARROW_SCHEMA).to_pydict()
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
    places = [entry.delivery.position for entry in entries for _ in entry.messages()]
    for row, place in zip(columns["message_id"], places, strict=True):
        assert (row["ledger_id"], row["entry_id"]) == place
    assert all(time > datetime(2020, 1, 1, tzinfo=UTC) for time in columns["publish_time"])


def test_only_the_columns_asked_for_are_made(entries):
    schema = StructType([READ_SCHEMA["event_time"], READ_SCHEMA["value"]])
    rows = to_rows(entries, to_arrow_schema(schema, timezone="UTC"))
    assert rows.schema.names == ["event_time", "value"]


def test_large_messages_are_divided_between_batches(entries):
    assert list(parts(entries, 10, bytes_max=1)) == [entries[:1], entries[1:]]
    assert list(parts(iter(entries), 10, bytes_max=1000)) == [entries]
    assert list(parts([], 10)) == []


def test_a_batch_holds_so_many_bytes_where_nothing_else_is_said():
    half, more = (made(bytes(BATCH_BYTES_MAX // 2 + extra), 1) for extra in (0, 1))
    assert list(parts([half, half], 10)) == [[half, half]]
    assert list(parts([half, more], 10)) == [[half], [more]]


def test_many_messages_are_divided_between_batches(entries):
    assert list(parts(entries, 3)) == [entries]
    assert list(parts(entries, 2)) == [entries[:1], entries[1:]]
    assert list(parts(entries, 1)) == [entries[:1], entries[1:]]  # An entry stays whole.
    assert list(parts(entries * 3, 4)) == [entries, entries, entries]


def test_no_messages_are_no_rows():
    assert to_rows([], ARROW_SCHEMA).num_rows == 0


def made(payload, size, wanted=None):
    """A batch that no client of ours would have sent."""
    head = metadata.build("p", 40, WHEN_MS, message_count=size)
    said = metadata.parse(entry.join(head, b""))
    return Entry(
        Delivery("t", Position(1, 2), 3, size, said, 0, redelivered=False), payload, wanted
    )


def single(body, **fields):
    head = pb.SingleMessageMetadata(payload_size=len(body), **fields).SerializeToString()
    return head, body


def packed(*messages):
    return b"".join(len(head).to_bytes(4) + head + body for head, body in messages)


MESSAGES = [
    single(b"0", partition_key="k"),
    single(b"1", sequence_id=9, event_time=WHEN_MS),
    single(b"2", partition_key="aw==", partition_key_b64_encoded=True),
    single(b"3", ordering_key=b"o", properties=[pb.KeyValue(key="a", value="b")]),
]


@pytest.mark.parametrize(
    ("wanted", "indexes"), [(None, [0, 1, 2, 3]), (0b0110, [1, 2]), (0b1101, [0, 2, 3]), (1, [0])]
)
def test_any_messages_of_a_batch_may_be_rows(wanted, indexes):
    rows = to_rows([made(packed(*MESSAGES), 4, wanted)], ARROW_SCHEMA).to_pylist()
    expected = [
        (b"0", b"k", None, [], None, 40),
        (b"1", None, None, [], WHEN, 9),
        (b"2", b"k", None, [], None, 42),
        (b"3", None, b"o", [("a", "b")], None, 43),
    ]
    names = ("value", "key", "ordering_key", "properties", "event_time", "sequence_id")
    assert [tuple(row[name] for name in names) for row in rows] == [expected[i] for i in indexes]
    assert [row["message_id"]["batch_index"] for row in rows] == indexes
    assert {(row["partition"], row["publish_time"]) for row in rows} == {(3, WHEN)}


def test_a_key_that_is_not_the_base64_it_claims_to_be_is_kept():
    message = single(b"", partition_key="abc", partition_key_b64_encoded=True)
    [row] = to_rows([made(packed(message), 1, None)], ARROW_SCHEMA).to_pylist()
    assert row["key"] == b"abc"


def test_heads_of_unusual_forms_are_read_too():
    head, body = single(b"x", partition_key="k")
    padded = head + b"\xf8\x07\x01"  # A field of a later version.
    entries = [made(packed((padded, body), MESSAGES[1]), 2), made(packed(*MESSAGES), 4)]
    rows = to_rows(entries, ARROW_SCHEMA).to_pydict()
    assert rows["value"] == [b"x", b"1", b"0", b"1", b"2", b"3"]
    assert rows["key"] == [b"k", None, b"k", None, b"k", None]
    assert rows["sequence_id"] == [40, 9, 40, 9, 42, 43]


def test_properties_that_are_no_text_are_made_text():
    head = b"\x0a\x06\x0a\x01a\x12\x01\xff\x18\x01"
    rows = to_rows([made(packed((head, b"x")), 1)], ARROW_SCHEMA).to_pydict()
    assert rows["properties"] == [[("a", "\ufffd")]]


def test_a_batch_that_ends_too_soon_is_an_error():
    with pytest.raises(CorruptEntry):
        to_rows([made(packed(*MESSAGES)[:-1], 4)], ARROW_SCHEMA)


@pytest.mark.parametrize(
    ("place", "offset"),
    [
        (Position(7, 3), (7 << 32) + (3 << 12)),
        (Position(2**31, 3), None),
        (Position(7, 2**20), None),
    ],
)
def test_an_offset_is_one_number_for_a_place_where_it_fits(place, offset):
    said = metadata.parse(entry.join(metadata.build("p", 0, 1), b"x"))
    one = Entry(Delivery("t", place, -1, 0, said, 0, redelivered=False), b"x")
    rows = to_rows([one], pa.schema([("offset", pa.int64())]))
    assert rows["offset"].to_pylist() == [offset]
