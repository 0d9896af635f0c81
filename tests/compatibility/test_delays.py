"""Delayed messages, between the official client and a broker process."""

import json
import time
from datetime import timedelta
from urllib.request import Request, urlopen

import pulsar
import pytest
from compatibility.conftest import Receipts, nothing_more, open_client, receive_all
from pulsar import ConsumerType, InitialPosition

from magnetar.client import blocking
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

TICK_S = 0.1
DELAY_S = 1.0
LATE = timedelta(hours=1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    settings = {
        "delayedDeliveryTickTimeMillis": round(TICK_S * 1000),
        "delayedDeliveryMaxDelayInMillis": 7_200_000,
    }
    with BrokerProcess(tmp_path_factory.mktemp("delays") / "data", settings=settings) as broker:
        yield broker


def subscribe(client, topic, kind=ConsumerType.Shared, name="s"):
    earliest = InitialPosition.Earliest
    return client.subscribe(topic, name, consumer_type=kind, initial_position=earliest)


def ask(broker, path, method="GET", body=None):
    request = Request(
        f"{broker.web_url}/admin/v2/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=20) as response:
        return json.loads(response.read() or b"null")


def subscription(broker, topic):
    return ask(broker, f"{topic.replace('://', '/')}/stats")["subscriptions"]["s"]


@pytest.mark.parametrize("kind", [ConsumerType.Shared, ConsumerType.KeyShared])
def test_a_delayed_message_comes_in_time_and_nothing_waits_for_it(broker, client, topic, kind):
    consumer = subscribe(client, topic, kind)
    producer = client.create_producer(topic, batching_enabled=True)
    receipts, sent = Receipts(30), time.time()
    for number in range(30):
        when = {"deliver_after": timedelta(seconds=DELAY_S)} if number % 3 == 0 else {}
        producer.send_async(b"%d" % number, receipts.callback, partition_key=f"{number}", **when)
    producer.flush()
    receipts.wait()
    at_once = [int(each.data()) for each in receive_all(consumer, 20)]
    assert sorted(at_once) == [number for number in range(30) if number % 3]
    assert time.time() < sent + DELAY_S - TICK_S
    told = subscription(broker, topic)
    assert (told["msgDelayed"], told["delayedMessageIndexSizeInBytes"] > 0) == (10, True)
    assert told["msgBacklog"] - told["msgBacklogNoDelayed"] == 10
    assert told["blockedReason"].startswith("what is left is delayed, the next message until 20")
    late = receive_all(consumer, 10)
    assert sent + DELAY_S - 2 * TICK_S < time.time() < sent + DELAY_S + 3
    assert sorted(int(each.data()) for each in late) == list(range(0, 30, 3))
    nothing_more(consumer)


@pytest.mark.parametrize("kind", [ConsumerType.Exclusive, ConsumerType.Failover])
def test_exclusive_and_failover_consumers_get_it_at_once(client, topic, kind):
    consumer = subscribe(client, topic, kind)
    client.create_producer(topic).send(b"late", deliver_after=LATE)
    [message] = receive_all(consumer, 1)
    assert message.data() == b"late"


def test_a_delay_that_is_too_long_is_refused_and_no_other_send(client, topic):
    """Not told of a checksum, this client would send it again, with all behind it, for 30 s."""
    consumer = subscribe(client, topic)
    producer = client.create_producer(topic)
    with pytest.raises(pulsar.ChecksumError):
        producer.send(b"late", deliver_at=4_000_000_000_000)
    producer.send(b"now")
    assert [each.data() for each in receive_all(consumer, 1)] == [b"now"]


def test_a_policy_delivers_at_once_what_is_held_back(broker, client, topic):
    consumer = subscribe(client, topic)
    client.create_producer(topic).send(b"late", deliver_after=LATE)
    nothing_more(consumer)
    path = f"{topic.replace('://', '/')}/delayedDelivery"
    ask(broker, path, "POST", {"active": False, "tickTime": 100})
    assert receive_all(consumer, 1)[0].data() == b"late"
    ask(broker, path, "POST", {"active": True, "tickTime": 100})
    client.create_producer(topic).send(b"later", deliver_after=LATE)
    nothing_more(consumer)


def test_delays_outlive_a_killed_broker(broker, topic):
    client = open_client(broker.service_url)
    consumer = subscribe(client, topic)
    producer = client.create_producer(topic)
    producer.send(b"much later", deliver_after=LATE)
    due = time.time() + 2.0
    producer.send(b"late", deliver_at=round(due * 1000))
    producer.send(b"now")
    assert receive_all(consumer, 1)[0].data() == b"now"
    broker.kill()
    broker.start()
    again_or(b"late", consumer, 20_000)
    assert time.time() > due - 2 * TICK_S
    with pytest.raises(pulsar.Timeout):
        again_or(None, consumer, 200)
    client.close()


def again_or(wanted, consumer, timeout_ms):
    """The next message is ``wanted``, but for "now": its acknowledgement may have been lost."""
    while (message := consumer.receive(timeout_ms)).data() == b"now":
        consumer.acknowledge(message)
    assert message.data() == wanted


def test_our_client_delays_as_the_official_one_does(broker, client, topic):
    consumer = subscribe(client, topic)
    with blocking.Client(broker.service_url) as ours, ours.create_producer(topic) as producer:
        sent = time.time()
        producer.send_many([b"a", b"b"])
        producer.send(b"late", deliver_after_s=DELAY_S)
        producer.send(b"much later", deliver_at_ms=round((sent + 3600) * 1000))
        assert [each.data() for each in receive_all(consumer, 3)] == [b"a", b"b", b"late"]
        assert time.time() > sent + DELAY_S - 2 * TICK_S
        nothing_more(consumer)
