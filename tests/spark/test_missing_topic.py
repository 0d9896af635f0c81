"""Reading a topic that does not exist: an error that says so, and nothing new at the broker."""

import json
import urllib.request

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from support.apache_pulsar import ours_alone
from support.topics import create_partitioned_topic

from magnetar.client import blocking
from magnetar.model.names import TopicName
from magnetar.testing.local_broker import BrokerThread

pytestmark = ours_alone("one that has no topic yet, and two ways to create them")

ORDERS = "persistent://public/default/orders"
REMEDY = "check the name and service.url, or create it first"


@pytest.fixture
def broker(request):
    """Empty, and willing to create whatever topic somebody asks for."""
    kind = getattr(request, "param", "non-partitioned")
    with BrokerThread(settings={"allowAutoTopicCreationType": kind}) as running:
        yield running


EACH_KIND = pytest.mark.parametrize("broker", ["non-partitioned", "partitioned"], indirect=True)


@pytest.fixture
def topics(broker):
    """Answers with all topics of the broker: partitions, and partitioned topics by base name."""

    def topics():
        found = []
        for path in ("", "/partitioned"):
            url = f"{broker.web_url}/admin/v2/persistent/public/default{path}"
            with urllib.request.urlopen(url, timeout=10) as answer:
                found += json.load(answer)
        return found

    return topics


@pytest.fixture
def read(spark, broker):
    def read(**options):
        return spark.read.format("pulsar").options(**options, **at(broker)).load().collect()

    return read


@pytest.fixture
def start(spark, broker):
    """Starts queries that copy what they read into a table in memory; ends them with the test."""
    started = []

    def start(table="copied", **options):
        frame = spark.readStream.format("pulsar").options(**options, **at(broker)).load()
        query = frame.writeStream.format("memory").queryName(table).start()
        started.append(query)
        return query

    yield start
    for query in started:
        query.stop()


def at(broker):
    return {"service.url": broker.service_url}


def create(broker, topic):
    with blocking.Client(broker.service_url) as client:
        client.create_producer(topic).close()


def delete(broker, topic):
    url = f"{broker.web_url}/admin/v2/persistent/public/default/{TopicName.parse(topic).local}"
    request = urllib.request.Request(f"{url}?force=true", method="DELETE")
    with urllib.request.urlopen(request, timeout=10):
        pass


@EACH_KIND
@pytest.mark.parametrize("name", ["orders", "orders-partition-0"])
def test_a_batch_of_a_missing_topic_is_an_error_and_creates_nothing(read, topics, name):
    with pytest.raises(PySparkException, match=f"public/default/{name} does not exist: {REMEDY}"):
        read(topic=name)
    assert topics() == []


def test_every_missing_topic_of_a_list_is_named(read, topics, broker):
    create(broker, "here")
    before = topics()
    with pytest.raises(PySparkException, match=r"default/orders, .*default/returns do not exist"):
        read(topics="orders,here,returns")
    assert topics() == before


def test_a_partition_beyond_the_last_one_is_missing(read, topics, broker):
    create_partitioned_topic(broker.web_url, TopicName.parse(ORDERS), 2)
    before = topics()
    with pytest.raises(PySparkException, match=f"orders-partition-2 does not exist: {REMEDY}"):
        read(topic="orders-partition-2")
    assert read(topic="orders-partition-1") == []
    assert topics() == before


def test_a_batch_of_a_pattern_that_matches_nothing_is_an_error(read, topics):
    with pytest.raises(PySparkException, match=r"no topic matches .*public/default/ord\.\*"):
        read(topicsPattern="public/default/ord.*")
    assert topics() == []


@pytest.mark.parametrize(
    "options",
    [
        {"topic": "orders"},
        {"topics": "orders,returns"},
        {"topic": "orders", "subscription": "kept"},
        {"topic": "orders", "startingOffsets": "earliest", "failOnDataLoss": "false"},
    ],
)
def test_a_stream_of_a_missing_topic_is_an_error_and_creates_nothing(start, topics, options):
    with pytest.raises(StreamingQueryException, match=f"default/orders.* not exist: {REMEDY}"):
        start(**options).awaitTermination(60)
    assert topics() == []


def test_a_stream_of_a_pattern_waits_for_a_topic_that_matches(spark, start, topics, broker):
    query = start("waited", topicsPattern="public/default/ord.*")
    query.processAllAvailable()
    assert topics() == []
    with blocking.Client(broker.service_url) as client:
        client.create_producer(ORDERS).send(b"first")
    query.processAllAvailable()
    assert [bytes(row.value) for row in spark.table("waited").collect()] == [b"first"]


@pytest.mark.parametrize("options", [{}, {"subscription": "kept"}])
def test_a_topic_that_is_deleted_under_a_stream_does_not_come_back(start, topics, broker, options):
    create(broker, ORDERS)
    query = start(topic="orders", **options)
    query.processAllAvailable()
    delete(broker, ORDERS)
    with pytest.raises(StreamingQueryException, match=f"default/orders does not exist: {REMEDY}"):
        query.awaitTermination(60)
    assert topics() == []


def test_writing_creates_the_topic(spark, read, broker):
    rows = spark.createDataFrame([("hello",)], "value string")
    rows.write.format("pulsar").options(topic="orders", **at(broker)).mode("append").save()
    assert [bytes(row.value) for row in read(topic="orders")] == [b"hello"]


def test_the_cause_of_an_error_is_said_first_and_once(read, start):
    with pytest.raises(PySparkException) as batch:
        read(topic="orders")
    with pytest.raises(PySparkException) as option:
        read(topic="orders", subscribe="orders")
    with pytest.raises(StreamingQueryException) as stream:
        start(topic="orders").awaitTermination(60)
    for error, says in (batch, "does not exist"), (option, "unknown option"), (stream, "not exist"):
        assert says in str(error.value).splitlines()[0]
        assert "Traceback" not in str(error.value)
