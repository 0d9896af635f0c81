from datetime import UTC, datetime

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f
from support.admin import ask

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.update_mode import write_batch


@pytest.fixture
def write(broker):
    def write(frame, **options):
        writer = frame.write.format("pulsar").mode("append")
        writer.option("service.url", broker.service_url).options(**options).save()

    return write


def received(client, topic, count):
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        messages = []
        while len(messages) < count:
            more = reader.receive_many(count, 10.0)
            assert more, f"{len(messages)} of {count} messages came"
            messages += more
        assert not reader.has_message_available()
        return messages


def test_a_row_becomes_a_message_with_all_it_says(spark, client, write, topic):
    when = datetime(2013, 1, 1, 5, 15, 0, 999, tzinfo=UTC)
    row = (bytearray(b"\x00v"), "k", topic, {"a": "1", "b": None}, when, bytearray(b"o"))
    names = "value binary, key string, topic string, properties map<string,string>, "
    names += "event_time timestamp, ordering_key binary"
    write(spark.createDataFrame([row], names))
    (message,) = received(client, topic, 1)
    assert (message.data, message.key, message.ordering_key) == (b"\x00v", "k", b"o")
    assert message.properties == {"a": "1"}
    assert message.event_time_ms == int(when.timestamp() * 1000)


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_text_may_be_told_to_the_topic_as_its_schema(
    spark, broker, client, write, topic, *, guarantee
):
    frame = spark.range(3).selectExpr("string(id) as value", "string(id) as key")
    write(frame, topic=topic, schema="string", guarantee=guarantee, **{"admin.url": broker.web_url})
    assert ask(broker, "GET", f"schemas/{topic.partition('://')[2]}/schema")["type"] == "STRING"
    assert {(each.key, each.data) for each in received(client, topic, 3)} == {
        ("0", b"0"),
        ("1", b"1"),
        ("2", b"2"),
    }
    with pytest.raises(PySparkException, match="cast the column 'value' to string"):
        write(spark.range(1).selectExpr("binary('a') as value"), topic=topic, schema="string")


def test_rows_of_many_tasks_are_all_written_once(spark, client, write, topic):
    frame = spark.range(20_000, numPartitions=4).select(f.col("id").cast("string").alias("value"))
    write(frame, topic=topic)
    values = [int(message.data) for message in received(client, topic, 20_000)]
    assert sorted(values) == list(range(20_000))


def test_each_row_may_name_its_topic(spark, client, write, topic):
    frame = spark.createDataFrame([("a", topic), ("b", topic + "-b")], "value string, topic string")
    write(frame)
    assert [message.data for message in received(client, topic, 1)] == [b"a"]
    assert [message.data for message in received(client, topic + "-b", 1)] == [b"b"]


def test_what_was_read_is_written_as_it_was(spark, broker, client, write, topic):
    frame = spark.createDataFrame([("v", "text"), ("w", None)], "value string, key string")
    write(frame, topic=topic)
    reader = spark.read.format("pulsar").option("service.url", broker.service_url)
    write(reader.option("topic", topic).load(), topic=topic + "-again")
    messages = received(client, topic + "-again", 2)
    assert {(one.data, one.key) for one in messages} == {(b"v", "text"), (b"w", None)}


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"value": "'1'", "price": "2.0"}, "column 'price' is no part of a message"),
        ({"value": "1"}, "column 'value' is int"),
        ({"key": "'a'"}, "no column 'value'"),
        ({"value": "cast(null as string)"}, "a row has no value"),
    ],
)
def test_rows_that_are_no_messages_are_refused(spark, write, topic, columns, says):
    frame = spark.range(1).selectExpr(*(f"{text} as {name}" for name, text in columns.items()))
    with pytest.raises(PySparkException, match=says):
        write(frame, topic=topic)


def test_a_topic_that_keeps_nothing_is_not_told_of_each_time(
    spark, spark_log, broker, topic, tmp_path
):
    source = {"service.url": broker.service_url, "topic": topic}
    spark.range(4).selectExpr("'a' as value").write.format("pulsar").options(**source).save(
        mode="append"
    )
    out = f"{topic}-out"
    reader = spark.readStream.format("pulsar").options(**source, maxMessagesPerTrigger=1)
    reader = reader.option("startingOffsets", "earliest")
    writer = reader.load().writeStream.format("pulsar").option("topic", out)
    writer = writer.options(**{"service.url": broker.service_url, "admin.url": broker.web_url})
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    query.awaitTermination(60)
    told = spark_log.read_text().count(f"spark.not_kept topic={out}:")
    assert 0 < told < len(query.recentProgress)  # Once in each process that Spark has commit.


def test_overwriting_is_refused(spark, broker, topic):
    writer = spark.range(1).selectExpr("'a' as value").write.format("pulsar").mode("overwrite")
    writer = writer.option("service.url", broker.service_url).option("topic", topic)
    with pytest.raises(PySparkException, match="cannot be overwritten"):
        writer.save()


@pytest.fixture
def counted(spark, broker, client, topic, tmp_path):
    """Counts messages by key, and writes in update mode what changed."""
    reader = spark.readStream.format("pulsar").option("service.url", broker.service_url)
    frame = reader.option("topic", topic).option("startingOffsets", "earliest").load()
    counts = frame.groupBy("key").count().selectExpr("key", "string(count) as value")

    def run(write, *keys):
        with client.create_producer(topic) as producer:
            producer.send_many([OutgoingMessage(b"", key=key) for key in keys])
        writer = counts.writeStream.outputMode("update").foreachBatch(write)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(60)
        assert query.exception() is None

    return run


@pytest.mark.parametrize(("guarantee", "times"), [("at-least-once", 2), ("exactly-once", 1)])
def test_update_mode_writes_what_changed(
    broker, client, topic, counted, tmp_path, *, guarantee, times
):
    out = f"{topic}-counts"
    options = {"service.url": broker.service_url, "admin.url": broker.web_url, "topic": out}
    if guarantee == "exactly-once":
        options |= {"guarantee": guarantee, "txnAppId": topic}
    write = write_batch(options, sort_by=["key"])
    counted(write, "a", "b", "a")
    counted(write, "b")
    found = {(message.key, message.data) for message in received(client, out, 3)}
    assert found == {("a", b"2"), ("b", b"1"), ("b", b"2")}
    # As after a crash before the last micro-batch was noted.
    for noted in (tmp_path / "checkpoint" / "commits").glob("*1*"):
        noted.unlink()
    counted(write)
    assert len(received(client, out, 2 + times)) == 2 + times
