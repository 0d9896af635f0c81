"""What this broker does not do, as the official client meets it: refused at once, nothing lost."""

from datetime import timedelta

import pulsar
import pytest
from compatibility.conftest import Receipts, nothing_more, open_client


@pytest.mark.parametrize("batching", [False, True])
def test_a_delayed_message_fails_and_no_other_does(official, topic, batching):
    """Not told of a checksum, this client would send it again, with all behind it, for 30 s."""
    consumer = official.subscribe(topic, "s", consumer_type=pulsar.ConsumerType.Shared)
    producer = official.create_producer(topic, batching_enabled=batching)
    receipts = Receipts(11)
    for number in range(11):
        when = {"deliver_after": timedelta(minutes=1)} if number == 5 else {}
        producer.send_async(b"%d" % number, receipts.callback, **when)
    producer.flush()
    with pytest.raises(AssertionError, match="ChecksumError"):
        receipts.wait()
    assert (len(receipts.ids), len(receipts.failures)) == (10, 1)
    with pytest.raises(pulsar.ChecksumError):
        producer.send(b"late", deliver_at=4_000_000_000_000)
    producer.send(b"11")
    got = []
    for _ in range(11):
        message = consumer.receive(20_000)
        got.append(int(message.data()))
    assert got == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    nothing_more(consumer)


@pytest.mark.parametrize("kind", [pulsar.ConsumerType.Exclusive, pulsar.ConsumerType.Failover])
def test_reading_what_is_left_after_compaction_is_refused(official, topic, kind):
    """The whole topic is not what was asked for."""
    official.create_producer(topic).send(b"x")
    with pytest.raises(pulsar.NotAllowedError):
        official.subscribe(topic, "s", consumer_type=kind, is_read_compacted=True)
    with pytest.raises(pulsar.NotAllowedError):
        official.create_reader(topic, pulsar.MessageId.earliest, is_read_compacted=True)


@pytest.mark.parametrize(
    "authentication",
    [
        pulsar.AuthenticationToken("a.b.c"),
        pulsar.AuthenticationBasic("me", "secret"),
        pulsar.AuthenticationTLS("cert.pem", "key.pem"),
    ],
    ids=["token", "basic", "tls"],
)
def test_who_shows_credentials_is_told_that_nobody_checks_them(
    magnetar_broker, topic, authentication
):
    client = open_client(magnetar_broker.service_url, authentication=authentication)
    with pytest.raises(pulsar.AuthenticationError):
        client.create_producer(topic)
    client.close()


def test_a_client_without_credentials_is_served_also_over_http(magnetar_broker, topic):
    with pytest.raises(pulsar.PulsarException):
        found_over_http(magnetar_broker, topic, pulsar.AuthenticationToken("a.b.c"))
    found_over_http(magnetar_broker, topic, None)


def found_over_http(broker, topic, authentication):
    client = open_client(broker.web_url, authentication=authentication)
    try:
        client.create_producer(topic)
    finally:
        client.close()
