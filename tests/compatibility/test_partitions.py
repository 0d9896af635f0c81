"""Partitions: made, used, grown, missed and deleted, for the official client and for ours."""

import json
from collections import defaultdict
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from compatibility.conftest import receive_all
from support.loop import until

from magnetar import Client, HashingScheme, InitialPosition
from magnetar.client.producers.routing import key_hash
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

SETTINGS = {
    "allowAutoTopicCreationType": "partitioned",
    "defaultNumPartitions": 3,
    "maxNumPartitionsPerPartitionedTopic": 6,
}
KEYS = [f"key-{number}" for number in range(40)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("partitions"), settings=SETTINGS) as process:
        yield process


@pytest.fixture
def ask(broker):
    """Asks the admin API; refused, its answer is the status."""

    def ask(method, topic, path="partitions", value=None):
        request = Request(
            f"{broker.web_url}/admin/v2/{topic.replace('://', '/')}/{path}",
            method=method,
            data=None if value is None else json.dumps(value).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=20) as response:
                answer = response.read()
        except HTTPError as error:
            with error:
                return error.code
        return json.loads(answer) if answer else None

    return ask


def partitions_by_key(messages):
    found = defaultdict(set)
    for message in messages:
        found[message.partition_key()].add(message.message_id().partition())
    return found


def test_a_topic_that_is_used_gets_as_many_as_are_made_by_default(client, topic, ask):
    consumer = client.subscribe(topic, "s")
    assert len(client.get_topic_partitions(topic)) == 3
    producer = client.create_producer(topic)
    for key in KEYS * 2:
        producer.send(b"", partition_key=key)
    found = partitions_by_key(receive_all(consumer, 2 * len(KEYS)))
    assert {len(partitions) for partitions in found.values()} == {1}
    assert set.union(*found.values()) == {0, 1, 2}
    stats = ask("GET", topic, "partitioned-stats")
    assert [part["msgInCounter"] > 0 for part in stats["partitions"].values()] == [True] * 3


@pytest.mark.parametrize("hashing", HashingScheme)
async def test_our_producers_put_a_key_where_its_hash_says(broker, client, topic, hashing):
    consumer = client.subscribe(topic, "s")
    async with Client(broker.service_url) as ours:
        producer = await ours.create_producer(topic, hashing=hashing)
        for key in KEYS:
            await producer.send(b"", key=key)
    found = partitions_by_key(receive_all(consumer, len(KEYS)))
    assert found == {key: {key_hash(key, hashing) % 3} for key in KEYS}


async def test_whoever_is_there_uses_partitions_that_are_added_later(broker, client, topic, ask):
    assert ask("PUT", topic, value=2) is None
    async with Client(broker.service_url, partitions_refresh_s=0.1) as ours:
        consumer = await ours.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
        producer = await ours.create_producer(topic, batching=False)
        assert ask("PUT", topic, "subscription/other", "earliest") is None
        assert ask("POST", topic, value=5) is None
        await until(lambda: producer.partitions == 5, timeout_s=20)
        for number in range(10):
            await producer.send(b"%d" % number)
        received = [await consumer.receive(10) for _ in range(10)]
        assert {message.message_id.partition for message in received} == set(range(5))
    assert sorted(ask("GET", f"{topic}-partition-4", "subscriptions")) == ["other", "s"]
    # The subscription that the first one has is on the new ones from their beginning.
    theirs = client.subscribe(topic, "other")
    messages = receive_all(theirs, 10)
    assert {message.message_id().partition() for message in messages} == set(range(5))


def test_what_cannot_be_is_refused(topic, ask):
    assert ask("PUT", topic, value=7) == 406
    assert ask("PUT", topic, value=0) == 406
    assert ask("PUT", topic, value=4) is None
    assert ask("PUT", topic, value=4) == 409
    assert ask("POST", topic, value=3) == 422
    assert ask("POST", topic, value=7) == 422
    assert ask("GET", topic) == {"partitions": 4, "deleted": False}


def test_partitions_that_were_deleted_are_made_again_or_all_are_gone(client, topic, ask):
    assert ask("PUT", topic, value=3) is None
    assert ask("DELETE", f"{topic}-partition-1", "") is None
    stats = f"{topic}-partition-1"
    assert ask("GET", stats, "stats") == 404
    assert ask("POST", topic, "createMissedPartitions") is None
    assert ask("GET", stats, "stats")["msgInCounter"] == 0
    producer = client.create_producer(topic)
    assert ask("DELETE", topic) == 412
    producer.close()
    assert ask("DELETE", topic) is None
    assert ask("POST", topic, "createMissedPartitions") == 404
    assert ask("GET", stats, "stats") == 404
