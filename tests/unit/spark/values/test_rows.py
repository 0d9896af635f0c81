"""Against entries of a real broker, in memory, in this process."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import UndecodableValue
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas import primitives
from magnetar.schemas.primitives import StringSchema
from magnetar.spark.schema import READ_SCHEMA, with_values
from magnetar.spark.values.options import ValueOptions
from magnetar.spark.values.plan import ValuePlan
from magnetar.spark.values.rows import ValueRows
from magnetar.spark.values.types import PRIMITIVES

BAD = b"bad"
NUMBER = SchemaInfo(SchemaType.INT32)
ROWS = st.lists(st.sampled_from([1, 2, 3, None, BAD]), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def client(magnetar_broker):
    with blocking.Client(magnetar_broker.service_url) as connected:
        yield connected


def entries(client, topic, rows):
    """Numbers, None and bad payloads as entries: all of them a batch."""
    messages = [
        OutgoingMessage(b"", null_value=True)
        if row is None
        else OutgoingMessage(row if row == BAD else row.to_bytes(4))
        for row in rows
    ]
    with client.create_producer(topic, batch_delay_s=1.0) as producer:
        ids = producer.send_many(messages)
    with client.create_reader(topic, ids[0], inclusive=True) as reader:
        found = []
        while sum(entry.count for entry in found) < len(rows):
            found += reader.receive_entries(100, 10.0)
    return found


def reading(options, *, dead=None, only=None, fetch=None, schema=NUMBER):
    kind = PRIMITIVES[schema.type]
    columns = with_values(READ_SCHEMA, kind.spark, top_level=False, corrupt=options.corrupt_column)
    asked = columns if only is None else StructType([columns[name] for name in only])
    return ValueRows(
        ValuePlan(schema, kind, columns, top_level=False),
        options,
        asked,
        to_arrow_schema(asked, timezone="UTC"),
        fetch=fetch or (lambda _topic, _version: schema),
        send_dead=lambda messages: dead.extend(message.data for message in messages),
    )


@pytest.mark.parametrize(("schema", "null"), [(NUMBER, True), (StringSchema.info, False)])
def test_what_is_empty_is_null_where_no_value_is(client, schema, null):
    """Not each client says of a tombstone that it is null, and a compaction does not ask."""
    topic = f"persistent://public/default/empty-{schema.type.name}"
    with client.create_producer(topic) as producer:
        first = producer.send(OutgoingMessage(b"", key="gone"))
    with client.create_reader(topic, first, inclusive=True) as reader:
        found = reader.receive_entries(100, 10.0)
    assert values(reading(ValueOptions(True), schema=schema).rows(found)) == [None if null else ""]


def values(batches):
    return [value for batch in batches for value in batch.column("value").to_pylist()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(rows=ROWS)
def test_every_row_is_read_or_put_away_once_and_in_order(client, rows):
    found = entries(client, "persistent://public/default/numbers", rows)
    dead = []
    typed = reading(ValueOptions(True, None, "persistent://public/default/dead"), dead=dead)
    batches = list(typed.rows(found))
    assert values(batches) == [row for row in rows if row != BAD]
    assert dead == [BAD] * rows.count(BAD)
    for batch in batches:
        batch.validate(full=True)
        indexes = [each["batch_index"] for each in batch.column("message_id").to_pylist()]
        assert [rows[max(index, 0)] for index in indexes] == batch.column("value").to_pylist()
    permissive = reading(ValueOptions(True, "bad"))
    (batch,) = permissive.rows(found)
    assert values([batch]) == [None if row == BAD else row for row in rows]
    assert batch.column("bad").to_pylist() == [row if row == BAD else None for row in rows]


def test_a_bad_row_without_a_place_to_go_is_named(client, topic):
    found = entries(client, topic, [1, BAD])
    with pytest.raises(UndecodableValue, match=rf"{topic}: message \d+:0:.*1.* not of 4 bytes"):
        list(reading(ValueOptions(True)).rows(found))


def test_nobody_decodes_what_is_not_asked_for(client, topic):
    found = entries(client, topic, [1, BAD])
    (batch,) = reading(ValueOptions(True), only=["partition"]).rows(found)
    assert batch.num_rows == 2


def test_a_version_is_asked_for_once_and_one_that_is_not_known_is_bad(client, topic):
    asked = []

    def fetch(topic, version):
        asked.append((topic, version))
        return SchemaInfo(SchemaType.STRING)

    with client.create_producer(topic, schema=primitives.Int32Schema()) as producer:
        producer.send(1)
        producer.send(2)
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        found = []
        while len(found) < 2:
            found += reader.receive_entries(10, 10.0)
    dead = []
    typed = reading(ValueOptions(True, None, "dead"), dead=dead, fetch=fetch)
    assert list(typed.rows(found[:1])) == list(typed.rows(found[1:])) == []
    assert len(dead) == 2
    assert asked == [(topic, 0)]
