"""Table views, patterns and declared keys, with our client and the official one side by side."""

import re

import pulsar
import pytest
from compatibility.conftest import receive_all

from magnetar import KeySharedPolicy, SubscriptionType
from magnetar.client import blocking
from magnetar.model.hashing import murmur3_32

pytestmark = pytest.mark.compatibility

KEYS = [f"k{number}" for number in range(20)]
EXPECTED = sum(murmur3_32(key.encode()) % 65_536 <= 30_000 for key in KEYS)
VALUES = {key: key.encode() for key in KEYS if key != "k7"}


@pytest.fixture
def ours(magnetar_broker):
    with blocking.Client(magnetar_broker.service_url) as client:
        yield client


def test_both_have_the_same_table(official, ours, topic):
    theirs, own = official.create_producer(topic), ours.create_producer(topic)
    for number, key in enumerate(KEYS):
        theirs.send(b"old", partition_key=key)
        if number % 2:
            theirs.send(key.encode(), partition_key=key)
        else:
            own.send(key.encode(), key=key)
    own.send(b"", key="k7")
    found = {}
    official.create_table_view(topic).for_each(found.__setitem__)
    with ours.create_table_view(topic) as table:
        assert dict(table) == found == VALUES


def test_our_pattern_finds_the_topics_that_the_official_client_makes(official, ours, topic):
    consumer = ours.subscribe(re.compile(f"{topic}-.*"), "s", topics_refresh_s=0)
    for each in "abc":
        official.create_producer(f"{topic}-{each}").send(each.encode())
    messages = consumer.receive_many(3, 10, count_min=3)
    assert sorted(message.data for message in messages) == [b"a", b"b", b"c"]


def test_keys_are_shared_between_both_as_they_declared(official, ours, topic):
    sticky = pulsar.ConsumerKeySharedPolicy(
        key_shared_mode=pulsar.KeySharedMode.Sticky, sticky_ranges=[(0, 30_000)]
    )
    theirs = official.subscribe(
        topic, "s", consumer_type=pulsar.ConsumerType.KeyShared, key_shared_policy=sticky
    )
    own = ours.subscribe(
        topic,
        "s",
        type=SubscriptionType.KEY_SHARED,
        key_shared_policy=KeySharedPolicy(sticky_ranges=[(30_001, 65_535)]),
    )
    producer = ours.create_producer(topic, batching=False)
    for key in KEYS:
        producer.send(b"", key=key)
    inbox = [message.partition_key() for message in receive_all(theirs, EXPECTED)]
    found = [message.key for message in own.receive_many(20, 10, count_min=20 - EXPECTED)]
    assert sorted(inbox + found) == sorted(KEYS)
    assert all(murmur3_32(key.encode()) % 65_536 <= 30_000 for key in inbox)
