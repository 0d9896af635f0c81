"""Streams from topic to topic: restarts, limits, lost data. One test waits for a trimmed topic."""

import json
from threading import Event

import pytest
from pyspark.errors import StreamingQueryException
from spark.conftest import Stream
from support.admin import ask
from support.apache_pulsar import ours_alone
from support.elsewhere import wait_until
from support.topics import create_partitioned_topic

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.lag import lag
from magnetar.spark.offsets import from_json
from magnetar.testing.local_broker import BrokerThread


def send(client, topic, numbers, **options):
    with client.create_producer(topic, **options) as producer:
        return list(
            producer.send_many([OutgoingMessage(b"%d" % n, key=f"{n % 5}") for n in numbers])
        )


def received(client, topic):
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        numbers = []
        while reader.has_message_available():
            numbers += [int(message.data) for message in reader.receive_many(1000, 10.0)]
        return numbers


def test_all_that_is_available_now_is_copied_and_no_more(client, stream, topic):
    send(client, topic, range(3000))
    progress = stream.run()
    assert sum(one["numInputRows"] for one in progress) == 3000
    assert sorted(received(client, stream.copy)) == list(range(3000))


def test_a_stream_that_starts_again_goes_on_from_its_checkpoint(client, stream, topic):
    send(client, topic, range(1000))
    stream.run()
    send(client, topic, range(1000, 1500))
    progress = stream.run()
    assert sum(one["numInputRows"] for one in progress) == 500
    assert stream.run() == []
    assert sorted(received(client, stream.copy)) == list(range(1500))


def test_micro_batches_stay_below_their_limit_and_divide_batches(client, stream, topic):
    send(client, topic, range(1000))
    progress = stream.run(maxMessagesPerTrigger="300")
    assert [one["numInputRows"] for one in progress] == [300, 300, 300, 100]
    assert received(client, stream.copy) == list(range(1000))


def test_a_limit_is_shared_out_between_partitions(client, broker, stream, topic):
    create_partitioned_topic(broker.web_url, TopicName.parse(topic), 3)
    send(client, topic, range(1000))
    progress = stream.run(maxMessagesPerTrigger="200")
    rows = [one["numInputRows"] for one in progress]
    assert max(rows) <= 200
    assert sum(rows) == 1000
    assert sorted(received(client, stream.copy)) == list(range(1000))


def test_new_messages_are_read_while_the_query_runs(client, stream, topic):
    send(client, topic, range(10))
    query = stream.query(available_now=False)
    try:
        query.processAllAvailable()
        send(client, topic, range(10, 20))
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(received(client, stream.copy)) == list(range(20))


def test_a_query_that_is_stopped_or_ends_prints_nothing(client, stream, topic, spark_log):
    send(client, topic, range(10))
    before = spark_log.stat().st_size
    query = stream.query(available_now=False)
    query.processAllAvailable()
    query.stop()
    send(client, topic, range(10, 20))
    stream.run()
    printed = spark_log.read_text()[before:].splitlines()
    assert [line for line in printed if "falling behind" not in line] == []  # On a busy machine.


def test_a_stream_starts_with_what_comes_next(client, stream, topic):
    send(client, topic, range(10))
    query = stream.query(available_now=False, startingOffsets="latest")
    try:
        query.processAllAvailable()
        send(client, topic, range(10, 20))
        query.processAllAvailable()
    finally:
        query.stop()
    assert sorted(received(client, stream.copy)) == list(range(10, 20))


def test_a_micro_batch_that_failed_is_read_again_as_it_was(spark, client, broker, topic, tmp_path):
    send(client, topic, range(100))
    seen = []

    def run(write):
        reader = spark.readStream.format("pulsar").option("service.url", broker.service_url)
        frame = reader.options(topic=topic, startingOffsets="earliest").load()
        writer = frame.writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination(90)

    def fail(batch, batch_id):
        seen.append((batch_id, sorted(bytes(row.value) for row in batch.collect())))
        raise RuntimeError("the sink is full")

    def work(batch, batch_id):
        seen.append((batch_id, sorted(bytes(row.value) for row in batch.collect())))

    with pytest.raises(StreamingQueryException, match="the sink is full"):
        run(fail)
    send(client, topic, range(100, 150))
    run(work)
    assert seen[0] == seen[1]
    assert [len(values) for _, values in seen] == [100, 100, 50]


def test_the_subscription_follows_one_message_behind(client, broker, stream, topic):
    """Spark tells of a micro-batch when the next one begins: here of the first of two."""
    send(client, topic, range(20), batching=False)
    stream.run(subscription="follower", maxMessagesPerTrigger="10")
    until_free(broker, topic, "follower")
    with client.subscribe(topic, "follower") as consumer:
        assert int(consumer.receive(10.0).data) == 9


def path_of(topic):
    return f"persistent/public/default/{TopicName.parse(topic).local}"


def subscriptions(broker, topic):
    return ask(broker, "GET", f"{path_of(topic)}/subscriptions")


def stats_of(broker, topic, subscription):
    return ask(broker, "GET", f"{path_of(topic)}/stats")["subscriptions"][subscription]


def until_free(broker, topic, subscription):
    """Until the planner of a query that is over, an exclusive consumer, is gone."""
    wait_until(
        lambda: stats_of(broker, topic, subscription)["consumers"],
        "Spark ends a query's planner, a process of its own, after the query",
        met=lambda consumers: not consumers,
    )


def test_the_backlog_shrinks_with_each_micro_batch_and_may_be_removed(
    client, broker, stream, topic
):
    send(client, topic, range(40), batching=False)
    progress = stream.run(subscription="follower", maxMessagesPerTrigger="10")
    held = [lag(one).subscription_entries[topic] for one in progress]
    assert held[0] == 40
    assert held == sorted(held, reverse=True)
    # Spark tells of the last micro-batch when the query starts again.
    assert stats_of(broker, topic, "follower")["msgBacklog"] == 11
    stream.run(subscription="follower")
    assert stats_of(broker, topic, "follower")["msgBacklog"] == 1
    until_free(broker, topic, "follower")
    ask(broker, "DELETE", f"{path_of(topic)}/subscription/follower")
    assert subscriptions(broker, topic) == []


def test_a_stream_of_no_subscription_leaves_nothing_behind(client, broker, stream, topic):
    send(client, topic, range(20))
    stream.run(subscription="none")
    assert subscriptions(broker, topic) == []


def test_the_querys_own_subscription_is_in_its_progress_and_stays(client, broker, stream, topic):
    send(client, topic, range(20))
    (progress,) = stream.run()
    end = json.loads(progress["sources"][0]["endOffset"])
    send(client, topic, range(20, 30))
    stream.run()
    assert subscriptions(broker, topic) == [end["subscription"]]


@ours_alone("it is stopped and started again")
def test_what_a_query_has_not_read_is_there_after_a_broker_restart(spark, tmp_path):
    """A topic that nothing holds is trimmed at a restart. Beside it is one that no query reads."""
    topic, beside = (f"persistent://public/default/{name}" for name in ("held", "beside"))
    settings = {"retentionCheckIntervalInSeconds": 1}
    for numbers in (range(100), range(100, 150)):
        data = tmp_path / "data"
        with (
            BrokerThread(data, settings=settings) as own,
            blocking.Client(own.service_url) as client,
        ):
            for name in (topic, beside):
                send(client, name, numbers)
            while received(client, beside) != list(numbers):
                Event().wait(0.1)  # Nothing tells that a topic was trimmed.
            (progress,) = Stream(spark, own, topic, tmp_path / "checkpoint").run()
            assert progress["numInputRows"] == len(numbers)


def recreate(broker, topic):
    ask(broker, "DELETE", f"{path_of(topic)}?force=true")


def test_messages_that_are_gone_unread_stop_the_query(client, broker, stream, topic):
    send(client, topic, range(100))
    stream.run()
    recreate(broker, topic)
    send(client, topic, range(100, 200))
    query = stream.query()
    with pytest.raises(StreamingQueryException, match=r"now begins at.*failOnDataLoss=false"):
        query.awaitTermination(90)


def test_a_query_that_may_lose_data_goes_on_with_what_is_left(client, broker, stream, topic):
    send(client, topic, range(100))
    stream.run()
    recreate(broker, topic)
    send(client, topic, range(100, 200))
    stream.run(failOnDataLoss="false")
    assert sorted(received(client, stream.copy)) == list(range(200))


def test_the_end_offset_is_the_last_message(client, stream, topic):
    ids = send(client, topic, range(10))
    (progress,) = stream.run()
    end = from_json(json.loads(progress["sources"][0]["endOffset"]))
    assert end == {topic: (ids[-1].ledger_id, ids[-1].entry_id, ids[-1].batch_index)}


def test_the_progress_shows_the_lag_in_messages(client, stream, topic):
    send(client, topic, range(2000))
    progress = stream.run(maxMessagesPerTrigger="500")
    assert [lag(one).max for one in progress] == [1500, 1000, 500, 0]
    assert lag(progress[0]).subscription_entries == {topic: 2}


def test_micro_batches_stay_below_a_limit_of_bytes(client, stream, topic):
    send(client, topic, range(1000, 1100), batching=False)
    progress = stream.run(maxBytesPerTrigger="120")
    assert [one["numInputRows"] for one in progress] == [30, 30, 30, 10]
    assert received(client, stream.copy) == list(range(1000, 1100))
