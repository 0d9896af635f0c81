"""Programs for the official client do the same with ours: each test runs with both."""

import gc
import re
import threading
import time
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace

import pulsar as official
import pytest
from support.admin import ask

from magnetar import compat

pytestmark = pytest.mark.compatibility


@pytest.fixture(params=[official, compat], ids=["official", "ours"])
def pulsar(request):
    return request.param


@pytest.fixture
def client(pulsar, broker):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(broker.service_url, logger=quiet, operation_timeout_seconds=20)
    yield client
    with suppress(official.AlreadyClosed):  # So theirs says when a producer of it was fenced.
        client.close()


@pytest.fixture
def topic(topic, request):
    return f"{topic}-{request.node.callspec.id}"


def partitioned(broker, topic, count):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", count)


def data(messages):
    return [message.data() for message in messages]


def received(consumer, count):
    messages = [consumer.receive(20_000) for _ in range(count)]
    for message in messages:
        consumer.acknowledge(message)
    return messages


class Receipts:
    """The callback of ``send_async``; waits for so many calls."""

    def __init__(self, count):
        self.calls = []
        self._count = count
        self._all = threading.Event()

    def __call__(self, result, message_id):
        self.calls.append((result, message_id, threading.current_thread()))
        if len(self.calls) == self._count:
            self._all.set()

    def wait(self):
        assert self._all.wait(20), f"{len(self.calls)} of {self._count}"
        return self.calls


def test_a_message_arrives_with_everything_it_was_sent_with(client, topic):
    consumer = client.subscribe(topic, "s", consumer_name="c", properties={"x": "y"})
    producer = client.create_producer(topic, producer_name="p")
    assert (producer.topic(), producer.producer_name()) == (topic, "p")
    assert producer.last_sequence_id() == -1
    assert (consumer.topic(), consumer.subscription_name()) == (topic, "s")
    assert consumer.consumer_name() == "c"
    assert producer.is_connected()
    assert consumer.is_connected()
    before_ms = int(time.time() * 1000)  # What a message says is compared with the clock.
    message_id = producer.send(
        b"data", {"a": "b"}, "key", "order", sequence_id=7, event_timestamp=99
    )
    assert producer.last_sequence_id() == 7
    message = consumer.receive(20_000)
    assert message.data() == message.value() == b"data"
    assert message.properties() == {"a": "b"}
    assert (message.partition_key(), message.ordering_key()) == ("key", "order")
    assert message.event_timestamp() == 99
    assert before_ms - 1000 <= message.publish_timestamp() <= before_ms + 60_000
    assert message.message_id() == message_id
    assert str(message.message_id()) == str(message_id)
    assert message.topic_name() == topic
    assert message.redelivery_count() == 0
    assert message.producer_name() == "p"
    assert message.schema_version() == ""
    assert message.has_null_value() is False
    assert message.encryption_context() is None


def test_what_is_not_given_is_empty(client, topic):
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic).send(b"")
    message = consumer.receive(20_000)
    assert (message.data(), message.properties()) == (b"", {})
    assert (message.partition_key(), message.ordering_key()) == ("", "")
    assert message.event_timestamp() == 0


def test_a_null_value_is_told_from_an_empty_one(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    producer.send(None, partition_key="k")
    producer.send(b"", partition_key="k")
    first, second = received(consumer, 2)
    assert (first.has_null_value(), second.has_null_value()) == (True, False)
    assert (first.data(), second.data()) == (b"", b"")


def test_replication_is_for_clusters(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    producer.send(b"here", disable_replication=True)
    assert data(received(consumer, 1)) == [b"here"]


@pytest.mark.parametrize("batching", [True, False])
def test_callbacks_come_in_order_in_another_thread(pulsar, client, topic, batching):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=batching)
    receipts = Receipts(100)
    for number in range(100):
        producer.send_async(b"%d" % number, receipts)
    producer.flush()
    assert len(receipts.calls) == 100, "a flush is over when the callbacks have been called"
    results, ids, threads = zip(*receipts.wait(), strict=True)
    assert set(results) == {pulsar.Result.Ok}
    assert list(ids) == sorted(ids)
    assert threading.current_thread() not in threads
    messages = received(consumer, 100)
    assert data(messages) == [b"%d" % number for number in range(100)]
    assert [str(message.message_id()) for message in messages] == [str(each) for each in ids]
    assert (ids[0].batch_index() == 0) is batching


def test_a_callback_may_send(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic)
    receipts = Receipts(1)
    producer.send_async(b"1", lambda *_: producer.send_async(b"2", receipts))
    receipts.wait()
    assert data(received(consumer, 2)) == [b"1", b"2"]


def test_a_full_queue_fails_or_waits(client, topic):
    slow = {"batching_enabled": True, "batching_max_publish_delay_ms": 60_000}
    failing = client.create_producer(topic, max_pending_messages=2, **slow)
    receipts = Receipts(3)
    for number in range(3):
        failing.send_async(b"%d" % number, receipts)
    failing.flush()
    assert sorted(result.name for result, _, _ in receipts.wait()) == [
        "Ok",
        "Ok",
        "ProducerQueueIsFull",
    ]
    waiting = client.create_producer(
        topic, max_pending_messages=2, block_if_queue_full=True, batching_enabled=False
    )
    receipts = Receipts(50)
    for number in range(50):
        waiting.send_async(b"%d" % number, receipts)
    waiting.flush()
    assert {result.name for result, _, _ in receipts.wait()} == {"Ok"}


def test_a_callback_is_told_what_went_wrong(client, topic):
    producer = client.create_producer(topic)
    receipts = Receipts(2)
    producer.send_async(b"x" * 6_000_000, receipts)
    producer.close()
    producer.send_async(b"x", receipts)
    assert [result.name for result, _, _ in receipts.wait()] == ["MessageTooBig", "AlreadyClosed"]
    assert str(receipts.calls[0][1]) == "(-1,-1,-1,-1)"


@pytest.mark.unmoved
def test_messages_come_again(pulsar, client, topic):
    consumer = client.subscribe(
        topic, "s", pulsar.ConsumerType.Shared, negative_ack_redelivery_delay_ms=100
    )
    producer = client.create_producer(topic)
    producer.send(b"1")
    message = consumer.receive(20_000)
    consumer.negative_acknowledge(message)
    again = consumer.receive(20_000)
    assert (again.data(), again.redelivery_count()) == (b"1", 1)
    consumer.redeliver_unacknowledged_messages()
    again = consumer.receive(20_000)
    assert again.redelivery_count() == 2
    consumer.acknowledge(again.message_id())
    with pytest.raises(pulsar.Timeout):
        consumer.receive(300)


def test_a_mark_covers_what_was_before(pulsar, client, topic):
    consumer = client.subscribe(topic, "s", initial_position=pulsar.InitialPosition.Earliest)
    producer = client.create_producer(topic)
    for number in range(5):
        producer.send(b"%d" % number)
    messages = [consumer.receive(20_000) for _ in range(5)]
    consumer.acknowledge_cumulative(messages[2])
    consumer.close()
    consumer = client.subscribe(topic, "s")
    assert data(received(consumer, 2)) == [b"3", b"4"]
    shared = client.subscribe(topic, "shared", pulsar.ConsumerType.Shared)
    with pytest.raises(pulsar.CumulativeAcknowledgementNotAllowedError):
        shared.acknowledge_cumulative(messages[2])


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("batching", [True, False])
def test_a_consumer_seeks(pulsar, client, topic, inclusive, batching):
    producer = client.create_producer(topic, batching_enabled=batching)
    receipts = Receipts(5)
    for number in range(5):
        producer.send_async(b"%d" % number, receipts)
    producer.flush()
    ids = [message_id for _, message_id, _ in receipts.wait()]
    consumer = client.subscribe(topic, "s", start_message_id_inclusive=inclusive)
    consumer.seek(ids[2])
    expected = [b"2", b"3", b"4"] if inclusive else [b"3", b"4"]
    assert data(received(consumer, len(expected))) == expected
    consumer.seek(pulsar.MessageId.earliest)
    assert data(received(consumer, 5)) == [b"%d" % number for number in range(5)]
    stored = pulsar.MessageId.deserialize(ids[3].serialize())
    consumer.seek(stored)
    expected = [b"3", b"4"] if inclusive else [b"4"]
    assert data(received(consumer, len(expected))) == expected
    consumer.seek(0)
    assert consumer.receive(20_000).data() == b"0"
    with pytest.raises(ValueError, match="invalid seek_arg type"):
        consumer.seek("x")
    last = consumer.get_last_message_id()
    assert (last.ledger_id(), last.entry_id()) == (ids[4].ledger_id(), ids[4].entry_id())


@pytest.mark.unmoved  # The official client refuses to seek while it is not connected.
@pytest.mark.parametrize("inclusive", [True, False])
def test_a_reader_goes_from_any_place(pulsar, client, topic, inclusive):
    producer = client.create_producer(topic)
    ids = [producer.send(b"%d" % number) for number in range(5)]
    reader = client.create_reader(topic, ids[2], start_message_id_inclusive=inclusive)
    assert (reader.topic(), reader.is_connected()) == (topic, True)
    expected = [b"2", b"3", b"4"] if inclusive else [b"3", b"4"]
    found = []
    while reader.has_message_available():
        found.append(reader.read_next(20_000).data())
    assert found == expected
    with pytest.raises(pulsar.Timeout):
        reader.read_next(100)
    reader.seek(pulsar.MessageId.earliest)
    assert reader.read_next(20_000).data() == b"0"
    reader.seek(ids[3])
    assert reader.read_next().data() == (b"3" if inclusive else b"4")
    reader.seek(0)
    assert reader.read_next(20_000).data() == b"0"
    reader.close()
    assert not reader.is_connected()
    with pytest.raises(pulsar.AlreadyClosed):
        reader.read_next(100)
    latest = client.create_reader(topic, pulsar.MessageId.latest)
    assert not latest.has_message_available()
    producer.send(b"new")
    assert latest.read_next(20_000).data() == b"new"


def test_a_list_may_follow_single_messages(pulsar, client, topic):
    consumer = client.subscribe(
        topic, "s", batch_receive_policy=pulsar.ConsumerBatchReceivePolicy(4, -1, -1)
    )
    producer = client.create_producer(topic)
    for number in range(9):
        producer.send(b"%d" % number)
    assert consumer.receive(20_000).data() == b"0"
    assert data(consumer.batch_receive()) == [b"1", b"2", b"3", b"4"]
    assert consumer.receive(20_000).data() == b"5"


def test_threads_share_what_comes(pulsar, client, topic):
    if pulsar is official:
        pytest.skip("of threads that wait, theirs at times wakes one 20 s late")
    consumer = client.subscribe(topic, "s")
    found, threads = [], []

    def receive():
        for _ in range(50):
            message = consumer.receive(20_000)
            consumer.acknowledge(message)
            found.append(message.data())

    for _ in range(4):
        threads.append(threading.Thread(target=receive))
        threads[-1].start()
    producer = client.create_producer(topic, batching_enabled=True)
    for number in range(200):
        producer.send_async(b"%d" % number, lambda *_: None)
    producer.flush()
    for thread in threads:
        thread.join(30)
    assert sorted(found, key=int) == [b"%d" % number for number in range(200)]


class Inbox:
    """A listener, which waits for so many messages."""

    def __init__(self, count, *, acknowledges=True):
        self.found = []
        self._count = count
        self._acknowledges = acknowledges
        self._all = threading.Event()

    def __call__(self, receiver, message):
        self.found.append((receiver, message.data(), threading.current_thread()))
        if self._acknowledges:
            receiver.acknowledge(message)
        if len(self.found) == self._count:
            self._all.set()

    def wait(self):
        assert self._all.wait(20), f"{len(self.found)} of {self._count}"
        return [payload for _, payload, _ in self.found]


def test_a_listener_gets_every_message_in_order(pulsar, client, topic):
    inbox, read = Inbox(50), Inbox(50, acknowledges=False)
    consumer = client.subscribe(topic, "s", message_listener=inbox)
    producer = client.create_producer(topic)
    for number in range(50):
        producer.send(b"%d" % number)
    expected = [b"%d" % number for number in range(50)]
    assert inbox.wait() == expected
    assert isinstance(inbox.found[0][0], pulsar.Consumer)
    assert threading.current_thread() not in {thread for _, _, thread in inbox.found}
    with pytest.raises(pulsar.InvalidConfiguration):
        consumer.receive(50)
    reader = client.create_reader(topic, pulsar.MessageId.earliest, reader_listener=read)
    assert read.wait() == expected
    assert reader.topic() == topic


def test_a_listener_may_pause(client, topic):
    paused = threading.Event()

    class Pausing(Inbox):
        def __call__(self, consumer, message):
            super().__call__(consumer, message)
            if len(self.found) == 2:
                held[0].pause_message_listener()
                paused.set()

    inbox, held = Pausing(5), []
    held.append(client.subscribe(topic, "s", message_listener=inbox))
    producer = client.create_producer(topic)
    for number in range(5):
        producer.send(b"%d" % number)
    assert paused.wait(20)
    assert len(inbox.found) <= 3, "theirs may have the next one in hand"
    held[0].resume_message_listener()
    assert inbox.wait() == [b"%d" % number for number in range(5)]


@pytest.mark.unmoved
def test_batches_are_received_by_policy(pulsar, client, topic):
    consumer = client.subscribe(
        topic, "s", batch_receive_policy=pulsar.ConsumerBatchReceivePolicy(3, -1, -1)
    )
    producer = client.create_producer(topic)
    for number in range(7):
        producer.send(b"%d" % number)
    assert data(consumer.batch_receive()) == [b"0", b"1", b"2"]
    assert data(consumer.batch_receive()) == [b"3", b"4", b"5"]
    timed = client.subscribe(
        topic,
        "timed",
        initial_position=pulsar.InitialPosition.Earliest,
        batch_receive_policy=pulsar.ConsumerBatchReceivePolicy(-1, -1, 500),
    )
    assert len(timed.batch_receive()) == 7
    assert timed.batch_receive() == []


def test_topics_are_subscribed_by_list_and_pattern(client, topic):
    names = [f"{topic}-{letter}" for letter in "abc"]
    producers = [client.create_producer(name) for name in names]
    listed = client.subscribe(names[:2], "s")
    matched = client.subscribe(re.compile(re.escape(topic) + "-.*"), "p")
    for name, producer in zip(names, producers, strict=True):
        producer.send(name.encode())
    assert {message.topic_name() for message in received(listed, 2)} == set(names[:2])
    assert {message.topic_name() for message in received(matched, 3)} == set(names)
    with pytest.raises(ValueError, match="between"):
        client.subscribe((topic,), "s")


def test_an_id_with_its_topic_is_acknowledged_by_a_consumer_of_many(pulsar, client, topic):
    names = [f"{topic}-{letter}" for letter in "ab"]
    consumer = client.subscribe(names, "s", pulsar.ConsumerType.Shared)
    for name in names:
        client.create_producer(name).send(b"x")
    for message in [consumer.receive(20_000) for _ in names]:
        kept = (message.message_id().serialize(), message.topic_name())
        consumer.acknowledge(pulsar.MessageId.deserialize(*kept))
    consumer.close()
    again = client.subscribe(names, "s", pulsar.ConsumerType.Shared)
    with pytest.raises(pulsar.Timeout):
        again.receive(300)


def test_a_router_chooses_the_partition(broker, client, topic):
    partitioned(broker, topic, 3)
    assert client.get_topic_partitions(topic) == [f"{topic}-partition-{n}" for n in range(3)]
    seen = []

    def route(message, partitions):
        seen.append((message.data(), message.partition_key(), message.properties(), partitions))
        return int(message.properties()["to"])

    producer = client.create_producer(topic, message_router=route)
    for number in range(3):
        message_id = producer.send(b"%d" % number, {"to": str(2 - number)}, "k")
        assert message_id.partition() == 2 - number
    assert seen == [(b"%d" % n, "k", {"to": str(2 - n)}, 3) for n in range(3)]


def test_a_single_partition_is_kept(pulsar, broker, client, topic):
    partitioned(broker, topic, 3)
    mode = pulsar.PartitionsRoutingMode.UseSinglePartition
    producer = client.create_producer(topic, message_routing_mode=mode)
    assert len({producer.send(b"x").partition() for _ in range(5)}) == 1
    keys = {
        key: {producer.send(b"x", partition_key=key).partition() for _ in range(2)}
        for key in "abcdef"
    }
    assert all(len(partitions) == 1 for partitions in keys.values())


def test_a_key_goes_to_the_partition_that_the_official_client_chooses(broker, client, topic):
    partitioned(broker, topic, 17)
    partitions = {
        "a": 13,
        "ab": 6,
        "abc": 5,
        "abcd": 4,
        "abcdefgh": 12,
        "customer-77": 12,
        "\u00e9" * 20: 0,
    }
    producer = client.create_producer(topic)
    for key, partition in partitions.items():
        assert producer.send(b"x", partition_key=key).partition() == partition, key


def test_partitions_are_those_of_the_topic(client, topic):
    assert client.get_topic_partitions(topic) == [topic]


def test_delayed_messages_wait(pulsar, client, topic):
    consumer = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    producer = client.create_producer(topic)
    producer.send(b"later", deliver_after=timedelta(seconds=1))
    producer.send(b"at", deliver_at=int(time.time() * 1000) + 1000)  # So the broker's clock says.
    producer.send(b"now")
    assert sorted(data(received(consumer, 3)), key=len) == [b"at", b"now", b"later"]


def test_big_messages_are_chunked(client, topic):
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, chunking_enabled=True)
    big = bytes(range(256)) * 25_000
    message_id = producer.send(big)
    message = consumer.receive(20_000)
    assert message.data() == big
    assert message.message_id() == message_id
    assert message.message_id().serialize() == message_id.serialize()


@pytest.mark.parametrize("compression", ["LZ4", "ZLib", "ZSTD", "SNAPPY"])
def test_payloads_are_compressed(pulsar, client, topic, compression):
    consumer = client.subscribe(topic, "s")
    kind = pulsar.CompressionType.__members__[compression]
    producer = client.create_producer(topic, compression_type=kind, batching_enabled=True)
    producer.send(b"x" * 10_000)
    assert data(received(consumer, 1)) == [b"x" * 10_000]


def test_keys_are_shared_out(pulsar, client, topic):
    halves = []
    for part in ((0, 32_767), (32_768, 65_535)):
        policy = pulsar.ConsumerKeySharedPolicy(pulsar.KeySharedMode.Sticky, sticky_ranges=[part])
        halves.append(
            client.subscribe(topic, "s", pulsar.ConsumerType.KeyShared, key_shared_policy=policy)
        )
    producer = client.create_producer(
        topic, batching_enabled=True, batching_type=pulsar.BatchingType.KeyBased
    )
    receipts = Receipts(40)
    for number in range(40):
        producer.send_async(b"x", receipts, partition_key=str(number % 20))
    producer.flush()
    keys = []
    for half in halves:
        found = set()
        while True:
            try:
                message = half.receive(500)
            except pulsar.Timeout:
                break
            found.add(message.partition_key())
            half.acknowledge(message)
        keys.append(found)
    assert keys[0].isdisjoint(keys[1])
    assert keys[0] | keys[1] == {str(number) for number in range(20)}


def test_an_exclusive_producer_keeps_others_away(pulsar, client, topic):
    mode = pulsar.ProducerAccessMode
    first = client.create_producer(topic, access_mode=mode.Exclusive)
    with pytest.raises((pulsar.ProducerFenced, pulsar.ProducerBusy)):
        client.create_producer(topic)
    second = client.create_producer(topic, access_mode=mode.ExclusiveWithFencing)
    second.send(b"mine")
    with pytest.raises(pulsar.PulsarException):
        first.send(b"mine no more")


def test_sequence_ids_go_on_behind_the_initial_one(client, topic):
    producer = client.create_producer(topic, initial_sequence_id=41)
    producer.send(b"x")
    assert producer.last_sequence_id() == 42


def test_no_queue_means_one_at_a_time(pulsar, client, topic):
    consumers = [
        client.subscribe(topic, "s", pulsar.ConsumerType.Shared, receiver_queue_size=0)
        for _ in range(2)
    ]
    producer = client.create_producer(topic)
    for number in range(2):
        producer.send(b"%d" % number)
    assert sorted(consumer.receive().data() for consumer in consumers) == [b"0", b"1"]


REFUSED = {
    "exclusive": ("ConsumerBusy", lambda it: [it.subscribe("s"), it.subscribe("s")]),
    "named twice": (
        "ProducerBusy",
        lambda it: [it.produce(producer_name="n"), it.produce(producer_name="n")],
    ),
    "no namespace": (
        "TopicNotFound",
        lambda it: it.client.create_producer("persistent://public/nowhere/t"),
    ),
    "no name": ("InvalidTopicName", lambda it: it.client.create_producer("persistent://a")),
    "too big": ("MessageTooBig", lambda it: it.produce().send(b"x" * 6_000_000)),
    "no message": ("Timeout", lambda it: it.subscribe("s").receive(50)),
    "compacted": (
        "InvalidConfiguration",
        lambda it: it.subscribe(
            "s", consumer_type=it.pulsar.ConsumerType.Shared, is_read_compacted=True
        ),
    ),
    "unsubscribed": (
        "AlreadyClosed",
        lambda it: [(c := it.subscribe("s")).unsubscribe(), c.receive(50)],
    ),
    "closed": ("AlreadyClosed", lambda it: [(c := it.subscribe("s")).close(), c.receive(50)]),
    "closed twice": ("AlreadyClosed", lambda it: [(p := it.produce()).close(), p.close()]),
    "sent when closed": (
        "AlreadyClosed",
        lambda it: [(p := it.produce()).close(), p.send(b"x")],
    ),
}
WRONG = {
    "schema": (TypeError, lambda it: it.produce().send("text")),
    "topic": (ValueError, lambda it: it.client.create_producer(5)),
    "argument": (ValueError, lambda it: it.produce(max_pending_messages="5")),
    "negative": (ValueError, lambda it: it.produce(max_pending_messages=-1)),
    "both": (ValueError, lambda it: it.produce(batching_enabled=True, chunking_enabled=True)),
    "timeout": (ValueError, lambda it: it.subscribe("s").receive("5")),
    "ack timeout": (ValueError, lambda it: it.subscribe("s", unacked_messages_timeout_ms=5000)),
    "properties": (TypeError, lambda it: it.produce().send(b"x", properties={"a": 5})),
    "acknowledged": (TypeError, lambda it: it.subscribe("s").acknowledge(5)),
    "url": (ValueError, lambda it: it.pulsar.Client("nowhere")),
    "url's type": (ValueError, lambda it: it.pulsar.Client(5)),
    "unknown": (TypeError, lambda it: it.pulsar.Client("pulsar://a:1", unknown=5)),
}


@pytest.fixture
def it(pulsar, client, topic):
    return SimpleNamespace(
        pulsar=pulsar,
        client=client,
        produce=lambda **options: client.create_producer(topic, **options),
        subscribe=lambda name, **options: client.subscribe(topic, name, **options),
    )


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_raises_their_exception(it, case):
    name, attempt = REFUSED[case]
    with pytest.raises(getattr(it.pulsar, name)) as raised:
        attempt(it)
    assert isinstance(raised.value, it.pulsar.PulsarException)
    assert str(raised.value).startswith("Pulsar error: ")


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_raise_the_same(it, case):
    kind, attempt = WRONG[case]
    with pytest.raises(kind):
        attempt(it)


def test_a_closed_client_makes_nothing(pulsar, broker):
    client = pulsar.Client(
        broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    )
    assert client.get_service_info().service_url == broker.service_url
    client.close()
    for call in (client.close, lambda: client.create_producer("t")):
        with pytest.raises(pulsar.AlreadyClosed):
            call()
    client.shutdown()


@pytest.mark.unmoved
def test_a_message_that_comes_too_often_is_dead(pulsar, client, topic):
    policy = pulsar.ConsumerDeadLetterPolicy(2, initial_subscription_name="kept")
    consumer = client.subscribe(
        topic,
        "s",
        pulsar.ConsumerType.Shared,
        negative_ack_redelivery_delay_ms=100,
        dead_letter_policy=policy,
    )
    client.create_producer(topic).send(b"poison", {"a": "b"}, "k")
    for _ in range(3):
        consumer.negative_acknowledge(consumer.receive(20_000))
    dead = client.subscribe(f"{topic}-s-DLQ", "kept", pulsar.ConsumerType.Shared)
    [message] = received(dead, 1)
    assert (message.data(), message.partition_key()) == (b"poison", "k")
    assert message.properties()["a"] == "b"
    assert message.properties()["REAL_TOPIC"] == topic


def test_a_table_view_follows_its_topic(client, topic):
    producer = client.create_producer(topic)
    for key, value in (("a", b"1"), ("b", b"2"), ("a", b"3")):
        producer.send(value, partition_key=key)
    view = client.create_table_view(topic)
    assert (view.get("a"), view.get("b"), view.get("c"), len(view)) == (b"3", b"2", None, 2)
    assert str(view) == f"TableView(topic={topic})"
    found = []
    view.for_each(lambda key, value: found.append((key, value)))
    assert sorted(found) == [("a", b"3"), ("b", b"2")]
    told, changed = [], threading.Event()

    def listener(key, value):
        told.append((key, value))
        if len(told) == 4:
            changed.set()

    view.for_each_and_listen(listener)
    assert sorted(told) == [("a", b"3"), ("b", b"2")]
    producer.send(b"4", partition_key="c")
    producer.send(b"", partition_key="a")
    assert changed.wait(20)
    assert told[2:] == [("c", b"4"), ("a", b"")]
    assert (view.get("a"), len(view)) == (None, 2)
    view.close()


def test_values_have_schemas(pulsar, client, topic):
    class Person(pulsar.schema.Record):
        name = pulsar.schema.String()
        age = pulsar.schema.Integer()

    for number, schema in enumerate(
        (
            pulsar.schema.JsonSchema(Person),
            pulsar.schema.AvroSchema(Person),
            pulsar.schema.StringSchema(),
        )
    ):
        name = f"{topic}-{number}"
        value = "text" if number == 2 else Person(name="x", age=7)
        consumer = client.subscribe(name, "s", schema=schema)
        producer = client.create_producer(name, schema=schema)
        producer.send(value, partition_key="k")
        message = consumer.receive(20_000)
        assert message.value() == value
        assert message.schema_version() == "\0" * 8
        reader = client.create_reader(name, pulsar.MessageId.earliest, schema=schema)
        assert reader.read_next(20_000).value() == value
        view = client.create_table_view(name, schema=schema)
        assert view.get("k") == value
        view.close()
        with pytest.raises(pulsar.IncompatibleSchema):
            client.create_producer(name, schema=pulsar.schema.JsonSchema(Person)).send(
                Person()
            ) if number else client.create_producer(name, schema=pulsar.schema.StringSchema())


def test_older_records_are_read_by_their_own_schema(pulsar, client, topic):
    def person(**fields):
        return type("Person", (pulsar.schema.Record,), fields)

    first = person(name=pulsar.schema.String())
    second = person(
        name=pulsar.schema.String(),
        age=pulsar.schema.Integer(default=5, required=True, required_default=True),
    )
    old, new = pulsar.schema.AvroSchema(first), pulsar.schema.AvroSchema(second)
    client.create_producer(topic, schema=old).send(first(name="old"))
    client.create_producer(topic, schema=new).send(second(name="new", age=7))
    consumer = client.subscribe(
        topic, "s", schema=new, initial_position=pulsar.InitialPosition.Earliest
    )
    values = [message.value() for message in received(consumer, 2)]
    assert values == [second(name="old", age=5), second(name="new", age=7)]


@pytest.mark.unmoved
def test_what_a_program_forgets_stays_open(pulsar, client, topic):
    client.subscribe(topic, "s")
    client.create_producer(topic, producer_name="p")
    gc.collect()
    with pytest.raises(pulsar.ConsumerBusy):
        client.subscribe(topic, "s")
    with pytest.raises(pulsar.ProducerBusy):
        client.create_producer(topic, producer_name="p")


def test_another_cluster_is_used_where_the_first_does_not_answer(broker):
    """The official client's first producer is refused meanwhile."""
    failover = compat.AutoClusterFailover(
        compat.ServiceInfo("pulsar://127.0.0.1:1"),
        [compat.ServiceInfo(broker.service_url)],
        check_interval_ms=100,
    )
    client = compat.Client(failover, operation_timeout_seconds=20)
    producer = client.create_producer("of-another-cluster")
    producer.send(b"x")
    assert client.get_topic_partitions(producer.topic()) == [producer.topic()]
    client.close()
