"""A stream's rows arrive once, whatever fails or is killed between any two steps of its sink."""
# ruff: noqa: N802, N803 - the names are Spark's.

import os
import signal
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from support.admin import ask

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.source import PulsarDataSource
from magnetar.spark.write_options import WriteOptions
from magnetar.spark.writer import StreamWriter
from magnetar.tools.quickstart.topics import create_partitioned_topic

COUNT = 2_000
KEYS = 7
SOME_ROWS = 100


class FaultySource(PulsarDataSource):
    """The ``pulsar`` format, which fails or dies once at the step that a file in ``path`` names."""

    @classmethod
    def name(cls):
        return "faulty-pulsar"

    def streamWriter(self, schema, overwrite):
        options = WriteOptions.parse(self.options, streaming=True)
        return FaultyWriter(options, schema, Path(self.options["path"]))


class FaultyWriter(StreamWriter):
    def __init__(self, options, schema, faults):
        super().__init__(options, schema)
        self._faults = faults

    def _reaches(self, step):
        try:
            (self._faults / f"{step}-raises").unlink()
        except FileNotFoundError:
            pass
        else:
            raise RuntimeError(f"told to fail: {step}")
        try:
            (self._faults / f"{step}-dies").unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def _first(self, iterator):
        for index, rows in enumerate(iterator):
            if index == 3:
                self._reaches("half-written")
            yield rows

    def write(self, iterator):
        self._reaches("task-begun")
        written = super().write(self._first(iterator))
        self._reaches("task-written")
        return written

    def commit(self, messages, batchId):
        self._reaches("before-commit")
        super().commit(messages, batchId)
        self._reaches("committed")


@pytest.fixture(scope="module")
def faulty(spark):
    """Workers do not find this module: what is in it goes to them by value."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark.dataSource.register(FaultySource)
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, SOME_ROWS)
    yield spark
    spark.conf.set(name, before)
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def copy(faulty, broker, client, topic, tmp_path):
    """Copies ``topic`` to ``topic-copy``, both with partitions, as far as it gets."""
    for name, partitions in ((topic, 2), (f"{topic}-copy", 3)):
        create_partitioned_topic(broker.web_url, TopicName.parse(name), partitions)
    with client.create_producer(topic) as producer:
        producer.send_many([OutgoingMessage(b"%d" % n, key=f"{n % KEYS}") for n in range(COUNT)])
    there = {"service.url": broker.service_url}
    reader = faulty.readStream.format("pulsar").options(**there, startingOffsets="earliest")
    frame = reader.option("topic", topic).load()

    def run(**options):
        writer = frame.writeStream.format("faulty-pulsar").options(**there, path=str(tmp_path))
        writer = writer.option("admin.url", broker.web_url).option("topic", f"{topic}-copy")
        writer = writer.options(**{"guarantee": "exactly-once", **options})
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(60)
        assert not query.isActive

    return run


def received(client, topic):
    numbers = []
    for name in [f"{topic}-partition-{index}" for index in range(client.partitions(topic))]:
        with client.create_reader(name, EARLIEST_MESSAGE) as reader:
            while reader.has_message_available():
                numbers += [int(message.data) for message in reader.receive_many(1000, 10.0)]
    return numbers


@pytest.mark.parametrize(
    "fault",
    [
        "half-written-raises",
        "half-written-dies",
        "task-written-dies",
        "before-commit-dies",
        "committed-dies",
    ],
)
def test_a_stream_is_written_once_whatever_fails(client, copy, topic, tmp_path, fault):
    (tmp_path / fault).touch()
    with pytest.raises(StreamingQueryException):
        copy()
    assert not (tmp_path / fault).exists()
    copy()
    found = received(client, f"{topic}-copy")
    assert sorted(found) == list(range(COUNT))
    for key in range(KEYS):
        of_key = [number for number in found if number % KEYS == key]
        assert of_key == sorted(of_key)


def test_at_least_once_the_same_fault_writes_twice(client, copy, topic, tmp_path):
    (tmp_path / "committed-raises").touch()
    with pytest.raises(StreamingQueryException):
        copy(guarantee="at-least-once")
    copy(guarantee="at-least-once")
    assert sorted(received(client, f"{topic}-copy")) == sorted([*range(COUNT), *range(COUNT)])


def test_a_broker_that_does_not_deduplicate_is_told_before_anything_is_written(
    client, copy, broker, topic
):
    path = f"{topic.replace('://', '/')}-copy/deduplicationEnabled"
    ask(broker, "POST", path, value=False)
    with pytest.raises(StreamingQueryException, match="does not deduplicate"):
        copy()
    assert received(client, f"{topic}-copy") == []


def test_a_batch_write_of_the_same_name_and_version_is_written_once(spark, broker, client, topic):
    def write(version, numbers):
        writer = spark.createDataFrame([(str(n),) for n in numbers], "value string").write
        writer = writer.format("pulsar").mode("append").option("service.url", broker.service_url)
        named = {"topic": topic, "guarantee": "exactly-once", "txnAppId": topic}
        writer.options(**named, txnVersion=version).option("admin.url", broker.web_url).save()

    for version in (0, 0, 1, 0, 1):
        write(version, range(10 * version, 10 * version + 10))
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        assert sorted(int(each.data) for each in reader.receive_many(100, 10.0)) == [*range(20)]
        assert not reader.has_message_available()


def test_two_batch_writes_without_a_name_are_two(spark, broker, client, topic):
    frame = spark.range(5).selectExpr("string(id) as value").write.format("pulsar").mode("append")
    frame = frame.options(**{"service.url": broker.service_url, "admin.url": broker.web_url})
    for _ in range(2):
        frame.options(topic=topic, guarantee="exactly-once").save()
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        assert len(reader.receive_many(100, 10.0)) == 10
