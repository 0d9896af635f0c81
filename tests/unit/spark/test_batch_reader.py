import os
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from support.admin import ask

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import EntryNotFound, InvalidValue, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.spark.batch_reader import BatchReader, RangePartition
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.planning import Range
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.schema import KAFKA_SCHEMA, READ_SCHEMA
from magnetar.spark.source import PulsarDataSource


@pytest.fixture
def sent(client, topic):
    """100 messages in a few batches."""
    with client.create_producer(topic, batch_messages_max=30) as producer:
        ids = producer.send_many([OutgoingMessage(b"%d" % number) for number in range(100)])
    return [Offset(one.ledger_id, one.entry_id, one.batch_index) for one in ids]


@pytest.fixture
def reader(magnetar_broker, topic):
    def reader(schema=READ_SCHEMA, **given):
        url = {"service.url": magnetar_broker.service_url, "topic": topic}
        return BatchReader(ReadOptions.parse({**url, **given}, streaming=False), schema)

    return reader


def sent_to_another_process(value):
    """What Spark does between planning and reading."""
    return cloudpickle.loads(cloudpickle.dumps(value))


def test_a_topic_is_one_range_from_its_beginning_to_its_end(reader, topic, sent):
    assert reader().partitions() == [RangePartition(Range(topic, NOTHING_READ, sent[-1]))]


def test_a_long_topic_is_divided_for_all_cores(reader, client, topic):
    with client.create_producer(topic, batch_messages_max=2) as producer:
        producer.send_many([b"%d" % number for number in range(400)])
    cores = os.cpu_count()
    read = reader()
    partitions = read.partitions()
    assert len(partitions) == min(cores, 2)  # Pieces of fewer than 100 entries are not made.
    assert values_of(read, partitions) == [b"%d" % number for number in range(400)]
    (whole,) = reader(minPartitions="1").partitions()
    assert whole.wanted.after == NOTHING_READ


def test_an_empty_topic_has_nothing_to_read(reader, client, topic):
    client.create_producer(topic).close()
    assert reader().partitions() == []


@pytest.mark.parametrize("given", [{}, {"topic": "", "topicsPattern": "public/default/none.*"}])
def test_nothing_to_read_from_is_an_error(magnetar_broker, topic, given):
    given = {"service.url": magnetar_broker.service_url, "topic": topic, **given}
    options = {name: value for name, value in given.items() if value}
    reader = BatchReader(ReadOptions.parse(options, streaming=False), READ_SCHEMA)
    with pytest.raises(TopicNotFound, match=r"does not exist|no topic matches"):
        reader.partitions()


def test_offsets_bound_the_range(reader, topic, sent):
    options = {
        "startingOffsets": f'{{"{topic}": "{sent[41]}"}}',
        "endingOffsets": f'{{"{topic}": "{sent[57]}"}}',
    }
    (partition,) = reader(**options).partitions()
    assert partition.wanted == Range(topic, sent[41], sent[57])
    batches = list(reader(**options).read(partition))
    values = [value for batch in batches for value in batch.column("value").to_pylist()]
    assert values == [b"%d" % number for number in range(42, 58)]


@pytest.fixture
def slowly(client, topic):
    """Values and publish times of messages that were sent over 50 ms at least."""
    with client.create_producer(topic, batch_messages_max=3) as producer:
        first = client.create_reader(topic)
        sent = []
        while not sent or sent[-1][1] - sent[0][1] < 50:
            producer.send_many([OutgoingMessage(b"%d" % (len(sent) + n)) for n in range(5)])
            sent += [(one.value, one.publish_time_ms) for one in first.receive_many(5, 10.0)]
        first.close()
    return sent


def values_of(reader, partitions):
    return [
        value
        for partition in partitions
        for batch in reader.read(partition)
        for value in batch.column("value").to_pylist()
    ]


@pytest.mark.parametrize("count", [2, 3, 20, 500])
def test_a_partition_is_read_in_pieces_each_message_once(reader, slowly, count):
    read = reader(minPartitions=str(count))
    partitions = read.partitions()
    assert 1 < len(partitions) <= count
    assert values_of(read, partitions) == [value for value, _ in slowly]


@pytest.mark.usefixtures("slowly")
def test_what_is_gone_when_its_piece_is_read_is_said(reader, magnetar_broker, topic):
    """The first piece begins with the earliest message there is, and so says nothing."""
    partitions = reader(minPartitions="4").partitions()
    assert len(partitions) > 2
    path = f"persistent/public/default/{TopicName.parse(topic).local}?force=true"
    ask(magnetar_broker, "DELETE", path)
    for partition in partitions:
        with pytest.raises(EntryNotFound, match=r"has no message .*failOnDataLoss=false"):
            list(reader().read(partition))
    with blocking.Client(magnetar_broker.service_url) as client:
        client.create_producer(topic).send(b"new")
        for partition in partitions[1:]:
            with pytest.raises(EntryNotFound, match=r"now begins at|has no message"):
                list(reader().read(partition))


def test_times_bound_the_range(reader, slowly, topic):
    for start_ms in (0, slowly[0][1], slowly[20][1], slowly[-1][1], slowly[-1][1] + 1):
        for length_ms in (0, 1, 20, 100_000):
            end_ms = start_ms + length_ms
            read = reader(startingTime=str(start_ms), endingTimestamp=f'{{"{topic}": {end_ms}}}')
            assert values_of(read, read.partitions()) == [
                value for value, time_ms in slowly if start_ms <= time_ms < end_ms
            ]


def test_reader_and_partition_work_in_another_process(reader, sent):
    here = reader(rowsPerBatch="40")
    there = sent_to_another_process(here)
    batches = [
        batch
        for partition in map(sent_to_another_process, here.partitions())
        for batch in there.read(partition)
    ]
    assert pa.Table.from_batches(batches).num_rows == len(sent)
    assert max(batch.num_rows for batch in batches) <= 40
    expected = to_arrow_schema(READ_SCHEMA, timezone="UTC")
    assert all(batch.schema.equals(expected, check_metadata=True) for batch in batches)


@pytest.mark.usefixtures("sent")
def test_only_the_columns_asked_for_are_read(reader):
    schema = StructType([READ_SCHEMA["value"]])
    (partition,) = reader(schema).partitions()
    assert next(iter(reader(schema).read(partition))).schema.names == ["value"]


def test_the_partition_that_spark_makes_up_has_no_rows(reader):
    assert list(reader().read(InputPartition(None))) == []


def test_the_columns_of_streamnatives_connector(client, magnetar_broker, topic):
    with client.create_producer(topic) as producer:
        message = OutgoingMessage(b"pen", key="7", properties={"a": "b"}, event_time_ms=5)
        first, second = producer.send_many([message, OutgoingMessage(b"ink")])
    options = {"service.url": magnetar_broker.service_url, "topic": topic}
    source = PulsarDataSource({**options, "columns": "pulsar-spark"})
    read = sent_to_another_process(source.reader(source.schema()))
    (batch,) = [batch for one in read.partitions() for batch in read.read(one)]
    assert batch.schema.equals(to_arrow_schema(source.schema(), timezone="UTC"))
    pen, ink = batch.to_pylist()
    assert (pen["value"], pen["__key"], pen["__topic"]) == (b"pen", b"7", topic)
    assert dict(pen["__messageProperties"]) == {"a": "b"}
    assert pen["__eventTime"].timestamp() == 0.005
    assert ink["__eventTime"] is ink["__key"] is None
    assert pen["__publishTime"] == ink["__publishTime"]
    ids = [MessageId.from_bytes(row["__messageId"]) for row in (pen, ink)]
    assert [one[:4] for one in ids] == [first[:4], second[:4]]
    with pytest.raises(InvalidValue, match="it has to be pulsar-spark"):
        PulsarDataSource({**options, "columns": "flink"}).schema()


def test_the_columns_of_sparks_source_for_kafka(client, magnetar_broker, topic):
    ask(magnetar_broker, "PUT", f"{topic.replace('://', '/')}/partitions", 2)
    when = datetime(2013, 1, 1, tzinfo=UTC)
    when_ms = int(when.timestamp() * 1000)
    for partition in range(2):
        with client.create_producer(f"{topic}-partition-{partition}", batch_delay_s=0.1) as one:
            sent = [
                OutgoingMessage(b"%d" % number, "k", properties={"h": "1"}, event_time_ms=when_ms)
                for number in range(partition + 3)
            ]
            one.send_many([*sent, OutgoingMessage(b"last")])
    given = {"service.url": magnetar_broker.service_url, "topic": topic, "columns": "kafka"}
    source = PulsarDataSource({**given, "includeHeaders": "true"})
    schema = source.schema()
    assert schema.names == [*KAFKA_SCHEMA.names, "headers"]
    reader = sent_to_another_process(source.reader(schema))
    found = [batch for one in reader.partitions() for batch in reader.read(one)]
    assert all(batch.schema.equals(to_arrow_schema(schema, timezone="UTC")) for batch in found)
    rows = [row for batch in found for row in batch.to_pylist()]
    assert {row["topic"] for row in rows} == {topic}
    for partition in range(2):
        of_it = [row for row in rows if row["partition"] == partition]
        assert [row["value"] for row in of_it][-1] == b"last"
        assert len(of_it) == partition + 4
        offsets = [row["offset"] for row in of_it]
        assert offsets == sorted(set(offsets))
        first, last = of_it[0], of_it[-1]
        assert (first["key"], first["timestamp"], first["timestampType"]) == (b"k", when, 0)
        assert last["timestamp"] > datetime(2020, 1, 1, tzinfo=UTC), "when it was published"
        assert first["headers"] == [{"key": "h", "value": b"1"}]
        assert last["headers"] == []
    assert PulsarDataSource(given).schema() == KAFKA_SCHEMA
