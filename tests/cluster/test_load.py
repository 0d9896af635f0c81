"""Two brokers share their load: where a free bundle goes, and what leaves a busy one."""

import asyncio
import json
from dataclasses import replace

import aiohttp
import pytest
from cluster.conftest import two_brokers

from magnetar import Client
from magnetar.errors import NotOwner, NotReady
from magnetar.model.bundles import Bundles
from magnetar.model.names import NamespaceName, TopicName
from magnetar.storage.metadata import paths

SOON_MINUTES = 0.003
BALANCED = {
    "loadBalancerEnabled": True,
    "loadBalancerHostUsageCheckIntervalMinutes": SOON_MINUTES,
    "loadBalancerSheddingIntervalMinutes": SOON_MINUTES,
    "loadBalancerCPUResourceWeight": 0,
}


def topic(namespace, local="t"):
    return TopicName.parse(f"persistent://{namespace}/{local}")


async def owner_of(pair, name, asked=0):
    """The number of the broker that serves a topic, after one of them was asked for it."""
    try:
        await pair.registries[asked].serve(name)
    except NotOwner:
        await pair.registries[1 - asked].serve(name)
        return 1 - asked
    return asked


async def create(pair, *namespaces, bundles=4):
    resources = resources_of(pair)
    policies = await resources.namespace(NamespaceName("public", "default"))
    for each in namespaces:
        await resources.create_namespace(each, replace(policies, bundles=Bundles.even(bundles)))


def resources_of(pair):
    return pair.registries[0]._resources


def isolation(primary, namespaces, *, secondary=(), min_limit=1):
    parameters = {"min_limit": str(min_limit), "usage_threshold": "80"}
    return {
        "namespaces": namespaces,
        "primary": primary,
        "secondary": list(secondary),
        "auto_failover_policy": {"policy_type": "min_available", "parameters": parameters},
    }


async def isolate(pair, **policies):
    cluster = (await resources_of(pair).clusters())[0]
    await resources_of(pair).objects.put(paths.isolation_policies(cluster), **policies)


async def test_free_bundles_are_shared_out():
    async with two_brokers(**BALANCED) as pair:
        names = [NamespaceName("public", f"n{number}") for number in range(8)]
        await create(pair, *names)
        owners = [await owner_of(pair, topic(each)) for each in names]
        assert owners.count(0) == owners.count(1) == 4
        assert not pair.served_twice()


async def test_a_broker_that_has_just_begun_does_not_seem_overloaded():
    # Making a broker takes all of a core, for a moment that is no measure.
    settings = BALANCED | {"loadBalancerCPUResourceWeight": 1}
    settings["loadBalancerHostUsageCheckIntervalMinutes"] = 1
    async with two_brokers(**settings) as pair:
        for each in pair.brokers:
            path = paths.load_report(each.broker.address.name)
            report = await until_there(pair.sessions[0], path)
            assert report["cpu"]["usage"] == 0


async def until_there(metadata, path):
    """The record at a path, once it is written."""
    written = asyncio.Event()
    watch = metadata.watch(path, lambda _: written.set())
    record = await metadata.get(path)
    if record is None:
        await asyncio.wait_for(written.wait(), 20)
        record = await metadata.get(path)
    watch.cancel()
    return json.loads(record.value)


async def test_a_client_is_led_to_the_broker_that_a_policy_names():
    async with two_brokers(**BALANCED) as pair:
        mine, alone = NamespaceName("public", "mine"), NamespaceName("public", "other")
        await create(pair, mine, alone)
        second = pair.brokers[1].broker.address.name
        await isolate(pair, p=isolation([second], ["public/mine"]))
        async with Client(pair.brokers[0].service_url) as client:
            producer = await client.create_producer(str(topic(mine)))
            await producer.send(b"here")
        assert topic(mine) in pair.registries[1].loaded
        owners = {await owner_of(pair, topic(alone, str(number))) for number in range(8)}
        assert owners == {0}, "the second is for what the policy names alone"


async def test_a_bundle_that_is_unloaded_is_handed_to_another_broker():
    async with two_brokers(**BALANCED) as pair:
        name = topic("public/default")
        bundle = await resources_of(pair).bundle(name)
        owner = await owner_of(pair, name)
        for here in (owner, 1 - owner, owner):
            await pair.registries[here].unload_bundle(bundle)
            note = await pair.sessions[0].get(paths.transfer(bundle))
            assert str(pair.brokers[1 - here].port).encode() in note.value
            assert await owner_of(pair, name) == 1 - here


async def test_rather_nowhere_than_where_a_policy_forbids_it():
    async with two_brokers(**BALANCED) as pair:
        await isolate(pair, p=isolation(["nobody:1"], ["public/default"]))
        with pytest.raises(NotReady, match="isolation policies"):
            await pair.registries[0].serve(topic("public/default"))


async def test_namespaces_of_an_anti_affinity_group_are_at_different_brokers():
    async with two_brokers(**BALANCED) as pair:
        names = [NamespaceName("public", f"n{number}") for number in range(4)]
        await create(pair, *names, bundles=1)
        for each in names:
            where = paths.local_policies(each)
            await resources_of(pair).objects.put(where, namespaceAntiAffinityGroup="g")
        owners = [await owner_of(pair, topic(each), asked=1) for each in names]
        assert sorted(owners[:2]) == sorted(owners[2:]) == [0, 1]


async def test_what_a_broker_carries_is_shown():
    async with two_brokers(**BALANCED) as pair, aiohttp.ClientSession() as http:
        await owner_of(pair, topic("public/default"))
        async with asyncio.timeout(30):
            seen = set()
            while len(seen) < 1:
                for each in pair.brokers:
                    url = f"{each.web_url}/admin/v2/broker-stats/load-report"
                    async with http.get(url) as answer:
                        report = await answer.json()
                    assert report["cpu"]["limit"] == 100
                    seen |= set(report["bundles"])
        assert seen == {str(await resources_of(pair).bundle(topic("public/default")))}


async def test_a_bundle_that_has_too_much_is_split():
    settings = BALANCED | {"loadBalancerNamespaceBundleMaxTopics": 5}
    async with two_brokers(**settings) as pair:
        here = NamespaceName("public", "one")
        await create(pair, here, bundles=1)
        async with Client(pair.brokers[0].service_url) as client:
            for number in range(8):
                await client.create_producer(str(topic(here, str(number))))
            policies = await resources_of(pair).namespace(here)
            async with asyncio.timeout(30):
                while len(policies.bundles.boundaries) == 2:
                    await asyncio.sleep(0.05)
                    policies = await resources_of(pair).namespace(here)
        assert not pair.served_twice()


async def test_a_busy_broker_sheds_to_the_other():
    settings = BALANCED | {
        "loadBalancerOverrideBrokerNicSpeedGbps": 0.01,
        "loadBalancerBundleUnloadMinThroughputThreshold": 0,
        "loadBalancerHistoryResourcePercentage": 0,
    }
    async with two_brokers(**settings) as pair:
        names = [topic("public/default", str(number)) for number in range(8)]
        for each in names:
            await owner_of(pair, each)
        here, there = pair.registries
        for bundle in list(there.ownership.bundles):
            await there.unload_bundle(bundle, here.ownership.own)
        for each in names:
            await here.serve(each)
        assert not there.ownership.bundles
        async with Client(pair.brokers[0].service_url) as client:

            async def publish(name):
                producer = await client.create_producer(str(name))
                while not there.ownership.bundles:
                    await producer.send(bytes(5000))

            async with asyncio.timeout(30):
                await asyncio.gather(*map(publish, names))
        assert here.ownership.bundles
        assert not pair.served_twice()


async def test_a_broker_that_lost_its_record_serves_what_it_is_asked_for_if_it_is_alone():
    """Its session ended, and it registers again just now."""
    async with two_brokers(**BALANCED) as pair:
        name = NamespaceName("public", "n")
        await create(pair, name)
        for each in await pair.sessions[0].children(paths.BROKERS):
            await pair.sessions[0].delete(f"{paths.BROKERS}/{each}")
        (bundle, *_) = (await resources_of(pair).namespace(name)).bundles.of(name)
        manager = pair.registries[0].ownership._place
        assert await manager(bundle) == pair.brokers[0].broker.address
