"""Policies of topics as events in ``__change_events``: brokers over shared stores."""

import asyncio
import json
from contextlib import ExitStack, suppress
from functools import partial
from operator import eq
from random import Random
from urllib.error import HTTPError
from urllib.request import urlopen

import pulsar
import pytest
from cluster.conftest import two_brokers
from support.admin import ask
from support.elsewhere import until_elsewhere, wait_until

from magnetar import Client
from magnetar.broker.change_events.definition import EVENT_SCHEMA
from magnetar.broker.change_events.event import EventKey, EventMessage
from magnetar.broker.change_events.event_value import decode, encode
from magnetar.broker.cluster.publishing import publish_to
from magnetar.clock import SystemClock
from magnetar.errors import NotOwner, NotReady, TopicClosed
from magnetar.message.entry import split
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_values import RetentionPolicies
from magnetar.model.position import EARLIEST
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.model.system_topics import change_events
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata.memory import MemoryTree
from magnetar.testing.processes import BrokerProcess

DEFAULT = NamespaceName("public", "default")
EVENTS = change_events(DEFAULT)
EVENTS_PATH = "persistent/public/default/__change_events/policyEvents"
PATH = "persistent/public/default/t"
TOPIC = TopicName.parse("persistent://public/default/t")
HERE = EventKey(TopicName.parse("persistent://public/default/t"), is_global=False)


brokers = partial(two_brokers, change_events=True)


async def asked(broker, method, path, value=None):
    return await asyncio.to_thread(ask, broker, method, path, value)


def owner_of(pair, name):
    """The broker that has opened a topic, and the one that has not."""
    here, there = pair.brokers
    return (here, there) if name in here.broker.registry.loaded else (there, here)


def limits_producers(topic, number):
    return topic.policies.producers_per_topic_max == number


async def events_of(broker):
    """The events of the namespace, by their keys."""
    shown = await asked(broker, "GET", EVENTS_PATH)
    return {each["key"]: each["policies"] for each in shown["events"]}


async def test_what_one_broker_is_told_the_others_know_and_apply():
    async with brokers() as pair:
        here, there = pair.brokers
        await asked(here, "PUT", PATH)
        opened, _ = owner_of(pair, TOPIC)
        topic = opened.broker.registry.loaded[TOPIC]
        for number, broker in enumerate([here, there, here], start=3):
            await asked(broker, "POST", f"{PATH}/maxProducers", number)
            await until_elsewhere(partial(limits_producers, topic, number), "not applied")
            for each in (here, there):
                assert await asked(each, "GET", f"{PATH}/maxProducers") == number
        assert await asked(there, "GET", f"{PATH}/retention") is None
        await asked(there, "DELETE", f"{PATH}/maxProducers")
        await until_elsewhere(lambda: not topic.policies.producers_per_topic_max, "still applied")


async def test_those_of_all_clusters_are_weaker_and_apart():
    async with brokers(count=1) as pair:
        (broker,) = pair.brokers
        await asked(broker, "PUT", PATH)
        await asked(broker, "POST", f"{PATH}/messageTTL?messageTTL=10&isGlobal=true")
        assert await asked(broker, "GET", f"{PATH}/messageTTL?applied=true") == 10
        await asked(broker, "POST", f"{PATH}/messageTTL?messageTTL=20")
        assert await asked(broker, "GET", f"{PATH}/messageTTL?applied=true") == 20
        assert await asked(broker, "GET", f"{PATH}/messageTTL?isGlobal=true") == 10
        events = await events_of(broker)
        assert {key: each["isGlobal"] for key, each in events.items()} == {
            f"__G__{TOPIC}": True,
            str(TOPIC): False,
        }


async def test_they_hold_when_a_topic_is_opened_before_anything_is_answered():
    stores = MemoryTree(), MemoryLedgerStore()
    async with brokers(count=1, over=stores) as pair:
        await asked(pair.brokers[0], "PUT", PATH)
        await asked(pair.brokers[0], "POST", f"{PATH}/maxProducers", 1)
    async with brokers(over=stores) as pair, Client(pair.brokers[0].service_url) as client:
        assert not pair.registries[0].loaded
        await client.create_producer(str(TOPIC))
        with pytest.raises(Exception, match="max producers"):
            await client.create_producer(str(TOPIC))


async def test_a_namespace_without_policies_of_topics_has_no_topic_for_them():
    async with brokers() as pair, Client(pair.brokers[0].service_url) as client:
        producer = await client.create_producer(str(TOPIC))
        await producer.send(b"one")
        assert await asked(pair.brokers[1], "GET", f"{PATH}/retention") is None
        listed = await asked(
            pair.brokers[0], "GET", "persistent/public/default?includeSystemTopic=true"
        )
        assert listed == [str(TOPIC)]


async def test_of_changes_at_once_none_is_lost():
    async with brokers() as pair:
        await asked(pair.brokers[0], "PUT", PATH)
        changes = {
            "maxProducers": 3,
            "maxConsumers": 4,
            "maxUnackedMessagesOnConsumer": 5,
            "maxSubscriptionsPerTopic": 6,
            "deduplicationEnabled": True,
            "compactionThreshold": 7,
            "maxMessageSize": 800,
            "deduplicationSnapshotInterval": 9,
        }
        await asyncio.gather(
            *(
                asked(pair.brokers[index % 2], "POST", f"{PATH}/{name}", value)
                for index, (name, value) in enumerate(changes.items())
            )
        )
        for broker in pair.brokers:
            for name, value in changes.items():
                assert await asked(broker, "GET", f"{PATH}/{name}") == value


async def test_they_stay_when_their_topic_is_compacted_and_moves():
    async with brokers() as pair:
        here, there = pair.brokers
        for local in ("a", "b", "t"):
            await asked(here, "PUT", f"persistent/public/default/{local}")
            await asked(there, "POST", f"persistent/public/default/{local}/maxProducers", 5)
            await asked(here, "POST", f"persistent/public/default/{local}/maxProducers", 6)
        await asked(here, "DELETE", "persistent/public/default/b")
        owner, other = owner_of(pair, EVENTS)
        topic = owner.broker.registry.loaded[EVENTS]
        topic.compact()
        await until_elsewhere(lambda: topic.compaction.succeeded_count, "not compacted")
        await asked(here, "POST", f"{PATH}/maxConsumers", 7)
        bundle = await owner.broker.registry._resources.bundle(EVENTS)
        await owner.broker.registry.unload_bundle(bundle, other.broker.address)
        events = await events_of(other)
        assert owner_of(pair, EVENTS) == (other, owner)
        assert {key: each.get("maxProducerPerTopic") for key, each in events.items()} == {
            "persistent://public/default/a": 6,
            str(TOPIC): 6,
        }
        await asked(owner, "POST", f"{PATH}/maxProducers", 8)
        for broker in pair.brokers:
            assert await asked(broker, "GET", f"{PATH}/maxProducers") == 8
            assert await asked(broker, "GET", f"{PATH}/maxConsumers") == 7


async def test_what_was_appended_and_not_told_is_told_by_the_next_owner():
    """As where a broker dies in between."""
    async with brokers() as pair:
        await asked(pair.brokers[0], "PUT", PATH)
        await asked(pair.brokers[0], "POST", f"{PATH}/maxProducers", 5)
        for broker in pair.brokers:
            assert await asked(broker, "GET", f"{PATH}/maxProducers") == 5
        owner, other = owner_of(pair, EVENTS)
        events = owner.broker.registry.loaded[EVENTS]
        policies = {"maxProducerPerTopic": 6}
        message = EventMessage(HERE, encode(EVENT_SCHEMA, HERE, policies, "standalone"), "")
        await publish_to(events, SystemClock(), [(message, b"\0" * 8)])
        assert await asked(other, "GET", f"{PATH}/maxProducers") == 5
        bundle = await owner.broker.registry._resources.bundle(EVENTS)
        await owner.broker.registry.unload_bundle(bundle, other.broker.address)
        await events_of(owner)
        topic = owner_of(pair, TOPIC)[0].broker.registry.loaded[TOPIC]
        await until_elsewhere(partial(limits_producers, topic, 6), "not applied")
        for broker in pair.brokers:
            assert await asked(broker, "GET", f"{PATH}/maxProducers") == 6


async def test_a_topic_that_is_deleted_has_none_when_it_is_made_again():
    async with brokers() as pair:
        here, there = pair.brokers
        await asked(here, "PUT", PATH)
        await asked(here, "PUT", "non-persistent/public/default/n")
        await asked(here, "PUT", "persistent/public/default/p/partitions", 2)
        for path in (PATH, "non-persistent/public/default/n", "persistent/public/default/p"):
            await asked(here, "POST", f"{path}/maxProducers", 5)
            await asked(there, "POST", f"{path}/maxProducers?isGlobal=true", 6)
        assert len(await events_of(here)) == 6
        await asked(there, "DELETE", PATH)
        await asked(here, "DELETE", "non-persistent/public/default/n")
        await asked(there, "DELETE", "persistent/public/default/p/partitions")
        assert await events_of(there) == {}
        await asked(here, "PUT", PATH)
        for broker in pair.brokers:
            assert await asked(broker, "GET", f"{PATH}/maxProducers") is None


@pytest.mark.parametrize("force", [False, True])
async def test_a_namespace_is_deleted_with_its_events(force):
    async with brokers(forceDeleteNamespaceAllowed=True) as pair:
        here, there = pair.brokers
        await asked(here, "PUT", "namespaces/public/other", {"bundles": {"numBundles": 4}})
        path = "persistent/public/other/t"
        await asked(there, "PUT", path)
        await asked(here, "POST", f"{path}/maxProducers", 5)
        if not force:
            with pytest.raises(HTTPError, match="409"):
                await asked(here, "DELETE", "namespaces/public/other")
            assert await asked(there, "GET", f"{path}/maxProducers") == 5
            await asked(there, "DELETE", path)
        await asked(here, "DELETE", f"namespaces/public/other?force={str(force).lower()}")
        await asked(there, "PUT", "namespaces/public/other")
        await asked(there, "PUT", path)
        for broker in pair.brokers:
            assert await asked(broker, "GET", f"{path}/maxProducers") is None
        listed = await asked(here, "GET", "persistent/public/other?includeSystemTopic=true")
        assert listed == ["persistent://public/other/t"]


async def test_what_nobody_here_knows_of_stays():
    """A later Pulsar has a policy more, in a later version of the schema."""
    later = json.loads(EVENT_SCHEMA.data)
    event = next(each for each in later["fields"] if each["name"] == "topicPoliciesEvent")
    policies = next(each for each in event["type"][1]["fields"] if each["name"] == "policies")
    policies["type"][1]["fields"].append(
        {"name": "newOne", "type": ["null", "string"], "default": None}
    )
    schema = SchemaInfo(SchemaType.AVRO, json.dumps(later).encode())
    async with brokers(count=1) as pair:
        (broker,) = pair.brokers
        await asked(broker, "PUT", PATH)
        await asked(broker, "PUT", "persistent/public/default/u")
        await asked(broker, "POST", "persistent/public/default/u/maxProducers", 4)
        await asked(
            broker,
            "POST",
            "schemas/public/default/__change_events/schema",
            {"type": "AVRO", "schema": schema.data.decode(), "properties": {}},
        )
        await asked(
            broker,
            "POST",
            EVENTS_PATH,
            {
                "key": str(HERE),
                "policies": {"newOne": "new", "maxConsumerPerTopic": 3},
                "insteadOf": None,
            },
        )
        await asked(broker, "POST", f"{PATH}/maxProducers", 5)
        await asked(broker, "DELETE", f"{PATH}/maxConsumers")
        kept = (await events_of(broker))[str(HERE)]
        assert {key: each for key, each in kept.items() if each not in ({}, [])} == {
            "isGlobal": False,
            "maxProducerPerTopic": 5,
            "newOne": "new",
        }


async def test_events_of_a_partitioned_topic_are_in_its_partitions():
    """As where a cluster of Pulsar made all topics partitioned."""
    async with brokers() as pair:
        here, there = pair.brokers
        await pair.registries[0]._resources.create_partitioned_topic(EVENTS, 3)
        for local in "abcdef":
            path = f"persistent/public/default/{local}"
            await asked(here, "PUT", path)
            await asked(there, "POST", f"{path}/maxProducers", 5)
        for local in "abcdef":
            path = f"persistent/public/default/{local}"
            assert await asked(here, "GET", f"{path}/maxProducers") == 5
            await asked(here, "DELETE", path)
        listed = await asked(here, "GET", "persistent/public/default?includeSystemTopic=true")
        assert set(listed) == {str(EVENTS.partition(index)) for index in range(3)}


async def test_its_topic_keeps_all_whatever_the_namespace_says():
    async with brokers(count=1) as pair:
        (broker,) = pair.brokers
        await asked(broker, "PUT", PATH)
        await asked(broker, "POST", f"{PATH}/maxProducers", 5)
        topic = broker.broker.registry.loaded[EVENTS]
        await asked(broker, "POST", "namespaces/public/default/messageTTL", 1)
        await asked(broker, "POST", "namespaces/public/default/maxProducersPerTopic", 1)
        await until_elsewhere(lambda: topic.policies.message_ttl_s == 0, "it expires")
        assert topic.policies.retention == RetentionPolicies(-1, -1)
        assert not topic.policies.producers_per_topic_max
        assert topic.unused_max_s is None
        ttl = await asked(broker, "GET", f"{PATH}/messageTTL?applied=true")
        assert ttl == 1


async def test_brokers_alone_ask_for_events():
    async with brokers(count=1) as pair:
        (broker,) = pair.brokers
        await asked(broker, "PUT", PATH)
        with pytest.raises(HTTPError, match="405"):
            await asked(broker, "GET", f"{PATH}/policyEvents")
        with pytest.raises(HTTPError, match="400"):
            await asked(broker, "POST", EVENTS_PATH, {})
        wrong = {"key": str(HERE), "policies": [], "insteadOf": None}
        with pytest.raises(HTTPError, match="400"):
            await asked(broker, "POST", EVENTS_PATH, wrong)
        assert await events_of(broker) == {}
        await asked(broker, "POST", f"{PATH}/maxProducers", 5)
        path = f"{EVENTS_PATH}?after="
        with pytest.raises(HTTPError, match="400"):
            await asked(broker, "GET", f"{path}x")
        assert (await asked(broker, "GET", f"{path}-1:-1"))["whole"]
        last = (await asked(broker, "GET", f"{path}-1:-1"))["last"]
        assert (await asked(broker, "GET", f"{path}{last[0]}:{last[1]}"))["events"] == []


async def test_an_event_is_a_message_as_pulsar_writes_it():
    async with brokers(count=1) as pair:
        (broker,) = pair.brokers
        await asked(broker, "PUT", PATH)
        await asked(broker, "POST", f"{PATH}/delayedDelivery", {"active": True, "tickTime": 9})
        topic = broker.broker.registry.loaded[EVENTS]
        run = await topic.log.read(EARLIEST, 10, 10_000)
        _, payload = split(run.data[0])
        found = decode(EVENT_SCHEMA, bytes(payload))
        assert found["delayedDeliveryTickTimeMillis"] == 9
        assert found["subscriptionPolicies"] == {}


async def test_a_bundle_is_unloaded_while_a_topic_in_it_waits_for_its_policies():
    """The topic of events is in the same bundle: none of the three may wait for the others."""
    async with brokers(count=1) as pair:
        (broker,), (registry,) = pair.brokers, pair.registries
        await asked(broker, "PUT", "namespaces/public/one", {"bundles": {"numBundles": 1}})
        topic = TopicName.parse("persistent://public/one/t")
        await asked(broker, "PUT", "persistent/public/one/t")
        await asked(broker, "POST", "persistent/public/one/t/maxProducers", 5)
        (bundle,) = [each for each in registry.ownership.bundles if each.holds(topic)]
        for pauses in range(20):
            await registry.unload_bundle(bundle)
            registry._policies._known.clear()
            registry._policies._of_topics._known.clear()
            await registry.serve(topic)
            opening = asyncio.ensure_future(registry.get(topic, create=False))
            for _ in range(pauses):
                await asyncio.sleep(0)
            await asyncio.wait_for(registry.unload_bundle(bundle), 5)
            with suppress(NotOwner, NotReady, TopicClosed):
                await asyncio.wait_for(opening, 5)
            await registry.serve(topic)
            opened = await asyncio.wait_for(registry.get(topic, create=False), 5)
            assert opened.policies.producers_per_topic_max == 5


async def test_changes_hold_while_bundles_move():
    random, names = Random(7), "abcdef"
    async with brokers() as pair:
        for name in names:
            await asked(pair.brokers[0], "PUT", f"persistent/public/default/{name}")
        moving = asyncio.ensure_future(keep_moving(pair, random))

        async def change(name):
            for number in range(1, 21):
                path = f"persistent/public/default/{name}/maxProducers"
                await again(random.choice(pair.brokers), "POST", path, number)
                path = f"persistent/public/default/{name}/maxConsumers?isGlobal=true"
                await again(random.choice(pair.brokers), "POST", path, number)

        await asyncio.gather(*map(change, names))
        moving.cancel()
        with suppress(asyncio.CancelledError):
            await moving
        assert pair.moves
        for name in names:
            for broker in pair.brokers:
                path = f"persistent/public/default/{name}"
                assert await asked(broker, "GET", f"{path}/maxProducers") == 20
                assert await asked(broker, "GET", f"{path}/maxConsumers?isGlobal=true") == 20
                client = Client(broker.service_url)
                async with client:
                    await client.create_producer(path.replace("/", "://", 1))
        for registry in pair.registries:
            for name, topic in registry.loaded.items():
                if name != EVENTS:
                    await until_elsewhere(partial(limits_producers, topic, 20), "not applied")


async def again(broker, method, path, value):
    """Ask until it is answered; what moves just now is said to be not ready."""
    while True:
        try:
            return await asked(broker, method, path, value)
        except HTTPError as error:
            if error.code != 503:
                raise


async def keep_moving(pair, random):
    while True:
        await pair.move_one(random)
        await asyncio.sleep(0.02)


async def test_who_serves_the_events_may_go():
    async with brokers() as pair:
        await asked(pair.brokers[0], "PUT", PATH)
        await asked(pair.brokers[0], "POST", f"{PATH}/maxProducers", 5)
        owner, other = owner_of(pair, EVENTS)
        await owner.broker.registry.close()
        await asked(other, "POST", f"{PATH}/maxConsumers", 6)
        assert await asked(other, "GET", f"{PATH}/maxProducers") == 5


@pytest.mark.slow
def test_brokers_on_a_real_cluster_know_the_same(cluster, tmp_path):
    settings = {
        "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/{tmp_path.name}",
        "bookkeeperMetadataServiceUri": f"zk+hierarchical://{cluster.zookeeper.address}/ledgers",
        "metadataStoreSessionTimeoutMillis": 4000,
    }
    with ExitStack() as stack:
        here, there = (
            stack.enter_context(BrokerProcess(tmp_path / name, settings=settings))
            for name in ("here", "there")
        )
        for local in "abcdefgh":  # In several bundles, and so at both brokers.
            path = f"persistent/public/default/{local}"
            ask(here, "PUT", path)
            ask(there, "POST", f"{path}/maxProducers", 1)
        client = pulsar.Client(here.service_url)
        stack.callback(client.close)
        for local in "abcdefgh":
            path = f"persistent/public/default/{local}/maxProducers"
            for broker in (here, there):
                wait_until(partial(ask, broker, "GET", path), "not known", met=partial(eq, 1))
            first = client.create_producer(f"public/default/{local}", "first")
            with pytest.raises(pulsar.PulsarException):
                client.create_producer(f"public/default/{local}", "second")
            first.close()
        lookup = f"{here.web_url}/lookup/v2/topic/persistent/public/default/__change_events"
        with urlopen(lookup, timeout=20) as answer:
            served = json.loads(answer.read())["brokerUrl"].rpartition(":")[2]
        left = [each for each in (here, there) if not each.service_url.endswith(f":{served}")]
        (left,), (killed,) = left, {here, there} - set(left)
        killed.kill()
        path = "persistent/public/default/a/maxProducers"
        wait_until(partial(changed_at, left, path), "no owner", timeout_s=30)
        assert ask(left, "GET", path) == 2


def changed_at(broker, path):
    """Whether a policy could be changed: not before the session of who was killed has ended."""
    try:
        ask(broker, "POST", path, 2)
    except HTTPError:
        return False
    return True
