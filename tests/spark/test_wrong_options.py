"""What is wrong with an option is said at once, and first."""

import json
from threading import Event
from urllib.request import urlopen

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import lit
from support.keys import write_keys

from magnetar.client.encryption.keys import FileKeyReader
from magnetar.model.position import EARLIEST_MESSAGE


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"startingOfsets": "earliest"}, "did you mean 'startingOffsets'"),
        ({"maxMessagesPerTrigger": "0"}, "option maxMessagesPerTrigger is '0'"),
        ({"service.url": "localhost"}, "option service.url is 'localhost'"),
        ({"topic": "a/b"}, "option topic: "),
        ({"pulsar.client.authParams": "x"}, "needs pulsar.client.authPluginClassName"),
    ],
)
def test_a_stream_with_a_wrong_option_is_not_made(spark, broker, topic, wrong, says):
    given = {"service.url": broker.service_url, "topic": topic, **wrong}
    with pytest.raises(PySparkException) as caught:
        spark.readStream.format("pulsar").options(**given).load()
    assert says in str(caught.value).splitlines()[0]


@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"processingTime": "1 second"}])
def test_what_is_wrong_for_a_stream_alone_is_said_when_it_starts(stream, client, topic, trigger):
    client.create_producer(topic).close()
    query = stream.query(available_now="availableNow" in trigger, endingOffsets="latest")
    with pytest.raises(PySparkException) as caught:
        query.awaitTermination(60)
    assert "option endingOffsets is for batch reads only" in str(caught.value).splitlines()[0]


def test_what_a_task_raised_comes_first(spark, broker, topic):
    rows = spark.range(1).select(lit("x").alias("value"))
    given = {"guarantee": "exactly-once", "admin.url": "http://127.0.0.1:1", "timeoutSeconds": "1"}
    writer = rows.write.format("pulsar").options(**given, topic=topic).mode("append")
    with pytest.raises(PySparkException) as caught:
        writer.option("service.url", broker.service_url).save()
    first = str(caught.value).splitlines()[0]
    assert first.startswith("magnetar.errors.Unreachable: no admin API answers at http://127.0.0.1")
    assert first.endswith("set admin.url")


def subscriptions(broker, topic):
    with urlopen(
        f"{broker.web_url}/admin/v2/{topic.replace('://', '/')}/subscriptions", timeout=10
    ) as answer:
        return json.load(answer)


def test_a_query_that_fails_before_its_first_micro_batch_leaves_no_subscription(
    stream, client, broker, topic, tmp_path
):
    """Its subscription is there when the limit is measured, which takes a key."""
    write_keys(tmp_path, "payroll")
    keys = {"encryption_keys": ["payroll"]}
    reader = FileKeyReader(public=tmp_path / "{name}.public.pem")
    with client.create_producer(topic, crypto_key_reader=reader, **keys) as producer:
        producer.send(b"secret")
    query = stream.query(maxMessagesPerTrigger="1")
    with pytest.raises(PySparkException, match="is encrypted for payroll, and there is no key"):
        query.awaitTermination(60)
    for _ in range(50):  # Spark does not wait for the end of its worker.
        if not (left := subscriptions(broker, topic)):
            break
        Event().wait(0.1)
    assert left == []
    stream.run(**{"encryption.privateKey": str(tmp_path / "{name}.private.pem")})
    with client.create_reader(stream.copy, EARLIEST_MESSAGE) as copied:
        assert copied.receive(10).data == b"secret"


def test_a_first_micro_batch_that_is_run_again_keeps_its_subscription(
    spark, client, broker, topic, tmp_path
):
    with client.create_producer(topic) as producer:
        producer.send(b"x")
    url = {"service.url": broker.service_url}
    for guarantee in ("twice", "at-least-once"):
        source = spark.readStream.format("pulsar").options(**url, topic=topic)
        query = (
            source.option("startingOffsets", "earliest")
            .load()
            .writeStream.format("pulsar")
            .options(**url, topic=f"{topic}-copy", guarantee=guarantee)
            .trigger(availableNow=True)
            .start(checkpointLocation=str(tmp_path))
        )
        if guarantee == "twice":
            with pytest.raises(PySparkException, match="option guarantee is 'twice'"):
                query.awaitTermination(60)
        else:
            query.awaitTermination(60)
        assert len(subscriptions(broker, topic)) == 1
    with client.create_reader(f"{topic}-copy", EARLIEST_MESSAGE) as copied:
        assert copied.receive(10).data == b"x"
