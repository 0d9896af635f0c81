import json
from itertools import chain
from urllib.request import urlopen

import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows
from support.topics import create_partitioned_topic

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import EntryNotFound
from magnetar.model.names import TopicName
from magnetar.spark.lag import Lag, lag
from magnetar.spark.offsets import Offset, from_json, to_json
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.schema import READ_SCHEMA
from magnetar.spark.stream_reader import StreamReader
from magnetar.testing.local_broker import BrokerThread

ALL = ReadAllAvailable()


@pytest.fixture
def reader(magnetar_broker, topic):
    made = []

    def reader(**given):
        url = {"service.url": magnetar_broker.service_url, "topic": topic}
        all_of_it = {**url, "startingOffsets": "earliest", **given}
        named = {name: text for name, text in all_of_it.items() if text is not None}
        options = ReadOptions.parse(named, streaming=True)
        made.append(StreamReader(options, READ_SCHEMA))
        return made[-1]

    yield reader
    for one in made:
        one.stop()


@pytest.fixture
def send(client, topic):
    def send(numbers):
        with client.create_producer(topic, batch_messages_max=30) as producer:
            messages = [OutgoingMessage(b"%d" % n, key=f"{n % 7}") for n in numbers]
            ids = producer.send_many(messages)
        return [str(Offset(one.ledger_id, one.entry_id, one.batch_index)) for one in ids]

    return send


def places(offset):
    """Without the name of the query's subscription, which is another one each time."""
    return to_json(from_json(offset))


def values(reader, start, end):
    """Read as Spark does: by another instance, pickled before this one was asked anything."""
    there = cloudpickle.loads(cloudpickle.dumps(StreamReader(reader._options, READ_SCHEMA)))
    partitions = [
        cloudpickle.loads(cloudpickle.dumps(one)) for one in reader.partitions(start, end)
    ]
    return [
        int(value)
        for partition in partitions
        for batch in there.read(partition)
        for value in batch.column("value").to_pylist()
    ]


def test_a_micro_batch_is_in_order_unless_it_is_asked_for_in_pieces(reader, client, topic):
    with client.create_producer(topic, batching=False) as producer:
        ids = [producer.send(b"%d" % number) for number in range(500)]
    end = {topic: str(Offset(ids[-1].ledger_id, ids[-1].entry_id))}
    start = {topic: "-1:-1:-1"}
    assert len(reader().partitions(start, end)) == 1
    divided = reader(minPartitions="3", subscription="none")
    assert len(divided.partitions(start, end)) == 3
    assert values(divided, start, end) == list(range(500))


def test_a_new_query_begins_where_it_is_told_to(reader, send, topic):
    ids = send(range(10))
    assert places(reader().initialOffset()) == {topic: "-1:-1:-1"}
    assert places(reader(startingOffsets="latest").initialOffset()) == {topic: ids[-1]}
    named = reader(startingOffsets=f'{{"{topic}": "{ids[4]}"}}')
    assert places(named.initialOffset()) == {topic: ids[4]}


def test_a_batch_ends_at_the_last_message(reader, send, client, topic):
    client.create_producer(topic).close()
    stream = reader()
    start = stream.initialOffset()
    assert stream.latestOffset(start, ALL) == start
    assert stream.partitions(start, start) == []
    ids = send(range(50))
    end = stream.latestOffset(start, ALL)
    assert places(end) == {topic: ids[-1]}
    assert values(stream, start, end) == list(range(50))
    assert stream.latestOffset(end, ALL) == end


def test_a_limit_is_exact_and_batches_are_divided(reader, send):
    stream = reader(maxMessagesPerTrigger="7")
    assert stream.getDefaultReadLimit() == ReadMaxRows(7)
    send(range(20))
    start = stream.initialOffset()
    found = []
    while (end := stream.latestOffset(start, ReadMaxRows(7))) != start:
        found.append(values(stream, start, end))
        start = end
    assert found == [list(range(7)), list(range(7, 14)), list(range(14, 20))]


def limited(reader, most):
    """What each micro-batch has, as Spark asks for them one after the other."""
    start = reader.initialOffset()
    while (end := reader.latestOffset(start, ReadMaxRows(most))) != start:
        yield values(reader, start, end)
        start = end


def test_a_limit_is_shared_out(reader, send, topic, magnetar_broker):
    create_partitioned_topic(magnetar_broker.web_url, TopicName.parse(topic), 3)
    send(range(100))
    found = list(limited(reader(), 10))
    assert max(map(len, found)) <= 10
    assert sorted(chain.from_iterable(found)) == list(range(100))


def uneven(client, topic, web_url):
    """Partitions of the same 3,600 seconds: one has ten times the events, in larger batches."""
    create_partitioned_topic(web_url, TopicName.parse(topic), 2)
    for partition, count, batch in ((0, 3600, 30), (1, 360, 1)):
        times = [second * (3600 // count) for second in range(count)]
        with client.create_producer(
            f"{topic}-partition-{partition}", batch_messages_max=batch
        ) as p:
            p.send_many([OutgoingMessage(b"%d" % at, event_time_ms=1 + at * 1000) for at in times])


@pytest.mark.parametrize("case", [("backlog", 200), ("eventTime", 40)])
def test_uneven_partitions_go_on_side_by_side(reader, client, topic, magnetar_broker, case):
    order, late_max = case
    uneven(client, topic, magnetar_broker.web_url)
    seen = late = -1
    found = []
    for seconds in limited(reader(maxMessagesPerTrigger="500", triggerOrder=order), 500):
        late = max(late, seen - min(seconds))  # What a watermark without delay would drop.
        seen = max(seen, *seconds)
        found += seconds
        assert len(seconds) <= 500
    assert sorted(found) == sorted([*range(3600), *range(0, 3600, 10)])
    assert late <= late_max


def test_all_available_means_all_whatever_the_limit(reader, send, topic):
    ids = send(range(20))
    stream = reader(maxMessagesPerTrigger="7")
    assert places(stream.latestOffset(stream.initialOffset(), ALL)) == {topic: ids[-1]}


def test_available_now_does_not_go_beyond_what_there_was(reader, send, topic):
    ids = send(range(20))
    stream = reader()
    stream.prepareForTriggerAvailableNow()
    send(range(20, 30))
    end = stream.latestOffset(stream.initialOffset(), ALL)
    assert places(end) == {topic: ids[-1]}
    assert stream.latestOffset(end, ALL) == end
    assert places(stream.reportLatestOffset()) == places(end)


def test_partitions_may_be_added_while_the_query_runs(client, magnetar_broker, topic):
    pattern = f"public/default/{TopicName.parse(topic).local}-[ab]"
    url = {"service.url": magnetar_broker.service_url, "topicsPattern": pattern}
    options = ReadOptions.parse({**url, "startingOffsets": "earliest"}, streaming=True)
    stream = StreamReader(options, READ_SCHEMA)
    send_to = client.create_producer(f"{topic}-a")
    send_to.send_many([b"1"])
    start = stream.latestOffset(stream.initialOffset(), ALL)
    client.create_producer(f"{topic}-b").send_many([b"2"])
    end = stream.latestOffset(start, ALL)
    assert set(places(end)) == {f"{topic}-a", f"{topic}-b"}
    assert values(stream, start, end) == [2]


@pytest.mark.parametrize("more", [{}, {"subscription": "kept"}])
def test_a_topic_that_comes_before_the_first_micro_batch_is_read_whole(reader, send, topic, more):
    """The query began where its pattern matched nothing, and nothing had come until then."""
    local = TopicName.parse(topic).local
    options = {"topicsPattern": f"public/default/{local}", **more}
    stream = reader(topic=None, **options)
    start = stream.initialOffset()
    assert stream.latestOffset(start, ALL) == start
    send(range(20))
    end = stream.latestOffset(start, ALL)
    assert values(stream, start, end) == [*range(20)]


def test_a_commit_moves_the_subscription(reader, send, client, topic):
    send(range(10))
    ids = send(range(10, 20))
    stream = reader(subscription="mine")
    start = stream.initialOffset()
    stream.commit(stream.latestOffset(start, ALL))
    stream.stop()
    with client.subscribe(topic, "mine") as consumer:
        first = consumer.receive(10.0)
    assert first.message_id.position == (
        Offset.parse(ids[0]).ledger_id,
        Offset.parse(ids[0]).entry_id,
    )


@pytest.fixture
def subscriptions(magnetar_broker, topic):
    url = f"{magnetar_broker.web_url}/admin/v2/persistent/public/default"

    def subscriptions():
        with urlopen(f"{url}/{TopicName.parse(topic).local}/subscriptions", timeout=10) as answer:
            return json.load(answer)

    return subscriptions


def test_a_query_without_a_subscription_has_one_of_its_own(
    reader, send, client, topic, subscriptions
):
    ids = send(range(60))
    stream = reader()
    start = stream.initialOffset()
    assert stream.initialOffset() == start
    assert subscriptions() == []
    assert start["subscription"].startswith("spark-pulsar-")
    end = stream.latestOffset(start, ALL)
    assert subscriptions() == [start["subscription"]]
    assert end["subscription"] == start["subscription"]
    stream.partitions(start, end)
    stream.stop()
    again = reader()
    again.commit(end)
    again.stop()
    assert subscriptions() == [start["subscription"]]
    with client.subscribe(topic, start["subscription"]) as consumer:
        assert consumer.receive(10.0).message_id.entry_id == Offset.parse(ids[-1]).entry_id


def test_a_query_that_ends_before_its_first_micro_batch_leaves_no_subscription(
    reader, send, subscriptions
):
    send(range(10))
    stream = reader()
    stream.latestOffset(stream.initialOffset(), ALL)
    stream.stop()
    assert subscriptions() == []


def test_a_first_micro_batch_that_is_run_again_begins_where_it_did(reader, send, subscriptions):
    """Spark then asks where the query begins, which is further on by then, and logs no answer."""
    send(range(3))
    stream = reader(startingOffsets="latest")
    start = stream.initialOffset()
    send(range(3, 10))
    end = stream.latestOffset(start, ALL)
    assert values(stream, start, end) == list(range(3, 10))
    stream.stop()
    send(range(10, 20))
    again = reader(startingOffsets="latest")
    assert values(again, again.initialOffset(), end) == list(range(3, 10))
    assert subscriptions() == [start["subscription"]]
    later = again.latestOffset(end, ALL)
    assert "begin" not in later
    assert values(again, end, later) == list(range(10, 20))


def test_a_checkpoint_without_a_subscription_gets_one(reader, send, topic, subscriptions):
    ids = send(range(10))
    stream = reader(subscriptionPrefix="etl")
    end = stream.latestOffset({topic: ids[4]}, ALL)
    assert subscriptions() == [end["subscription"]]
    assert end["subscription"].startswith("etl-")


@pytest.mark.parametrize("option", ["subscription", "predefinedSubscription"])
def test_a_named_subscription_takes_the_place_of_the_querys_own(
    reader, send, subscriptions, option
):
    send(range(10))
    stream = reader()
    start = stream.initialOffset()
    end = stream.latestOffset(start, ALL)
    stream.partitions(start, end)
    stream.stop()
    named = reader(**{option: "mine"})
    assert "subscription" not in named.latestOffset(end, ALL)
    assert subscriptions() == ["mine"]


def test_a_query_may_hold_nothing(reader, send, subscriptions):
    send(range(10))
    stream = reader(subscription="none")
    stream.commit(stream.latestOffset(stream.initialOffset(), ALL))
    assert subscriptions() == []


def test_a_topic_that_went_back_is_an_error(reader, send, topic, caplog):
    ids = send(range(10))
    with pytest.raises(EntryNotFound, match="deleted and created again"):
        reader().latestOffset({topic: "999999:0:-1"}, ALL)
    lenient = reader(failOnDataLoss="false")
    start = {topic: "999999:0:-1"}
    for _ in range(2):
        end = lenient.latestOffset(start, ALL)
    assert places(end) == {topic: ids[-1]}
    assert values(lenient, start, end) == list(range(10))
    assert caplog.text.count("read up to 999999:0:-1 and made anew") == 1


def test_a_limit_of_bytes_ends_with_an_entry(reader, client, topic):
    with client.create_producer(topic, batching=False) as producer:
        producer.send_many([b"%03d" % number for number in range(10)])
    stream = reader(maxBytesPerTrigger="9")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMaxBytes(9)
    start = stream.initialOffset()
    found = []
    while (end := stream.latestOffset(start, limit)) != start:
        found.append(values(stream, start, end))
        start = end
    assert found == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def test_of_two_limits_the_first_that_is_reached_holds(reader, client, topic):
    with client.create_producer(topic, batching=False) as producer:
        producer.send_many([b"%03d" % number for number in range(10)])
    for messages, size, count in (("2", "9", 2), ("5", "9", 3)):
        stream = reader(maxMessagesPerTrigger=messages, maxBytesPerTrigger=size)
        start = stream.initialOffset()
        limit = stream.getDefaultReadLimit()
        assert limit == ReadMaxRows(int(messages))
        assert values(stream, start, stream.latestOffset(start, limit)) == list(range(count))


def test_the_lag_is_in_messages(reader, send):
    stream = reader(maxMessagesPerTrigger="30")
    send(range(100))  # In batches of 30.
    start = stream.initialOffset()
    found = []
    for _ in range(5):
        start = stream.latestOffset(start, ReadMaxRows(30))
        found.append(lag(shown(stream)))
    assert [one.max for one in found] == [90, 60, 30, 0, 0]
    assert [list(one.subscription_entries.values()) for one in found] == [[4]] * 5


def test_without_a_limit_nothing_is_left_behind(reader, send, topic):
    send(range(100))
    stream = reader(subscription="none")
    stream.latestOffset(stream.initialOffset(), ALL)
    assert lag(shown(stream)) == Lag({topic: 0}, {})


def test_the_lag_goes_on_in_other_ledgers(topic):
    settings = {
        "managedLedgerMaxEntriesPerLedger": 5,
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    }
    with (
        BrokerThread(settings=settings) as own,
        blocking.Client(own.service_url) as client,
    ):
        with client.create_producer(topic, batching=False) as producer:
            ids = [producer.send(b"x") for _ in range(23)]
        assert len({one.ledger_id for one in ids}) > 3
        given = {"service.url": own.service_url, "topic": topic, "startingOffsets": "earliest"}
        stream = StreamReader(ReadOptions.parse(given, streaming=True), READ_SCHEMA)
        start = stream.initialOffset()
        found = []
        for _ in range(6):
            start = stream.latestOffset(start, ReadMaxRows(4))
            found.append(lag(shown(stream)).max)
        stream.stop()
    assert found == [19, 15, 11, 7, 3, 0]


def shown(stream):
    return {"sources": [{"latestOffset": json.dumps(stream.reportLatestOffset())}]}
