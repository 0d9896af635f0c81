"""``delivery=transaction``: a write or micro-batch is there once and as a whole, or not at all."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as f
from support.admin import ask

from magnetar.errors import ProducerFenced
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.model.producers import ProducerAccessMode


@pytest.fixture
def write(broker, topic):
    def write(frame, **options):
        writer = frame.write.format("pulsar").mode("append").option("topic", topic)
        writer = writer.option("service.url", broker.service_url)
        writer.option("delivery", "transaction").options(**options).save()

    return write


def visible(client, topic):
    """The values that a reader of the topic gets, sorted."""
    found = []
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        while reader.has_message_available():
            found += reader.receive_many(timeout_s=10)
    return sorted(message.data for message in found)


def numbers(spark, count):
    return spark.range(count).select(f.col("id").cast("string").cast("binary").alias("value"))


def test_a_write_is_there_as_a_whole(spark, broker, client, write, topic):
    ask(broker, "PUT", f"{topic.replace('://', '/')}/partitions", 3)
    write(numbers(spark, 5000).repartition(4))
    assert visible(client, topic) == sorted(b"%d" % n for n in range(5000))


def test_of_a_write_that_fails_nothing_is_there(spark, client, write, topic):
    client.create_producer(topic).close()
    frame = numbers(spark, 1000).repartition(2)
    broken = frame.withColumn("value", f.when(f.col("value") != b"999", f.col("value")))
    with pytest.raises(PySparkException, match="value"):
        write(broken)
    assert visible(client, topic) == []


def test_a_write_with_a_name_is_there_once(spark, client, write, topic):
    named = {"txnAppId": "totals/of a day", "txnVersion": "7"}
    write(numbers(spark, 10), **named)
    write(numbers(spark, 20), **named)
    write(numbers(spark, 20), **{**named, "txnVersion": "6"})
    assert visible(client, topic) == sorted(b"%d" % n for n in range(10))
    write(numbers(spark, 1), **{**named, "txnVersion": "8"})
    assert len(visible(client, topic)) == 11


def test_a_write_waits_for_its_first_try_that_is_still_being_committed(
    spark, broker, client, write, topic
):
    commits = f"{topic}-spark-app"
    marked = threading.Event()

    def commit_when_marked():
        path = f"{commits.replace('://', '/')}/stats"
        with client.create_producer(commits) as producer, client.transaction() as first_try:
            producer.send(b"7", txn=first_try)
            begun.set()
            while ask(broker, "GET", path)["msgInCounter"] < 2:
                assert not written.wait(0.05), "the write did not wait"
            marked.set()

    begun, written = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(commit_when_marked)
        assert begun.wait(60)
        write(numbers(spark, 10), txnAppId="app", txnVersion="7")
        assert marked.is_set()
        written.set()
        other.result(60)
    assert visible(client, topic) == []


def test_a_driver_that_was_cut_off_is_fenced(spark, client, write, topic):
    client.create_producer(topic).close()
    said, alone = f"{topic}-spark-totals", ProducerAccessMode.EXCLUSIVE_WITH_FENCING
    with client.create_producer(said, access_mode=alone) as cut_off:
        write(numbers(spark, 5), txnAppId="totals", txnVersion="7")
        with pytest.raises(ProducerFenced):
            cut_off.send(b"7")
    assert len(visible(client, topic)) == 5


def test_a_micro_batch_that_is_run_again_is_there_once(spark, broker, client, topic, tmp_path):
    """As after a crash between the sink's commit and Spark's own note of it."""
    source, checkpoint = f"{topic}-source", tmp_path / "checkpoint"
    producer = client.create_producer(source)

    def run():
        rows = spark.readStream.format("pulsar").schema("value binary")
        rows = rows.option("service.url", broker.service_url).option("topic", source)
        rows = rows.option("startingOffsets", "earliest").load().repartition(3)
        writer = rows.writeStream.format("pulsar").option("topic", topic)
        writer = writer.option("service.url", broker.service_url)
        writer = writer.option("delivery", "transaction")
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query = query.start()
        query.awaitTermination(90)
        assert query.exception() is None

    producer.send_many([b"%d" % n for n in range(500)])
    run()
    expected = sorted(b"%d" % n for n in range(500))
    assert visible(client, topic) == expected
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    shutil.rmtree(last) if last.is_dir() else last.unlink()
    for left in (checkpoint / "commits").glob(f".{last.name}.crc"):
        left.unlink()
    run()
    assert visible(client, topic) == expected
    producer.send_many([b"more"])
    run()
    assert visible(client, topic) == sorted([*expected, b"more"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delivery": "twice"}, "direct or transaction"),
        ({"guarantee": "exactly-once", "admin.url": "http://localhost:1"}, "leave guarantee"),
    ],
)
def test_what_does_not_go_together_is_refused(spark, write, options, said):
    with pytest.raises(PySparkException, match=said):
        write(numbers(spark, 1), **options)
