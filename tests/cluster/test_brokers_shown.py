"""What an administrator sees of several brokers, and does with one of them."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pulsar
from cluster.conftest import two_brokers

from magnetar import Client
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.system_topics import heartbeat
from magnetar.storage.metadata import paths

NAMESPACE = NamespaceName("public", "default")
ALL = "/admin/v2/magnetar/brokers"
BALANCED = {"loadBalancerEnabled": True, "loadBalancerHostUsageCheckIntervalMinutes": 0.003}


@asynccontextmanager
async def asked(count=2, **settings):
    """Brokers, and what asks the first, or another, of them."""
    async with (
        two_brokers(count=count, **BALANCED, **settings) as pair,
        aiohttp.ClientSession() as web,
    ):

        async def ask(path, method="GET", *, at=0, here=False):
            headers = {"Content-Type": "application/json"}
            headers |= {"X-Magnetar-Answer-Here": "true"} if here else {}
            url = pair.brokers[at].web_url + path
            async with web.request(method, url, headers=headers, allow_redirects=not here) as reply:
                text = await reply.text()
                return reply.status, json.loads(text) if text[:1] in "[{" and text else text

        yield pair, ask


def named(pair, number):
    return pair.brokers[number].broker.address.name


async def test_each_broker_says_what_it_carries_and_why():
    async with asked() as (pair, ask):
        bundles = (await pair.registries[0]._resources.require_namespace(NAMESPACE)).bundles
        mine, other, *_ = bundles.of(NAMESPACE)
        for bundle in (mine, other):
            for each in pair.registries:
                await each.ownership.acquire(bundle)
        status, found = await ask(ALL, at=1)
        assert status == 200
        assert sorted(each["broker"] for each in found) == sorted(
            named(pair, each) for each in (0, 1)
        )
        assert sum(each["leader"] for each in found) == 1
        shown = {each["bundle"]: (one["broker"], each) for one in found for each in one["bundles"]}
        for bundle in (mine, other):
            owner = await pair.registries[0].ownership.owner(bundle)
            assert shown[str(bundle)][0] == owner.name
        for _, each in shown.values():
            assert each["state"] == "owned"
            assert each["since"] > 0
            assert each["why"].startswith(("no broker served it", "a note named it"))
            assert each["topics"] == 0


async def test_a_broker_hands_everything_over_and_takes_nothing_any_more():
    async with asked() as (pair, ask):
        client = pulsar.Client(pair.brokers[1].service_url)
        send = asyncio.get_running_loop().run_in_executor
        producer = await send(None, client.create_producer, "t")
        await send(None, producer.send, b"1")
        serving = next(each for each in (0, 1) if pair.registries[each].loaded)
        broker = named(pair, serving)
        assert (await ask(f"{ALL}/{broker}/drain", "POST", at=1 - serving))[0] == 204
        assert pair.registries[serving].loaded == {}
        await send(None, producer.send, b"2")
        assert len(pair.registries[1 - serving].loaded) == 1
        assert (await ask("/admin/v2/brokers"))[1] == [named(pair, 1 - serving)]
        last = f"{ALL}/{named(pair, 1 - serving)}/drain"
        status, said = await ask(last, "POST", at=1 - serving)
        assert (status, "no other broker" in said["reason"]) == (412, True)
        await send(None, client.close)


async def test_a_page_is_answered_by_the_broker_that_it_came_from():
    async with asked() as (pair, ask):
        path = f"{ALL}/{named(pair, 1)}"
        assert (await ask(path, here=True))[1]["broker"] == named(pair, 1)
        topic = TopicName.parse("persistent://public/default/t")
        bundle = await pair.registries[1]._resources.bundle(topic)
        await pair.registries[0].unload_bundle(bundle, pair.registries[1].ownership.own)
        while (
            await pair.registries[1].ownership.acquire(bundle)
            is not pair.registries[1].ownership.own
        ):
            await pair.registries[0].ownership.acquire(bundle)
            await pair.registries[0].unload_bundle(bundle, pair.registries[1].ownership.own)
        await pair.registries[1].create(topic)
        stats = "/admin/v2/persistent/public/default/t/stats"
        assert (await ask(stats))[1]["subscriptions"] == {}, "who can be sent there is"
        status, said = await ask(stats, here=True)
        assert (status, said["subscriptions"]) == (200, {})


async def test_health_is_a_message_through_a_topic_that_no_other_broker_serves():
    async with asked() as (pair, ask):
        for number in (0, 1):
            assert await ask(f"/admin/v2/brokers/health?brokerId={named(pair, number)}") == (
                200,
                "ok",
            )
            topic = heartbeat(named(pair, number))
            assert topic in pair.registries[number].loaded
            assert topic not in pair.registries[1 - number].loaded
        assert (await ask("/admin/v2/brokers/health?brokerId=nobody:1"))[0] == 404
        # Whoever is asked for it first, it goes to its broker.
        bundle = await pair.registries[0]._resources.bundle(heartbeat(named(pair, 1)))
        await pair.registries[1].unload_bundle(bundle)
        owner = await pair.registries[0].ownership.acquire(bundle)
        assert owner.name == named(pair, 1)


async def test_bundles_say_which_isolation_policy_they_are_under():
    async with asked() as (pair, ask):
        resources = pair.registries[0]._resources
        cluster = (await resources.clusters())[0]
        policy = {
            "namespaces": ["public/.*"],
            "primary": [named(pair, 0)],
            "secondary": [],
            "auto_failover_policy": {
                "policy_type": "min_available",
                "parameters": {"min_limit": "1", "usage_threshold": "80"},
            },
        }
        await resources.objects.put(paths.isolation_policies(cluster), p=policy)
        bundle = (await resources.require_namespace(NAMESPACE)).bundles.of(NAMESPACE)[0]
        await pair.registries[1].ownership.acquire(bundle)
        path = f"/admin/v2/brokers/{cluster}/{named(pair, 0)}/ownedNamespaces"
        while str(bundle) not in (found := (await ask(path, at=1))[1]):
            await pair.registries[0].ownership.acquire(bundle)
        assert found[str(bundle)] == {
            "broker_assignment": "primary",
            "is_controlled": True,
            "is_active": True,
        }


async def test_a_subscription_is_stuck_while_its_bundle_is_unloaded_or_waits_for_a_broker():
    async with asked() as (pair, ask):
        topic = TopicName.parse("persistent://public/default/t")
        here = pair.registries[0]
        bundle = await here._resources.bundle(topic)
        path = "/admin/v2/persistent/public/default/t/subscription/s/diagnosis"
        closing, closed = asyncio.Event(), asyncio.Event()

        async def close(_bundle):
            closing.set()
            await closed.wait()

        owner = here if await served(here, bundle) else pair.registries[1]
        assert await served(owner, bundle)
        number = pair.registries.index(owner)
        other = pair.registries[1 - number].ownership.own
        unloading = asyncio.create_task(owner.ownership.unload(bundle, close, other))
        await closing.wait()
        [finding] = (await ask(path, at=number))[1]["findings"]
        assert finding["cause"] == "bundle-moves"
        unloads = f"The broker {named(pair, number)} unloads the bundle {bundle}; then {other.name}"
        assert finding["text"] == f"{unloads} serves it"
        closed.set()
        await unloading
        [finding] = (await ask(path, at=number))[1]["findings"]
        waits = f"Nobody serves the bundle {bundle}, which waits for the broker {other.name}"
        assert finding["text"] == waits


async def served(registry, bundle):
    """Whether a broker serves a bundle, once it was asked for it."""
    return await registry.ownership.acquire(bundle) is registry.ownership.own


async def test_the_bundle_with_most_topics_or_traffic_is_split_by_its_kind():
    async with asked() as (pair, ask):
        resources = pair.registries[0]._resources
        before = (await resources.require_namespace(NAMESPACE)).bundles
        path = "/admin/v2/namespaces/public/default/{}/split"
        status, said = await ask(path.format("LARGEST"), "PUT")
        assert (status, "no bundle with topics" in said["reason"]) == (404, True)
        names = [TopicName.parse(f"persistent://public/default/t{number}") for number in range(9)]
        largest = max(before.of(NAMESPACE), key=lambda each: sum(map(each.holds, names)))
        async with Client(pair.brokers[0].service_url) as client:
            for name in names:
                await client.create_producer(str(name))
            status, said = await ask(path.format("LARGEST"), "PUT")
            assert status == 204, said
            after = (await resources.require_namespace(NAMESPACE)).bundles
            assert largest not in after.of(NAMESPACE)
            hot = next(name for name in names if not largest.holds(name))
            async with await client.create_producer(str(hot)) as producer:
                status = 404  # No report has its traffic yet.
                while status == 404:
                    await producer.send(b"x" * 100_000)
                    status, said = await ask(path.format("HOT"), "PUT")
                assert status == 204, said
        last = (await resources.require_namespace(NAMESPACE)).bundles
        assert last.bundle_of(hot) not in after.of(NAMESPACE)
