"""What threads send one by one, on the client's own loop in its thread, with a broker beside it."""

import threading
from concurrent.futures import Future

import pytest

from magnetar.client.handover import Handover
from magnetar.client.outgoing_message import OutgoingMessage, prepare
from magnetar.errors import AlreadyClosed, InvalidValue, MessageTooLarge, QueueFull


def received(blocking_client, topic, count):
    with blocking_client.create_reader(topic) as reader:
        found = []
        while len(found) < count:
            found += reader.receive_many(count - len(found), 5)
    return [message.data for message in found]


def test_messages_of_one_thread_keep_their_order_whatever_call_sends_them(blocking_client, topic):
    with blocking_client.create_producer(topic, batch_messages_max=7) as producer:
        for number in range(0, 500, 10):
            for one in range(8):
                producer.send_nowait(b"%d" % (number + one))
            producer.submit(b"%d" % (number + 8), key="k")
            producer.send(b"%d" % (number + 9))
    assert received(blocking_client, topic, 500) == [b"%d" % number for number in range(500)]


def test_threads_that_send_at_once_lose_nothing(blocking_client, topic):
    with blocking_client.create_producer(topic) as producer:
        threads = [
            threading.Thread(target=lambda: [producer.send_nowait(b"x") for _ in range(2_000)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
        assert producer.last_sequence_id == 7_999


def test_a_full_queue_refuses_and_has_room_when_it_is_ready(blocking_client, topic):
    with blocking_client.create_producer(topic, max_pending_messages=10) as producer:
        refused = 0
        for number in range(200):
            try:
                producer.send_nowait(b"%d" % number)
            except QueueFull:
                refused += 1
                producer.ready()
                producer.send_nowait(b"%d" % number)
        producer.flush()
        assert producer.last_sequence_id == 199
        assert refused, "200 messages fit into a queue of 10 only if somebody waits"
    assert received(blocking_client, topic, 200) == [b"%d" % number for number in range(200)]


def test_the_loop_takes_in_one_list_what_comes_before_it_looks(blocking_client, topic):
    producer = blocking_client.create_producer(topic)
    taken = []

    class Watched:
        def _prepare(self, value, details):
            return prepare(value, details)

        def _check_room(self, messages, size_bytes):
            producer._producer._check_room(messages, size_bytes)

        def _take(self, handed):
            taken.append(handed)

    thread = producer._thread
    handover = Handover(Watched(), thread)
    looking, done = threading.Event(), threading.Event()
    thread.post(lambda: (looking.set(), done.wait(5)))
    looking.wait(5)
    receipt = Future()
    handover.put(b"1", {})
    handover.put(b"2", {"key": "k"}, receipt)
    done.set()
    thread.call(lambda: None)
    assert taken == [[b"1", (b"2", OutgoingMessage(b"2", "k"), receipt)]]


def test_what_no_message_can_carry_is_refused_at_once_and_the_rest_told_later(
    blocking_client, topic
):
    producer = blocking_client.create_producer(topic)
    for wrong in ("text", 5, None):
        with pytest.raises(InvalidValue):
            producer.send_nowait(wrong)
    with pytest.raises(InvalidValue):
        producer.submit(b"", key=5)
    large = b"x" * (6 * 1024 * 1024)
    told = producer.submit(large)
    with pytest.raises(MessageTooLarge):
        told.result(5)
    assert not told.cancel()
    for each in (large, OutgoingMessage(large, key="k")):
        producer.send_nowait(each)
        with pytest.raises(MessageTooLarge):
            producer.flush()
    producer.flush()
    producer.close()
    for send in (producer.send_nowait, producer.submit):
        with pytest.raises(AlreadyClosed):
            send(b"late")
