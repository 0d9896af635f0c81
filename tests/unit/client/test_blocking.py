"""The blocking blocking_client, with a broker in a thread beside it."""

import json
import signal
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from itertools import islice

import pytest
from support.elsewhere import wait_until

from magnetar.client import blocking
from magnetar.client.loop_call import LoopCall
from magnetar.client.loop_thread import loop_thread
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import AlreadyClosed, InvalidValue, MessageTooLarge, TimedOut
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE
from magnetar.model.subscriptions import InitialPosition, SubscriptionType


def payloads(messages):
    return [message.data for message in messages]


def drained(source, count):
    found = []
    while len(found) < count:
        messages = source.receive_many(count - len(found), 5)
        assert messages
        found += messages
    return found


def test_messages_there_and_back(blocking_client, topic):
    consumer = blocking_client.subscribe(topic, "s")
    with blocking_client.create_producer(topic, name="me") as producer:
        assert (producer.name, producer.connected) == ("me", True)
        sent = producer.send(b"one", key="k", properties={"a": "b"}, event_time_ms=5)
        many = producer.send_many([b"two", OutgoingMessage(b"three", ordering_key=b"o")])
        assert producer.last_sequence_id == 2
        assert producer.topic.endswith(topic)
    first = consumer.receive(5)
    assert (first.data, first.key, first.properties) == (b"one", "k", {"a": "b"})
    assert first.message_id == sent
    rest = drained(consumer, 2)
    assert payloads(rest) == [b"two", b"three"]
    assert [message.message_id for message in rest] == list(many)
    consumer.acknowledge(first)
    consumer.acknowledge(iter(rest))
    consumer.flush()
    assert (consumer.subscription, consumer.connected) == ("s", True)
    assert consumer.topics == [consumer.topic]
    assert len(consumer.name) == 10
    consumer.close()
    again = blocking_client.subscribe(topic, "s")
    assert again.receive_many(5, 0.05) == []
    with pytest.raises(TimedOut):
        again.receive(0.01)


def test_messages_handed_over_are_settled_by_flush(blocking_client, topic):
    producer = blocking_client.create_producer(topic, max_pending_messages=10)
    producer.enqueue([b"%d" % n for n in range(100)])
    producer.enqueue([OutgoingMessage(b"100", key="k")])
    producer.flush()
    reader = blocking_client.create_reader(topic)
    assert payloads(drained(reader, 101)) == [b"%d" % n for n in range(101)]
    with pytest.raises(MessageTooLarge):
        producer.enqueue([bytes(6 << 20)])
    with pytest.raises(InvalidValue):
        producer.send("text")


def test_places_can_be_changed(blocking_client, topic):
    with blocking_client.create_producer(topic) as producer:
        ids = producer.send_many([b"%d" % n for n in range(5)])
    consumer = blocking_client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
    assert consumer.last_message_id() == ids[-1]
    assert consumer.has_message_available()
    messages = drained(consumer, 5)
    consumer.acknowledge_cumulative(messages[2])
    consumer.redeliver_unacknowledged()
    assert payloads(drained(consumer, 2)) == [b"3", b"4"]
    consumer.seek(ids[1], inclusive=False)
    assert consumer.receive(5).data == b"2"
    consumer.seek_time(0)
    assert consumer.receive(5).data == b"0"
    consumer.unsubscribe()
    with pytest.raises(AlreadyClosed):
        consumer.receive()


def test_readers_read(blocking_client, topic):
    with blocking_client.create_producer(topic) as producer:
        ids = producer.send_many([b"0", b"1", b"2"])
    with blocking_client.create_reader(topic, ids[0]) as reader:
        assert reader.has_message_available()
        assert reader.receive(5).data == b"1"
        assert reader.last_message_id() == ids[2]
        reader.seek(EARLIEST_MESSAGE)
        assert payloads(islice(reader, 3)) == [
            b"0",
            b"1",
            b"2",
        ]
        reader.seek(LATEST_MESSAGE)
        assert not reader.has_message_available()
        reader.seek_time(0)
        assert reader.receive(5).data == b"0"
        assert (reader.topics, reader.connected) == ([reader.topic], True)
        assert len(reader.name) == 10


def test_the_client_answers_questions(blocking_client, topic):
    blocking_client.create_producer(topic).close()
    assert blocking_client.partitions(topic) == 0
    assert f"persistent://public/default/{topic}" in blocking_client.topics("public/default")


def test_threads_share_one_consumer(blocking_client, topic):
    consumer = blocking_client.subscribe(topic, "s", type=SubscriptionType.SHARED)
    found, lock = [], threading.Lock()

    def work():
        while True:
            try:
                messages = consumer.receive_many(10, 5)
            except AlreadyClosed:
                return
            with lock:
                found.extend(payloads(messages))
                done = len(found) == 200
            consumer.acknowledge(messages)
            if done:
                consumer.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    blocking_client.create_producer(topic).send_many([b"%d" % n for n in range(200)])
    for thread in threads:
        thread.join(20)
    assert sorted(map(int, found)) == list(range(200))


def waits(frame):
    """Whether this frame of the main thread waits for the loop's answer."""
    while frame is not None and frame.f_code.co_name != "result":
        frame = frame.f_back
    return frame is not None


@contextmanager
def interrupted():
    """Ctrl-C as soon as the main thread waits for the loop, which is busy until then."""
    over, free, main = threading.Event(), threading.Event(), threading.get_ident()

    def interrupt(_, frame):
        if waits(frame) and not over.is_set():
            over.set()
            raise KeyboardInterrupt

    def send_signals():
        while not over.wait(0.001):
            signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, interrupt)

    def hold():
        with loop_thread() as thread:
            thread.call(free.wait)

    holder = threading.Thread(target=hold)
    sender = threading.Thread(target=send_signals)
    holder.start()
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()
        free.set()
        holder.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
@pytest.mark.parametrize("what", ["client", "consumer", "producer", "reader"])
def test_an_interrupted_close_detaches_all_the_same(broker, topic, what):
    made = {"client": blocking.Client(broker.service_url)}
    made["consumer"] = made["client"].subscribe(topic, "s")
    made["producer"] = made["client"].create_producer(topic)
    made["reader"] = made["client"].create_reader(topic)
    with pytest.raises(KeyboardInterrupt), interrupted():
        made[what].close()
    until_attached({"client": 0}.get(what, 2), broker, topic)
    made["client"].close()


@contextmanager
def interrupted_at_the_end():
    """Ctrl-C when the loop has answered, and before the main thread has the answer."""

    def interrupt(frame, event, _):
        if event == "return" and frame.f_code is LoopCall.result.__code__:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_what_was_made_when_it_is_interrupted_is_not_attached(broker, blocking_client, topic):
    for make in (
        lambda: blocking_client.create_producer(topic),
        lambda: blocking_client.subscribe(topic, "s"),
        lambda: blocking_client.create_reader(topic),
    ):
        with pytest.raises(KeyboardInterrupt), interrupted_at_the_end():
            make()
        until_attached(0, broker, topic)


def test_what_was_received_when_it_is_interrupted_is_received_next(blocking_client, topic):
    consumer = blocking_client.subscribe(topic, "s")
    reader = blocking_client.create_reader(topic)
    with blocking_client.create_producer(topic) as producer:
        producer.send_many([b"%d" % n for n in range(6)])
    for source in (consumer, reader):
        with pytest.raises(KeyboardInterrupt), interrupted_at_the_end():
            source.receive(5)
        assert source.has_message_available()
        assert source.receive(5).data == b"0"
        with pytest.raises(KeyboardInterrupt), interrupted_at_the_end():
            source.receive_many(2, 5)
        assert payloads(source.receive_many(3, 5)) == [b"1", b"2"]
        with pytest.raises(KeyboardInterrupt), interrupted_at_the_end():
            next(iter(source))
        assert payloads(drained(source, 3)) == [b"3", b"4", b"5"]


def until_attached(count, broker, topic):
    """Until so many producers and consumers are attached to the topic."""
    give_up = time.monotonic() + 5
    while (found := attached(broker, topic)) != count:
        assert time.monotonic() < give_up, f"{found} are attached"


def attached(broker, topic):
    stats = f"{broker.web_url}/admin/v2/persistent/public/default/{topic}/stats"
    with urllib.request.urlopen(stats, timeout=5) as answer:
        found = json.load(answer)
    return len(found["publishers"]) + sum(
        len(each["consumers"]) for each in found["subscriptions"].values()
    )


def test_sends_need_not_be_waited_for(blocking_client, topic):
    with blocking_client.create_producer(topic) as producer:
        submitted = producer.submit(b"0", key="k")
        producer.send_nowait(OutgoingMessage(b"1"))
        assert submitted.result(5).entry_id == 0
        producer.flush()
        with pytest.raises(InvalidValue, match="key: an OutgoingMessage has its own"):
            producer.send(OutgoingMessage(b"2"), key="k")
    with blocking_client.create_reader(topic) as reader:
        assert payloads(drained(reader, 2)) == [b"0", b"1"]
    with pytest.raises(AlreadyClosed):
        producer.submit(b"3")


def test_bad_settings_are_refused():
    with pytest.raises(InvalidValue):
        blocking.Client("nonsense")


def test_a_client_is_made_of_the_environment_too(broker, topic, monkeypatch, tmp_path):
    monkeypatch.setenv("PULSAR_SERVICE_URL", broker.service_url)
    conf = tmp_path / "client.conf"
    conf.write_text(f"brokerServiceUrl={broker.service_url}\n")
    for make in (blocking.Client.from_env, lambda: blocking.Client.from_config(str(conf))):
        with make() as client, client.create_producer(topic) as producer:
            assert isinstance(client, blocking.Client)
            producer.send(b"x")


@pytest.mark.parametrize("batching", [True, False])
def test_messages_taken_one_by_one_are_each_received_once_and_acknowledged(
    blocking_client, topic, batching
):
    sent = [b"%d" % number for number in range(3000)]
    with blocking_client.create_producer(topic, batching=batching) as producer:
        producer.send_many(sent)
    options = {"initial_position": InitialPosition.EARLIEST, "receiver_queue_size": 100}
    with blocking_client.subscribe(topic, "s", **options) as consumer:
        found = []
        for _ in sent:
            message = consumer.receive(5)
            found.append(message.data)
            consumer.acknowledge(message)
        assert found == sent
        with pytest.raises(TimedOut):
            consumer.receive(0.01)
    with blocking_client.subscribe(topic, "s", **options) as again:
        assert again.receive_many(5, 0.05) == []


def test_threads_that_receive_share_the_messages(blocking_client, topic):
    with blocking_client.create_producer(topic) as producer:
        producer.send_many([b"%d" % number for number in range(4000)])
    found = [[], [], []]

    def receive(mine):
        try:
            while True:
                mine.append(consumer.receive(0.5))
                consumer.acknowledge(mine[-1])
        except TimedOut:
            pass

    with blocking_client.subscribe(
        topic, "s", initial_position=InitialPosition.EARLIEST
    ) as consumer:
        threads = [threading.Thread(target=receive, args=(mine,)) for mine in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    everything = sorted(int(message.data) for mine in found for message in mine)
    assert everything == list(range(4000))


def test_threads_receive_from_several_topics_in_turn(blocking_client, topic):
    topics = [f"{topic}-{name}" for name in "ab"]
    for each in topics:
        with blocking_client.create_producer(each, batch_messages_max=10) as producer:
            producer.send_many([each.encode()] * 500)
    with blocking_client.subscribe(
        topics, "s", initial_position=InitialPosition.EARLIEST
    ) as consumer:
        wait_until(lambda: consumer.stats.messages_queued == 1000, "all messages have come")
        assert len({consumer.receive().topic for _ in range(250)}) == 2


def test_what_was_opened_ahead_is_gone_after_a_seek(blocking_client, topic):
    with blocking_client.create_producer(topic, batching=False) as producer:
        sent = producer.send_many([b"%d" % number for number in range(200)])
    with blocking_client.create_reader(topic) as reader:
        assert payloads(reader.receive(5) for _ in range(20)) == [b"%d" % n for n in range(20)]
        reader.seek(sent[150])
        assert payloads(reader.receive(5) for _ in range(3)) == [b"150", b"151", b"152"]
        assert payloads(reader.receive_many(2, 5)) == [b"153", b"154"]
        assert reader.receive(5).data == b"155"


def test_a_message_of_another_consumer_is_refused_at_once(blocking_client, topic):
    with blocking_client.create_producer(topic) as producer:
        producer.send_many([b"0", b"1"])
    with (
        blocking_client.subscribe(
            topic, "s", initial_position=InitialPosition.EARLIEST
        ) as consumer,
        blocking_client.subscribe(f"{topic}-other", "s") as other,
    ):
        message = consumer.receive(5)
        with pytest.raises(InvalidValue, match="does not come from this consumer"):
            other.acknowledge(message)
