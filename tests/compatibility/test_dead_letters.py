"""Dead letters and retries: what Pulsar's clients do with other topics, over a killed broker.

The official client of this language has dead letters and no retries; ``reconsume_later`` does what
the one in Java does. What our client sends is received by the official one, and vice versa.
"""

import time
from datetime import timedelta

import pulsar
import pytest
from compatibility.conftest import nothing_more, open_client
from compatibility.test_delays import ask
from pulsar import ConsumerDeadLetterPolicy, ConsumerType, InitialPosition
from support.elsewhere import wait_until

import magnetar
from magnetar.client import blocking
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

REDELIVERED_MAX = 2
DELAY_S = 0.4
TICK_S = 0.1


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dead-letters") / "data"
    settings = {"delayedDeliveryTickTimeMillis": round(TICK_S * 1000)}
    with BrokerProcess(folder, settings=settings) as broker:
        yield broker


def subscribe(client, topics, name="s", kind=ConsumerType.Shared, **options):
    earliest = InitialPosition.Earliest
    return client.subscribe(topics, name, consumer_type=kind, initial_position=earliest, **options)


def with_dead_letters(client, topic, kind=ConsumerType.Shared, **policy):
    return subscribe(
        client,
        topic,
        kind=kind,
        negative_ack_redelivery_delay_ms=100,
        dead_letter_policy=ConsumerDeadLetterPolicy(REDELIVERED_MAX, **policy),
    )


def backlog(broker, topic):
    stats = ask(broker, f"{topic.replace('://', '/')}/stats")
    return stats["subscriptions"]["s"]["msgBacklog"]


def refuse(message, consumer):
    consumer.negative_acknowledge(message)
    return message.data() if message.redelivery_count() >= REDELIVERED_MAX else None


def received(consumer, wait_ms):
    """The next message, or None when none came in time."""
    try:
        return consumer.receive(wait_ms)
    except pulsar.Timeout:
        return None


@pytest.mark.parametrize("kind", [ConsumerType.Shared, ConsumerType.KeyShared])
def test_what_is_refused_is_dead_lettered_and_what_is_acknowledged_never(
    broker, client, topic, kind
):
    consumer = with_dead_letters(client, topic, kind, initial_subscription_name="kept")
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(10):
        last = producer.send(b"%d" % number, partition_key=f"k{number}", properties={"a": "b"})
    odd = {b"%d" % number for number in range(1, 10, 2)}
    even = {b"%d" % number for number in range(0, 10, 2)}
    dead_topic = f"{topic}-s-DLQ"
    refused = set()
    while not refused >= odd:
        message = consumer.receive(20_000)
        if message.data() in even and message.redelivery_count() > 0:
            consumer.acknowledge(message)
        else:
            refused.add(refuse(message, consumer))
    wait_until(lambda: backlog(broker, topic) == 0, "what was dead-lettered is acknowledged")
    # The dead letter topic was made by its producer, and this subscription before it sent.
    dead_letters = subscribe(client, dead_topic, "kept")
    found = [dead_letters.receive(20_000) for _ in odd]
    nothing_more(dead_letters)
    nothing_more(consumer)
    assert {each.data() for each in found} == odd
    for each in found:
        assert each.partition_key() == f"k{each.data().decode()}"
        told = each.properties()
        assert (told["a"], told["REAL_TOPIC"]) == ("b", topic)
        assert f"{last.ledger_id()},{each.data().decode()}" in told["ORIGIN_MESSAGE_ID"]


def test_nothing_is_lost_between_a_topic_and_its_dead_letters_when_the_broker_is_killed(
    broker, topic
):
    client = open_client(broker.service_url)
    dead_letters = subscribe(client, f"{topic}-dead")
    consumer = with_dead_letters(client, topic, dead_letter_topic=f"{topic}-dead")
    producer = client.create_producer(topic, batching_enabled=False)
    sent = {b"%d" % number for number in range(12)}
    for text in sorted(sent):
        producer.send(text)
    found, killed, deadline = set(), False, time.monotonic() + 30
    while found != sent:
        assert time.monotonic() < deadline, f"{len(found)} of 12 dead letters came"
        letter = received(dead_letters, 20)
        if letter is not None:
            found.add(letter.data())
            if not killed:  # Some are in both topics now, and some in one.
                killed = True
                broker.kill()
                broker.start()
        message = received(consumer, 20)
        if message is not None:
            refuse(message, consumer)
    wait_until(lambda: backlog(broker, topic) == 0, "what was dead-lettered is acknowledged")
    client.close()


def test_nothing_is_lost_between_our_topic_and_its_dead_letters_when_the_broker_is_killed(
    broker, ours, topic
):
    sent = {b"%d" % number for number in range(12)}
    dead = ours.subscribe(f"{topic}-dead", "s", type=magnetar.SubscriptionType.SHARED)
    policy = magnetar.DeadLetterPolicy(REDELIVERED_MAX, dead_letter_topic=f"{topic}-dead")
    consumer = ours.subscribe(
        topic,
        "s",
        type=magnetar.SubscriptionType.SHARED,
        negative_ack_delay_s=0.1,
        dead_letter_policy=policy,
        ack_receipts=True,
    )
    ours.create_producer(topic, batching=False).send_many(sorted(sent))
    found, killed, deadline = set(), False, time.monotonic() + 30
    while found != sent:
        assert time.monotonic() < deadline, f"{len(found)} of 12 dead letters came"
        found.update(letter.data for letter in dead.receive_many(12, 0.02))
        if found and not killed:  # Some are in both topics now, and some in one.
            killed = True
            broker.kill()
            broker.start()
        consumer.negative_acknowledge(consumer.receive_many(12, 0.02))
    wait_until(lambda: backlog(broker, topic) == 0, "what was dead-lettered is acknowledged")
    dead.close()
    consumer.close()


def reconsume_later(message, retries, dead_letters, origin):
    """Send a message again, to come later, or to the dead letters; then it may be acknowledged."""
    properties = dict(message.properties())
    times = int(properties.get("RECONSUMETIMES", 0)) + 1
    properties["RECONSUMETIMES"] = str(times)
    properties["DELAY_TIME"] = str(round(DELAY_S * 1000))
    properties.setdefault("REAL_TOPIC", origin)
    properties.setdefault("ORIGIN_MESSAGE_ID", str(message.message_id()))
    details = {"properties": properties, "partition_key": message.partition_key()}
    if times > REDELIVERED_MAX:
        dead_letters.send(message.data(), **details)
    else:
        retries.send(message.data(), deliver_after=timedelta(seconds=DELAY_S), **details)


def test_a_retry_comes_after_its_delay_and_the_last_one_is_a_dead_letter(broker, client, topic):
    retry_topic, dead_topic = f"{topic}-s-RETRY", f"{topic}-s-DLQ"
    consumer = subscribe(client, [topic, retry_topic])
    retries = client.create_producer(retry_topic, batching_enabled=False)
    dead = client.create_producer(dead_topic, batching_enabled=False)
    dead_letters = subscribe(client, dead_topic)
    producer = client.create_producer(topic, batching_enabled=False)
    origin = producer.send(b"poison", partition_key="k", properties={"a": "b"})
    seen, sent = [], time.time()
    for attempt in range(REDELIVERED_MAX + 1):
        message = consumer.receive(20_000)
        assert time.time() > sent + attempt * (DELAY_S - TICK_S)
        seen.append(message.properties().get("RECONSUMETIMES"))
        assert (message.partition_key(), message.redelivery_count()) == ("k", 0)
        reconsume_later(message, retries, dead, topic)
        consumer.acknowledge(message)
    assert seen == [None, "1", "2"]
    letter = dead_letters.receive(20_000)
    assert letter.properties() == {
        "a": "b",
        "RECONSUMETIMES": "3",
        "DELAY_TIME": "400",
        "REAL_TOPIC": topic,
        "ORIGIN_MESSAGE_ID": str(origin),
    }
    nothing_more(consumer)
    wait_until(
        lambda: backlog(broker, topic) == backlog(broker, retry_topic) == 0,
        "what was sent again is acknowledged",
    )


def test_a_retry_that_was_not_acknowledged_comes_twice_after_a_kill_and_is_never_lost(
    broker, topic
):
    retry_topic = f"{topic}-s-RETRY"
    client = open_client(broker.service_url)
    consumer = subscribe(client, [topic, retry_topic])
    retries = client.create_producer(retry_topic, batching_enabled=False)
    producer = client.create_producer(topic, batching_enabled=False)
    for number in range(6):
        producer.send(b"%d" % number)
    for number in range(6):
        message = consumer.receive(20_000)
        if number < 3:
            reconsume_later(message, retries, None, topic)
    broker.kill()  # Three are in both topics, the others in their own.
    broker.start()
    seen = []
    while len(seen) < 9:
        message = consumer.receive(20_000)
        consumer.acknowledge(message)
        seen.append((message.data(), message.properties().get("RECONSUMETIMES")))
    again = {text for text, times in seen if times}
    assert {text for text, times in seen if not times} == {b"%d" % n for n in range(6)}
    assert len(again) == 3
    nothing_more(consumer)
    client.close()


@pytest.fixture
def ours(broker):
    with blocking.Client(broker.service_url) as ours:
        yield ours


def test_both_clients_write_the_same_dead_letter(client, ours, topic):
    found = {}
    for name in ("ours", "official"):
        each = f"{topic}-{name}"
        dead = subscribe(client, f"{each}-s-DLQ")
        if name == "ours":
            consumer = ours.subscribe(
                each,
                "s",
                type=magnetar.SubscriptionType.SHARED,
                negative_ack_delay_s=0.1,
                dead_letter_policy=magnetar.DeadLetterPolicy(REDELIVERED_MAX),
            )
        else:
            consumer = with_dead_letters(client, each)
        producer = client.create_producer(each, batching_enabled=False)
        details = {"partition_key": "k", "properties": {"a": "b"}, "event_timestamp": 5}
        producer.send(b"poison", **details)
        for _ in range(REDELIVERED_MAX + 1):
            consumer.negative_acknowledge(consumer.receive(20 if name == "ours" else 20_000))
        letter = dead.receive(20_000)
        told = letter.properties()
        assert told.pop("REAL_TOPIC") == each
        assert told.pop("ORIGIN_MESSAGE_ID")  # C++ writes (1,0,-1,-1) where Java writes 1:0:-1.
        found[name] = (letter.data(), letter.partition_key(), told)
        consumer.close()
    assert found["ours"] == found["official"] == (b"poison", "k", {"a": "b"})


def test_our_retries_and_those_of_another_client_come_to_either(client, ours, topic):
    retry_topic = f"{topic}-s-RETRY"
    retries = client.create_producer(retry_topic, batching_enabled=False)
    producer = client.create_producer(topic, batching_enabled=False)
    shared = {"type": magnetar.SubscriptionType.SHARED}
    mine = ours.subscribe(topic, "s", enable_retry=True, **shared)
    producer.send(b"x", properties={"a": "b"})
    mine.reconsume_later(mine.receive(20), DELAY_S)
    told = mine.receive(20).properties
    assert (told["RECONSUMETIMES"], told["DELAY_TIME"]) == ("1", "400")
    mine.close()  # It has not acknowledged: another client gets the retry, and sends its own.
    theirs = subscribe(client, [topic, retry_topic])
    message = theirs.receive(20_000)
    assert message.properties() == told
    reconsume_later(message, retries, None, topic)
    theirs.acknowledge(message)
    theirs.close()
    mine = ours.subscribe(topic, "s", enable_retry=True, **shared)
    message = mine.receive(20)
    assert message.properties == {**told, "RECONSUMETIMES": "2"}
    dead = subscribe(client, f"{topic}-s-DLQ")
    mine.close()
    policy = magnetar.DeadLetterPolicy(REDELIVERED_MAX)
    mine = ours.subscribe(topic, "s", enable_retry=True, dead_letter_policy=policy, **shared)
    mine.reconsume_later(mine.receive(20), DELAY_S)
    assert dead.receive(20_000).properties() == {**told, "RECONSUMETIMES": "3"}
