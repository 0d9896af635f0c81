"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import aiohttp
import pytest

from magnetar import Client
from magnetar.model.bundles import hash_of
from magnetar.model.names import TopicName
from magnetar.model.stats import SubscriptionStats, TopicStats
from magnetar.testing.local_broker import LocalBroker

ONE = "/admin/v2/namespaces/public/n"
ALL = "persistent://public/n"


@pytest.fixture
async def topics(world):
    """A namespace of one bundle, with six topics that somebody looked up."""
    await world.ask("PUT", ONE, {"bundles": {"numBundles": 1}})
    names = [TopicName.parse(f"{ALL}/{local}") for local in "abcdef"]
    for name in names:
        await world.topic(str(name))
        await world.ask("GET", f"/lookup/v2/topic/persistent/public/n/{name.local}")
    return sorted(names, key=hash_of)


async def bundle_of(world, name):
    return (
        await world.ask("GET", f"/lookup/v2/topic/persistent/public/n/{name.local}/bundle")
    ).text


async def positions(world, bundle):
    found = await world.ask("GET", f"{ONE}/{bundle}/topicHashPositions")
    return found.json["topicHashPositions"] if found.status == 200 else found.status


async def test_a_bundle_is_split_between_its_topics(world, topics):
    path = f"{ONE}/0x00000000_0xffffffff/split?splitAlgorithmName=topic_count_equally_divide"
    assert (await world.ask("PUT", path)).status == 204
    found = [await bundle_of(world, name) for name in topics]
    low, high = dict.fromkeys(found)
    assert found == [low] * 3 + [high] * 3
    assert await positions(world, low) == {str(name): hash_of(name) for name in topics[:3]}
    assert (await world.ask("GET", f"{ONE}/bundles")).json["numBundles"] == 2


async def test_a_bundle_is_split_at_places(world, topics):
    path = f"{ONE}/0x00000000_0xffffffff/split?splitAlgorithmName=specified_positions_divide"
    places = [hash_of(topics[2]), hash_of(topics[4]), 2**40]
    assert (await world.ask("PUT", path, places)).status == 204
    found = [await bundle_of(world, name) for name in topics]
    assert [found.count(each) for each in dict.fromkeys(found)] == [2, 2, 2]
    assert (await world.ask("PUT", path.replace("0xffffffff", "0xfffffffe"), places)).status == 412


async def test_a_bundle_is_split_by_the_traffic_of_its_topics(world, topics):
    path = f"{ONE}/0x00000000_0xffffffff/split?splitAlgorithmName=flow_or_qps_equally_divide"
    assert (await world.ask("PUT", path)).status == 204
    assert (await world.ask("GET", f"{ONE}/bundles")).json["numBundles"] == 1, "there is no traffic"
    read = SubscriptionStats(msg_out_counter=600)
    busy = TopicStats(msg_in_counter=600, subscriptions={"s": read})
    for name, stats in zip(topics, [busy, *[TopicStats(msg_in_counter=240)] * 5], strict=True):
        world.admin.topics.rates.tick(str(name), TopicStats(), 0.0)
        world.admin.topics.rates.tick(str(name), stats, 60.0)
    assert (await world.ask("PUT", path)).status == 204
    found = [await bundle_of(world, name) for name in topics]
    low, high = dict.fromkeys(found)
    assert found == [low] + [high] * 5


async def test_a_split_with_unload_closes_the_topics(world, topics):
    path = f"{ONE}/0x00000000_0xffffffff/split?unload=true"
    assert (await world.ask("PUT", path)).status == 204
    assert not world.registry.loaded
    assert await positions(world, "0x00000000_0x80000000") == 412
    await world.ask("GET", f"/lookup/v2/topic/persistent/public/n/{topics[0].local}")
    assert str(topics[0]) in await positions(world, "0x00000000_0x80000000")


@pytest.mark.parametrize(
    ("algorithm", "body", "words"),
    [
        ("specified_positions_divide", None, "Say where to split"),
        ("specified_positions_divide", [], "Say where to split"),
    ],
)
@pytest.mark.usefixtures("topics")
async def test_what_cannot_be_split_so_is_refused_by_name(world, algorithm, body, words):
    path = f"{ONE}/0x00000000_0xffffffff/split?splitAlgorithmName={algorithm}"
    refused = await world.ask("PUT", path, body)
    assert (refused.status, words in refused.reason) == (412, True)


async def test_a_bundle_is_unloaded_alone(world, topics):
    await world.ask("PUT", f"{ONE}/0x00000000_0xffffffff/split")
    low, high = await bundle_of(world, topics[0]), await bundle_of(world, topics[-1])
    kept = set(map(TopicName.parse, await positions(world, high)))
    assert (await world.ask("PUT", f"{ONE}/{low}/unload")).status == 204
    assert set(world.registry.loaded) == kept
    elsewhere = await world.ask("PUT", f"{ONE}/{high}/unload?destinationBroker=there:8080")
    assert (elsewhere.status, "there:8080" in elsewhere.reason) == (404, True)
    assert (await world.ask("PUT", f"{ONE}/unload")).status == 204
    assert not world.registry.loaded


async def test_only_an_empty_bundle_is_deleted(world, topics):
    refused = await world.ask("DELETE", f"{ONE}/0x00000000_0xffffffff")
    assert (refused.status, refused.reason) == (409, "Cannot delete non empty bundle")
    for name in topics:
        await world.ask("DELETE", f"/admin/v2/persistent/public/n/{name.local}")
    assert (await world.ask("DELETE", f"{ONE}/0x00000000_0xffffffff")).status == 204
    assert await positions(world, "0x00000000_0xffffffff") == 412


async def test_the_places_of_some_topics_are_shown(world, topics):
    path = f"{ONE}/0x00000000_0xffffffff/topicHashPositions?topics="
    found = await world.ask("GET", path + f"{topics[0]},{topics[1]}")
    assert list(found.json["topicHashPositions"]) == sorted(map(str, topics[:2]))
    assert (await world.ask("GET", path + "nowhere://x")).status == 412


async def test_clients_go_on_over_a_split_that_unloads():
    async with LocalBroker() as broker, Client(broker.service_url) as client:
        topic = "persistent://public/default/t"
        consumer = await client.subscribe(topic, "s")
        producer = await client.create_producer(topic)
        await producer.send(b"before")
        where = f"{broker.web_url}/admin/v2/namespaces/public/default"
        headers = {"Content-Type": "application/json"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for bundle in (await (await session.get(f"{where}/bundles")).json())["boundaries"][:-1]:
                high = f"0x{min(int(bundle, 16) + 2**30, 2**32 - 1):08x}"
                path = f"{where}/{bundle}_{high}/split?unload=true"
                assert (await session.put(path)).status == 204
            found = await (await session.get(f"{where}/bundles")).json()
        assert found["numBundles"] == 8
        await producer.send(b"after")
        assert [(await consumer.receive()).data for _ in range(2)] == [b"before", b"after"]
