import os
from datetime import UTC, datetime

import pytest
from pyspark.errors import PySparkException
from support.topics import create_partitioned_topic

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.names import TopicName


@pytest.fixture
def read(spark, broker):
    def read(topic, **options):
        reader = spark.read.format("pulsar").option("service.url", broker.service_url)
        return reader.option("topic", topic).options(**options).load()

    return read


def send(client, topic, messages, **options):
    with client.create_producer(topic, **options) as producer:
        return list(producer.send_many(messages))


def test_a_row_says_all_that_the_message_does(read, client, topic):
    when = datetime(2013, 1, 1, 5, 15, tzinfo=UTC)
    (sent,) = send(
        client,
        topic,
        [
            OutgoingMessage(
                b"hello",
                key="UA",
                ordering_key=b"o",
                properties={"a": "1", "b": ""},
                event_time_ms=int(when.timestamp() * 1000),
            )
        ],
        name="me",
        batching=False,
    )
    (row,) = read(topic).collect()
    assert (bytes(row.key), bytes(row.value), bytes(row.ordering_key)) == (b"UA", b"hello", b"o")
    assert (row.topic, row.partition) == (topic, -1)
    assert row.properties == {"a": "1", "b": ""}
    assert row.event_time.timestamp() == when.timestamp()
    assert abs(row.publish_time.timestamp() - datetime.now(UTC).timestamp()) < 120
    assert tuple(row.message_id) == (sent.ledger_id, sent.entry_id, -1, -1)
    assert (row.producer_name, row.sequence_id) == ("me", 0)


def test_what_a_message_does_not_have_is_null(read, client, topic):
    send(client, topic, [b"x"])
    (row,) = read(topic).collect()
    assert (row.key, row.ordering_key, row.event_time, row.properties) == (None, None, None, {})


def test_every_partition_is_read_by_a_task_of_its_own(read, client, broker, topic):
    create_partitioned_topic(broker.web_url, TopicName.parse(topic), 3)
    messages = [OutgoingMessage(b"%d" % number, key=f"{number % 7}") for number in range(5000)]
    send(client, topic, messages)
    frame = read(topic, rowsPerBatch="700")
    assert frame.rdd.getNumPartitions() == 3
    rows = frame.collect()
    assert sorted(int(bytes(row.value)) for row in rows) == list(range(5000))
    assert {(row.topic, row.partition) for row in rows} == {
        (f"{topic}-partition-{index}", index) for index in range(3)
    }


def test_a_long_topic_without_partitions_is_read_by_all_cores(read, client, topic):
    send(client, topic, [b"%d" % number for number in range(30_000)], batch_messages_max=100)
    frame = read(topic)
    assert frame.rdd.getNumPartitions() == os.cpu_count()
    assert [int(bytes(row.value)) for row in frame.select("value").collect()] == list(range(30_000))
    assert read(topic, minPartitions="5").rdd.getNumPartitions() == 5
    assert read(topic, minPartitions="1").rdd.getNumPartitions() == 1


def test_offsets_may_divide_a_batch(read, client, topic):
    ids = send(client, topic, [b"%d" % number for number in range(100)], batch_delay_s=0.05)
    first, last = (f"{one.ledger_id}:{one.entry_id}:{one.batch_index}" for one in (ids[9], ids[49]))
    before = read(topic, endingOffsets=f'{{"{topic}": "{first}"}}').collect()
    between = read(
        topic, startingOffsets=f'{{"{topic}": "{first}"}}', endingOffsets=f'{{"{topic}": "{last}"}}'
    ).collect()
    assert [int(bytes(row.value)) for row in before] == list(range(10))
    assert [int(bytes(row.value)) for row in between] == list(range(10, 50))


def test_fewer_columns_in_another_order(spark, broker, client, topic):
    send(client, topic, [OutgoingMessage(b"x", key="k")])
    reader = spark.read.format("pulsar").schema("value binary, key binary")
    reader = reader.option("service.url", broker.service_url).option("topic", topic)
    assert [tuple(map(bytes, row)) for row in reader.load().collect()] == [(b"x", b"k")]


def test_an_empty_topic_has_no_rows(read, client, topic):
    client.create_producer(topic).close()
    assert read(topic).count() == 0


def test_a_pattern_finds_topics_and_partitions(spark, broker, client, topic):
    create_partitioned_topic(broker.web_url, TopicName.parse(f"{topic}-a"), 2)
    send(client, f"{topic}-a", [OutgoingMessage(b"1", key="k")])
    send(client, f"{topic}-b", [b"2"])
    send(client, f"{topic}x", [b"3"])
    local = TopicName.parse(topic).local
    frame = (
        spark.read.format("pulsar")
        .option("service.url", broker.service_url)
        .option("topicsPattern", f"public/default/{local}-.*")
        .load()
    )
    assert sorted(bytes(row.value) for row in frame.collect()) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"startingOffset": "latest"}, "did you mean 'startingOffsets'"),
        ({"endingOffsets": '{"another": "latest"}'}, "not among"),
        ({"endingOffsets": '{"TOPIC": "900000:0:-1"}'}, "beyond its last message"),
        ({"timeoutSeconds": "0"}, "seconds above 0"),
    ],
)
def test_what_is_wrong_reaches_the_user(read, client, topic, options, says):
    client.create_producer(topic).close()
    options = {name: value.replace("TOPIC", topic) for name, value in options.items()}
    with pytest.raises(PySparkException, match=says):
        read(topic, **options).count()


def test_a_job_for_streamnatives_connector_finds_its_columns(read, client, topic):
    sent = [OutgoingMessage(b"%d" % n, key=f"{n % 3}") for n in range(30)]
    send(client, topic, sent)
    rows = read(topic, columns="pulsar-spark").where("__key = '1' and __publishTime is not null")
    found = rows.selectExpr("string(value)", "__topic", "length(__messageId) > 2 as has_id")
    assert [tuple(row) for row in found.collect()] == [
        (str(n), topic, True) for n in range(1, 30, 3)
    ]


def test_a_job_for_kafka_finds_its_columns_and_writes_them_on(read, broker, client, topic):
    create_partitioned_topic(broker.web_url, TopicName.parse(topic), 2)
    send(client, topic, [OutgoingMessage(b"v", key="k", properties={"a": "1"})])
    kafka = {"columns": "kafka", "includeHeaders": "true", "service.url": broker.service_url}
    rows = read(topic, **kafka)
    assert rows.columns == [
        "key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"
    ]  # fmt: skip
    (row,) = rows.collect()
    assert (bytes(row.key), bytes(row.value), row.topic) == (b"k", b"v", topic)
    assert [(one.key, bytes(one.value)) for one in row.headers] == [("a", b"1")]
    rows.write.format("pulsar").options(**kafka).option("topic", f"{topic}-copy").mode(
        "append"
    ).save()
    (copied,) = read(f"{topic}-copy").collect()
    assert (bytes(copied.key), bytes(copied.value)) == (b"k", b"v")
    assert copied.properties == {"a": "1"}
