"""A stream's rows arrive once, whatever fails or is killed between any two steps of its sink."""

import pytest
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from spark import faulty as faulty_format
from spark.faulty import Faults
from support.admin import ask
from support.tokens import TAKES_TOKENS, token
from support.topics import create_partitioned_topic

from magnetar.client import blocking
from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.processes import BrokerProcess

COUNT = 2_000
KEYS = 7
BROKER_SETTINGS = {
    "brokerDeduplicationEnabled": True,
    "defaultRetentionTimeInMinutes": -1,
    "defaultRetentionSizeInMB": -1,
}
SOME_ROWS = 100


@pytest.fixture(scope="module")
def faulty(spark):
    """Workers do not find that module: what is in it goes to them by value."""
    cloudpickle.register_pickle_by_value(faulty_format)
    spark.dataSource.register(faulty_format.FaultySource)
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, SOME_ROWS)
    yield spark
    spark.conf.set(name, before)
    cloudpickle.unregister_pickle_by_value(faulty_format)


@pytest.fixture
def copy(faulty, broker, client, topic, tmp_path):
    """Copies ``topic`` to ``topic-copy``, both with partitions, as far as it gets."""
    prepare(client, broker, topic)

    def run(**options):
        query = copying(faulty, broker, topic, tmp_path, **options)
        query.awaitTermination(60)
        assert not query.isActive

    return run


def prepare(client, broker, topic):
    for name, partitions in ((topic, 2), (f"{topic}-copy", 3)):
        create_partitioned_topic(broker.web_url, TopicName.parse(name), partitions)
    with client.create_producer(topic) as producer:
        producer.send_many([OutgoingMessage(b"%d" % n, key=f"{n % KEYS}") for n in range(COUNT)])


def copying(spark, broker, topic, folder, **options):
    there = {"service.url": broker.service_url, "faults": str(folder)}
    reader = spark.readStream.format("faulty-pulsar").options(**there, startingOffsets="earliest")
    frame = reader.option("topic", topic).load()
    writer = frame.writeStream.format("faulty-pulsar").options(**there, topic=f"{topic}-copy")
    writer = writer.option("admin.url", broker.web_url)
    writer = writer.options(**{"guarantee": "exactly-once", **options})
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(availableNow=True).start()


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
        ("half-written", "raises"),
        *(
            (step, "worker")
            for step in faulty_format.STEPS
            if step not in {"planning", "task-begun"}
        ),
    ],
    ids=".".join,
)
def test_a_stream_is_written_once_whatever_fails(client, copy, topic, tmp_path, fault):
    faults = Faults(tmp_path)
    faults.ask(fault)
    with pytest.raises(StreamingQueryException):
        copy()
    assert not faults.left
    copy()
    assert_once_and_in_order(client, topic)


@pytest.mark.parametrize("fault", [("sent", "raises"), ("committed", "worker")], ids=".".join)
def test_a_transaction_is_written_once_whatever_fails(client, copy, topic, tmp_path, fault):
    faults = Faults(tmp_path)
    faults.ask(fault)
    with pytest.raises(StreamingQueryException):
        copy(guarantee="at-least-once", delivery="transaction")
    assert not faults.left
    copy(guarantee="at-least-once", delivery="transaction")
    assert_once_and_in_order(client, topic)


def assert_once_and_in_order(client, topic):
    found = received(client, f"{topic}-copy")
    assert sorted(found) == list(range(COUNT))
    for key in range(KEYS):
        of_key = [number for number in found if number % KEYS == key]
        assert of_key == sorted(of_key)


def test_a_broker_that_is_killed_between_any_two_steps_is_waited_for(faulty, topic, tmp_path):
    faults = Faults(tmp_path)
    faults.ask(*((step, "broker") for step in ("planned", "half-written", "before-commit")))
    with BrokerProcess(tmp_path / "data", settings=BROKER_SETTINGS) as broker:
        faults.tell("broker", broker.pid)
        with blocking.Client(broker.service_url) as client:
            prepare(client, broker, topic)
            query = copying(faulty, broker, topic, tmp_path)
            active = True
            while active:
                active = query.isActive  # Its last step may need no broker: that is started anyway.
                if not broker.alive:
                    broker.kill()
                    broker.start()
                    faults.tell("broker", broker.pid)
                query.awaitTermination(0.1)
            assert query.exception() is None
            assert not faults.left
            assert_once_and_in_order(client, topic)


def test_at_least_once_the_same_fault_writes_twice(client, copy, topic, tmp_path):
    Faults(tmp_path).ask(("committed", "raises"))
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


LIMIT = 40_000  # A batch of a thousand rows fits, unless the large one is in it.
LARGE = 50_000


def test_rows_beside_one_that_the_topic_refuses_wait_for_it(spark, broker, client, topic):
    """They would be stored, and the next try would take the refused one for stored."""
    size_policy = f"{topic.replace('://', '/')}/maxMessageSize"
    client.create_producer(topic).close()
    ask(broker, "POST", size_policy, LIMIT)
    rows = [str(n).ljust(LARGE if n == 1_550 else 20, ".") for n in range(3_000)]
    frame = spark.createDataFrame([(row,) for row in rows], "value string").coalesce(1)
    writer = frame.write.format("pulsar").mode("append").option("service.url", broker.service_url)
    writer = writer.options(topic=topic, guarantee="exactly-once", txnAppId=topic, txnVersion=1)
    writer = writer.option("admin.url", broker.web_url)
    for _ in range(2):
        with pytest.raises(Exception, match=f"policy maxMessageSize is {LIMIT}: {{'value': '1550"):
            writer.save()
    there = texts(client, topic)  # Of lists of rows that Spark handed over before.
    assert len(there) < 1_550, "it is seen before the rows beside it are sent"
    assert there == rows[: len(there)]
    ask(broker, "POST", size_policy, 2 * LARGE)
    writer.save()
    assert texts(client, topic) == rows


def texts(client, topic):
    found = []
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        while reader.has_message_available():
            found += [message.data.decode() for message in reader.receive_many(1000, 10.0)]
    return found


def test_a_broker_that_wants_a_token_is_asked_with_the_clients(spark):
    own = token("writer")
    settings = {**BROKER_SETTINGS, **TAKES_TOKENS, "superUserRoles": "writer"}
    given = {"authPluginClassName": "token", "authParams": f"token:{own}"}
    with BrokerThread(settings=settings) as broker:
        writer = spark.range(3).selectExpr("string(id) as value").write.format("pulsar")
        writer = writer.mode("append").option("service.url", broker.service_url)
        writer = writer.options(**{f"pulsar.client.{name}": text for name, text in given.items()})
        writer.options(topic="secured", guarantee="exactly-once").option(
            "admin.url", broker.web_url
        ).save()
        with blocking.Client(broker.service_url, authentication=AuthenticationToken(own)) as client:
            assert sorted(texts(client, "secured")) == ["0", "1", "2"]
