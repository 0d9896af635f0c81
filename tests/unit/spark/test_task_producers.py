import threading
from contextlib import contextmanager, nullcontext

import pyarrow as pa
import pytest
from support.admin import ask

from magnetar.client import blocking
from magnetar.errors import MessageTooLarge, NotAllowed, TopicNotFound
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.admin import TopicAdmin
from magnetar.spark.rows import Rows
from magnetar.spark.task_producers import RUN_BYTES_MAX, TaskProducers, TaskWrite
from magnetar.spark.write_options import IdempotentWrite
from magnetar.testing.local_broker import BrokerThread

LARGE = b"x" * 6_000_000  # Beyond what the broker takes in one entry.


@pytest.fixture(scope="module")
def broker():
    with BrokerThread(settings={"brokerDeduplicationEnabled": True}) as running:
        yield running


@pytest.fixture
def client(broker):
    with blocking.Client(broker.service_url) as connected:
        yield connected


def send(producers, topic, values):
    rows = Rows(pa.RecordBatch.from_pydict({"value": values}))
    producers.send(topic, rows, len(values))


@pytest.fixture
def write(broker, client, topic):
    def write(rows, *, version=0, client=client):
        admin = TopicAdmin(broker.web_url, 10.0)
        once = TaskWrite(IdempotentWrite("q", version), admin.deduplicates, admin.message_size_max)
        with TaskProducers(client, 3, once=once, timeout_s=10.0, send_timeout_s=1.0) as producers:
            for part in rows:
                send(producers, topic, part)
            producers.flush()

    return write


def stored(client, topic):
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        found = []
        while reader.has_message_available():
            found += [message.data for message in reader.receive_many(1000, 10.0)]
        return found


def rows_of(*numbers):
    return [b"%d" % number for number in numbers]


def test_a_try_goes_on_where_an_earlier_one_was_ended(client, write, topic):
    write([rows_of(0, 1, 2)])
    write([rows_of(0, 1, 2), rows_of(3, 4)])
    write([rows_of(0, 1, 2), rows_of(3, 4)])
    write([rows_of(5)], version=1)
    assert stored(client, topic) == rows_of(0, 1, 2, 3, 4, 5)


def test_messages_too_large_for_an_entry_are_written_once_too(client, write, topic):
    rows = [b"a", LARGE, b"b", LARGE]
    write([rows[:2]])
    write([rows])
    assert stored(client, topic) == rows


def test_a_try_waits_until_the_worker_of_an_earlier_one_is_gone(broker, client, write, topic):
    other = blocking.Client(broker.service_url)
    earlier = other.create_producer(topic, name="spark:q:3")
    leaving = threading.Timer(0.3, other.close)  # There is no event of a producer that is refused.
    leaving.start()
    write([rows_of(0)])
    assert not earlier.connected
    leaving.join()
    assert stored(client, topic) == rows_of(0)


def test_a_topic_that_does_not_deduplicate_gets_nothing(client, topic):
    once = TaskWrite(IdempotentWrite("q", 0), lambda _name: False)
    with (
        pytest.raises(NotAllowed, match="does not deduplicate"),
        TaskProducers(client, 0, once=once, timeout_s=10.0, send_timeout_s=1.0) as producers,
    ):
        send(producers, topic, [b"a"])
    assert stored(client, topic) == []


def test_at_least_once_another_try_writes_again_large_messages_in_their_order(client, topic):
    rows = [b"a", LARGE, b"b", b"c" * (RUN_BYTES_MAX // 40)] * 2 + rows_of(*range(2500))
    for _ in range(2):
        with TaskProducers(client, 3, timeout_s=10.0, send_timeout_s=10.0) as producers:
            send(producers, topic, rows)
            producers.flush()
    assert stored(client, topic) == [*rows, *rows]


def test_many_bytes_are_handed_over_in_pieces(client, topic):
    rows = [b"%d" % at * 60_000 for at in range(RUN_BYTES_MAX // 40_000)]
    with TaskProducers(client, 3, timeout_s=10.0, send_timeout_s=10.0) as producers:
        send(producers, topic, rows)
        producers.flush()
    assert stored(client, topic) == rows


def test_nothing_is_sent_after_a_batch_that_could_not_be(topic):
    """The next try would take what lies before it for stored, and pass over it."""
    once = TaskWrite(IdempotentWrite("q", 0), lambda _name: True)
    rows = [b"a" * 60_000, b"b" * 60_000, b"c" * 200_000]
    settings = {"brokerDeduplicationEnabled": True, "maxMessageSize": 100_000}
    with BrokerThread(settings=settings) as broker, blocking.Client(broker.service_url) as client:
        for _ in range(2):
            with (
                pytest.raises(MessageTooLarge, match="a batch of 2 messages"),
                TaskProducers(client, 3, once=once, timeout_s=10, send_timeout_s=1) as producers,
            ):
                send(producers, topic, rows)
        assert stored(client, topic) == []


@pytest.mark.parametrize("limit", [300, 5_000])
def test_batches_become_as_small_as_the_topic_wants_them(broker, client, write, topic, limit):
    client.create_producer(topic).close()
    ask(broker, "POST", f"{topic.replace('://', '/')}/maxMessageSize", limit)
    rows = rows_of(*range(1200))
    write([rows[:700], rows[700:]])
    assert stored(client, topic) == rows


def test_a_policy_that_comes_while_rows_are_written_is_told_of(broker, client, topic):
    client.create_producer(topic).close()
    once = TaskWrite(IdempotentWrite("q", 0), lambda _topic: True, lambda _topic: 0)
    ask(broker, "POST", f"{topic.replace('://', '/')}/maxMessageSize", 1000)
    with (  # noqa: PT012 - either may raise.
        pytest.raises(NotAllowed, match=r"began to refuse rows.*another txnAppId or checkpoint"),
        TaskProducers(client, 3, once=once, timeout_s=10.0, send_timeout_s=1.0) as producers,
    ):
        send(producers, topic, [b"x" * 2000, b"y"])
        producers.flush()


@contextmanager
def silent(broker):
    """Let a broker answer nothing until the end of the block."""
    go_on = threading.Event()
    broker._loop.call_soon_threadsafe(go_on.wait, 30)
    try:
        yield
    finally:
        go_on.set()


@pytest.mark.parametrize("seen", [True, False])
def test_rows_that_a_new_policy_may_have_refused_are_not_taken_for_stored(
    broker, client, write, topic, seen
):
    """What lay behind them was stored: the broker then tells the next try that all of it is."""
    client.create_producer(topic).close()
    at_first = TaskWrite(IdempotentWrite("q", 0), lambda _topic: True, lambda _topic: 0)
    with TaskProducers(client, 3, once=at_first, timeout_s=10.0, send_timeout_s=1.0) as producers:
        send(producers, topic, [b"a"])
        producers.flush()
        ask(broker, "POST", f"{topic.replace('://', '/')}/maxMessageSize", 1000)
        with silent(broker):  # Both are on their way before the first is refused.
            send(producers, topic, [b"b" * 2000])
            send(producers, topic, [b"c"])
        with pytest.raises(NotAllowed, match="began to refuse rows"):
            producers.flush()
    assert stored(client, topic) == [b"a", b"c"], "the gap that no broker tells of"
    again = [[b"a"], [b"b" * 2000], [b"c"]]
    said = r"may have refused rows, and stored others.*another txnAppId or checkpoint"
    with pytest.raises(NotAllowed, match=said):
        write(again) if seen else write_unseen(client, topic, again)
    assert stored(client, topic) == [b"a", b"c"]


def write_unseen(client, topic, rows):
    """By a role that is not let see policies."""
    once = TaskWrite(IdempotentWrite("q", 0), lambda _topic: True)
    with TaskProducers(client, 3, once=once, timeout_s=10.0, send_timeout_s=1.0) as producers:
        for part in rows:
            send(producers, topic, part)


def test_a_row_that_the_topic_does_not_take_is_an_error_before_the_first_is_sent(
    broker, client, write, topic
):
    client.create_producer(topic).close()
    ask(broker, "POST", f"{topic.replace('://', '/')}/maxMessageSize", 1000)
    with pytest.raises(NotAllowed, match=r"maxMessageSize is 1000: {'value': b'bbb"):
        write([[b"a", b"b" * 2000, b"c"]])
    assert stored(client, topic) == []
    ask(broker, "DELETE", f"{topic.replace('://', '/')}/maxMessageSize")
    write([[b"a", b"b" * 2000, b"c"]])
    assert stored(client, topic) == [b"a", b"b" * 2000, b"c"]


def test_a_try_that_was_sent_surely_is_gone_on_with(broker, client, write, topic):
    """A batch of it may be larger than the policy, and was sent in smaller ones."""
    client.create_producer(topic).close()
    ask(broker, "POST", f"{topic.replace('://', '/')}/maxMessageSize", 1000)
    rows = rows_of(*range(1200))
    write([rows[:700]])
    write([rows[:700], rows[700:]])
    ask(broker, "DELETE", f"{topic.replace('://', '/')}/maxMessageSize")
    write([rows[:700], rows[700:], rows_of(1200, 1201)])
    assert stored(client, topic) == rows_of(*range(1202))


def test_opened_ahead_a_producer_waits_for_rows(client, topic):
    client.create_producer(topic).close()
    with TaskProducers(client, 3, timeout_s=10.0, send_timeout_s=1.0) as producers:
        producers.open_ahead(topic)
        send(producers, topic, rows_of(0, 1))
        producers.flush()
    assert stored(client, topic) == rows_of(0, 1)


def test_opened_ahead_a_topic_is_created_by_its_first_row_only(client, topic):
    for rows in ([], [rows_of(0)]):
        with TaskProducers(client, 3, timeout_s=10.0, send_timeout_s=1.0) as producers:
            producers.open_ahead(topic)
            for part in rows:
                send(producers, topic, part)
            producers.flush()
        if not rows:
            with pytest.raises(TopicNotFound):
                client.partitions(topic)
    assert stored(client, topic) == rows_of(0)


def test_what_goes_wrong_ahead_is_raised_for_rows_and_leaves_no_producer(client, topic):
    client.create_producer(topic).close()
    asked = threading.Event()

    def refuse(_topic):
        asked.set()
        return False

    for rows in ([], rows_of(0)):
        once = TaskWrite(IdempotentWrite("q", 0), refuse)
        with (
            pytest.raises(NotAllowed) if rows else nullcontext(),
            TaskProducers(client, 3, once=once, timeout_s=0.0, send_timeout_s=1.0) as producers,
        ):
            producers.open_ahead(topic)
            assert asked.wait(10.0)
            if rows:
                send(producers, topic, rows)
        asked.clear()
        client.create_producer(topic, name="spark:q:3").close()  # The name is free.


def test_rows_wait_while_a_backlog_holds_their_topic(broker, client, write, topic):
    consumer = client.subscribe(topic, "slow")
    with client.create_producer(topic, batching=False) as filling:
        filling.send_many([b"x" * 1024] * 8)
    quota = {"limitSize": 4096, "policy": "producer_request_hold"}
    ask(broker, "POST", f"{topic.replace('://', '/')}/backlogQuota", quota)
    writing = threading.Thread(target=write, args=([rows_of(0)],))
    writing.start()
    writing.join(0.5)
    assert writing.is_alive()
    consumer.acknowledge(consumer.receive_many(8, count_min=8))
    writing.join(20)
    assert consumer.receive(10).data == b"0"
