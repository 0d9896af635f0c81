"""Topics that come, grow and go while a query runs: all of it is noticed, and said."""

import json
import urllib.request

import pytest
from pyspark.errors import StreamingQueryException
from support.topics import create_partitioned_topic

from magnetar.model.names import TopicName


@pytest.fixture
def start(spark, broker):
    """Starts queries that copy what they read into a table in memory; ends them with the test."""
    started = []

    def start(table, **options):
        reader = spark.readStream.format("pulsar").option("service.url", broker.service_url)
        frame = reader.options(**options, startingOffsets="earliest").load()
        started.append(frame.writeStream.format("memory").queryName(table).start())
        started[-1].processAllAvailable()
        return started[-1]

    yield start
    for query in started:
        query.stop()


def send(client, topic, *payloads):
    with client.create_producer(topic) as producer:
        producer.send_many(payloads)


def ask(broker, method, topic, what="", body=None):
    url = f"{broker.web_url}/admin/v2/persistent/public/default/{TopicName.parse(topic).local}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}{what}", data, method=method)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=10):
        pass


def read(spark, table):
    return sorted(bytes(row.value) for row in spark.table(table).collect())


def test_partitions_and_topics_that_come_are_read_from_their_beginning(
    spark, client, broker, start, topic
):
    create_partitioned_topic(broker.web_url, TopicName.parse(f"{topic}-parts"), 1)
    send(client, f"{topic}-parts", b"1")
    query = start("growing", topicsPattern=f"public/default/{TopicName.parse(topic).local}-.*")
    ask(broker, "POST", f"{topic}-parts", "/partitions", 2)
    send(client, f"{topic}-parts-partition-1", b"2")
    send(client, f"{topic}-later", b"3")
    query.processAllAvailable()
    assert read(spark, "growing") == [b"1", b"2", b"3"]


def test_a_topic_of_a_pattern_that_goes_ends_the_query(client, broker, start, topic):
    send(client, f"{topic}-a", b"1")
    send(client, f"{topic}-b", b"2")
    query = start("going", topicsPattern=f"public/default/{TopicName.parse(topic).local}-.*")
    ask(broker, "DELETE", f"{topic}-b", "?force=true")
    with pytest.raises(StreamingQueryException, match=rf"{topic}-b was read up to .* is gone"):
        query.awaitTermination(60)


def test_a_query_that_may_lose_data_says_what_went(spark, client, broker, start, request):
    topic = request.getfixturevalue("topic")
    send(client, f"{topic}-a", b"1")
    send(client, f"{topic}-b", b"2")
    pattern = f"public/default/{TopicName.parse(topic).local}-.*"
    query = start("lenient", topicsPattern=pattern, failOnDataLoss="false")
    ask(broker, "DELETE", f"{topic}-b", "?force=true")
    send(client, f"{topic}-a", b"3")
    query.processAllAvailable()
    send(client, f"{topic}-b", b"4")
    query.processAllAvailable()
    assert read(spark, "lenient") == [b"1", b"2", b"3", b"4"]
    said = request.getfixturevalue("spark_log").read_text()
    assert f"topic={topic}-b what=it was read up to" in said
    assert f"{topic}-b was read up to" in said


@pytest.mark.parametrize("subscription", ["kept", "none"])
def test_a_topic_made_anew_under_a_query_ends_it(client, broker, start, topic, subscription):
    send(client, topic, b"1")
    query = start("anew", topic=topic, subscription=subscription)
    ask(broker, "DELETE", topic, "?force=true")
    send(client, topic, b"2")
    with pytest.raises(StreamingQueryException, match=r"does not exist|now begins at"):
        query.awaitTermination(60)
