"""What this broker does not do, as the official client meets it: refused at once, nothing lost."""

from datetime import timedelta

import pulsar
import pytest
from compatibility.conftest import Receipts, nothing_more


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
