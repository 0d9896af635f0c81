"""Failover for the official client: which consumer is served, and who takes over."""

import pulsar
import pytest
from compatibility.conftest import open_client, receive_all, stats
from compatibility.test_produce_consume import make_partitioned
from pulsar import ConsumerType

from magnetar import Client, SubscriptionType
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.compatibility

PARTITIONS = 6
SETTINGS = {"activeConsumerFailoverDelayTimeMillis": 100}
JOINED = SETTINGS | {
    "activeConsumerFailoverOrder": "joined",
    "subscriptionTypesEnabled": "Failover,Key_Shared",
    "subscriptionKeySharedEnable": False,
}


def broker_with(settings, tmp_path_factory):
    return BrokerProcess(tmp_path_factory.mktemp("broker") / "data", settings=settings)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with broker_with(SETTINGS, tmp_path_factory) as broker:
        yield broker


@pytest.fixture(scope="module")
def other_broker(tmp_path_factory):
    with broker_with(JOINED, tmp_path_factory) as broker:
        yield broker


@pytest.fixture
def other_client(other_broker):
    client = open_client(other_broker.service_url)
    yield client
    client.close()


def subscribe(client, topic, name):
    return client.subscribe(topic, "s", consumer_type=ConsumerType.Failover, consumer_name=name)


def active(broker, topic):
    return stats(broker, topic)["subscriptions"]["s"]["activeConsumerName"]


def data(messages):
    return [message.data() for message in messages]


def test_partitions_spread_evenly_over_consumers_and_move_when_one_leaves(broker, client, topic):
    make_partitioned(broker, topic, PARTITIONS)
    partitions = [f"{topic}-partition-{index}" for index in range(PARTITIONS)]
    producers = [client.create_producer(each) for each in partitions]
    members = {name: subscribe(client, topic, name) for name in ("ca", "cb", "cc")}

    def served(names):
        """Each partition is served by the consumer of its index, and by nobody else."""
        chosen = [names[index % len(names)] for index in range(PARTITIONS)]
        assert [active(broker, each) for each in partitions] == chosen
        for index, producer in enumerate(producers):
            producer.send(b"%d" % index)
        for name in names:
            its = [b"%d" % index for index in range(PARTITIONS) if chosen[index] == name]
            assert sorted(data(receive_all(members[name], len(its)))) == its

    served(["ca", "cb", "cc"])
    members.pop("ca").close()
    served(["cb", "cc"])


def test_the_next_consumer_goes_on_at_the_first_message_not_acknowledged(broker, client, topic):
    names = ["b", "m", "z"]
    members = {name: subscribe(client, topic, name) for name in names}
    producer = client.create_producer(topic)
    for number in range(10):
        producer.send(b"%d" % number)
    first = active(broker, topic)
    got = [members[first].receive(20_000) for _ in range(10)]
    members[first].acknowledge_cumulative(got[3])
    members.pop(first).close()
    following = active(broker, topic)
    assert following in members
    assert data(receive_all(members[following], 6)) == data(got[4:])


async def test_a_better_priority_takes_over_and_a_worse_one_stands_by(broker, topic):
    async with Client(broker.service_url) as client:
        producer = await client.create_producer(topic)

        async def join(name, level):
            return await client.subscribe(
                topic, "s", type=SubscriptionType.FAILOVER, name=name, priority_level=level
            )

        worse = await join("worse", 2)
        await producer.send(b"0")
        assert (await worse.receive()).data == b"0"
        better = await join("better", 1)
        await join("worst", 3)
        assert active(broker, topic) == "better"
        assert (await better.receive()).data == b"0"  # It was not acknowledged.
        await better.close()
        assert active(broker, topic) == "worse"
        assert (await worse.receive()).data == b"0"


def test_who_subscribed_first_is_served_where_that_is_asked_for(other_broker, other_client, topic):
    members = {name: subscribe(other_client, topic, name) for name in ("z", "b", "m")}
    producer = other_client.create_producer(topic)
    for number, name in enumerate(["z", "b", "m"]):
        assert active(other_broker, topic) == name
        producer.send(b"%d" % number)
        assert data(receive_all(members[name], 1)) == [b"%d" % number]
        members.pop(name).close()


@pytest.mark.parametrize(
    "kind", [ConsumerType.Exclusive, ConsumerType.Shared, ConsumerType.KeyShared]
)
def test_a_broker_serves_the_types_that_it_is_told_to(other_broker, other_client, topic, kind):
    with pytest.raises(pulsar.NotAllowedError):
        other_client.subscribe(topic, "s", consumer_type=kind)
    assert stats(other_broker, topic)["subscriptions"] == {}
