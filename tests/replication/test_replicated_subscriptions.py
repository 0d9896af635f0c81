"""Subscriptions that are as far in each cluster: consumers move, and go on."""

import aiohttp
from replication.test_two_clusters import TOPIC, caught_up, published, stored
from support.loop import until
from support.regions import NAMESPACE, regions

from magnetar import InitialPosition
from magnetar.message import metadata, subscription_markers
from magnetar.model.names import TopicName

EARLIEST = InitialPosition.EARLIEST
SOON = {"replicatedSubscriptionsSnapshotFrequencyMillis": 50}


def subscription(region, name="s", topic=TOPIC):
    found = region.loaded.get(TopicName.parse(topic))
    return None if found is None else found.subscriptions.get(name)


def backlog(region, name="s", topic=TOPIC):
    found = subscription(region, name, topic)
    return None if found is None else found.backlog


async def consumer_of(region, topic=TOPIC, **config):
    config = {"replicate_subscription_state": True, "initial_position": EARLIEST, **config}
    return await region.client.subscribe(topic, "s", **config)


async def consumed(region, count, **config):
    """Receive so many messages of a region and acknowledge them."""
    async with await consumer_of(region, **config) as consumer:
        got = []
        for _ in range(count):
            message = await consumer.receive(20)
            got.append(int(message.data))
            await consumer.acknowledge(message)
        return got


async def test_a_subscription_is_made_and_moved_in_the_other_cluster():
    async with regions("west", "east", **SOON) as (west, east):
        consumer = await consumer_of(west)
        for first in (0, 50):
            await published(west, first=first, count=50, batching=False)
            for _ in range(50):
                await consumer.acknowledge(await consumer.receive(20))
            await caught_up(west, east)  # Else it is as far as what has come yet.
            await until(lambda: backlog(east) == 0)
            assert subscription(east).replicated
        await published(west, first=100, count=1)
        assert await consumed(east, 1) == [100]
        await consumer.close()


async def test_a_consumer_moves_to_and_fro_and_gets_all_once():
    async with regions("west", "east", **SOON) as (west, east):
        got = []

        async def stay(move, here, there):
            for number, region in enumerate((west, east)):
                first, name = 40 * move + 20 * number, f"of {region.name}"
                await published(region, count=20, first=first, name=name, batching=False)
            await caught_up(west, east)
            await caught_up(east, west)
            got.extend(await consumed(here, 40))
            await until(lambda: backlog(there) == 0)

        for move in range(10):
            await stay(move, *((west, east) if move % 2 else (east, west)))
        assert sorted(got) == list(range(400))


async def test_markers_are_no_backlog_and_nobody_gets_them():
    async with regions("west", "east", **SOON) as (west, east):
        for name in ("a", "b"):
            await (await west.client.subscribe(TOPIC, name)).close()
        consumer = await consumer_of(west)
        await published(west, count=10)
        await (await west.client.subscribe(TOPIC, "c")).close()
        for _ in range(10):
            await consumer.acknowledge(await consumer.receive(20))
        await until(lambda: backlog(east) == 0)
        await caught_up(west, east)
        await caught_up(east, west)
        assert backlog(west, "c") == 0
        behind = backlog(west, "a")
        await published(west, count=10, first=10)
        for _ in range(10):
            await consumer.acknowledge(await consumer.receive(20))
        await until(lambda: backlog(east) == 0)
        assert backlog(west, "a") > behind
        await consumer.close()


async def test_it_can_be_switched_on_and_off():
    async with regions("west", "east", **SOON) as (west, east):
        await published(west, count=10, batching=False)
        await (await consumer_of(west, replicate_subscription_state=False)).close()
        path = "persistent/geo/ns/t/subscription/s/replicatedSubscriptionStatus"
        assert await west.get(path) == {TOPIC: False}
        assert await consumed(west, 5, replicate_subscription_state=False) == list(range(5))
        await caught_up(west, east)
        assert subscription(east) is None
        await west.send("POST", path, True)
        assert await west.get(path) == {TOPIC: True}
        assert (await west.stats(TOPIC))["subscriptions"]["s"]["isReplicated"]
        assert await consumed(west, 5) == list(range(5, 10))
        await until(lambda: backlog(east) == 0)
        await west.send("POST", path, False)
        await published(west, count=10, first=10, batching=False)
        assert len(await consumed(west, 10, replicate_subscription_state=False)) == 10
        await caught_up(west, east)
        assert backlog(east) >= 10


async def test_without_the_setting_markers_are_not_answered():
    async with regions("west", "east", enableReplicatedSubscriptions=False, **SOON) as (west, east):
        await published(west, count=10)
        await consumed(west, 10)
        await caught_up(west, east)
        assert west.topic(TOPIC).ledger.entry_count == east.topic(TOPIC).ledger.entry_count
        assert subscription(east) is None


async def test_snapshots_that_are_stored_count_after_a_restart(tmp_path):
    async with regions("west", "east", folder=tmp_path, **SOON) as (west, east):
        await (await consumer_of(west)).close()
        await published(west, count=50, batching=False)
        await until(lambda: snapshots(west))
        await caught_up(west, east)
        await west.down()
        await west.up()
        assert await consumed(west, 50) == list(range(50))
        await until(lambda: backlog(east) is not None and backlog(east) < 50)


def snapshots(region):
    """How many snapshots a topic has."""
    subscriptions = region.topic(TOPIC)._features.replication.subscriptions
    return subscriptions.snapshot_count if subscriptions else 0


async def counted(region):
    """The metrics of its snapshots: taken, pending and given up."""
    async with aiohttp.ClientSession() as http, http.get(f"{region.web_url}/metrics/") as answer:
        lines = (await answer.text()).splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    names = ("snapshot_ms_count", "pending_snapshots", "timedout_snapshots_total")
    label = f'{{cluster="{region.name}"}}'
    return [int(float(values[f"pulsar_replicated_subscriptions_{each}{label}"])) for each in names]


async def test_metrics_count_snapshots():
    settings = {**SOON, "replicatedSubscriptionsSnapshotTimeoutSeconds": 1}
    async with regions("west", "east", **settings) as (west, east):
        assert await counted(west) == [0, 0, 0]
        await published(west, count=10)
        await consumed(west, 10)
        await until(lambda: backlog(east) == 0)
        taken, pending, given_up = await counted(west)
        assert taken == snapshots(west) > 0
        assert (pending, given_up) == (0, 0)
        assert (await counted(east))[0] == snapshots(east)
        await east.send("POST", f"namespaces/{NAMESPACE}/replication", ["east"])
        await until(lambda: not east.topic(TOPIC).writer.replicators)
        await published(west, count=1)  # East answers no more.
        replicated = west.topic(TOPIC)._features.replication.subscriptions
        await until(lambda: west.local.broker.registry.snapshots.pending)
        assert await counted(west) == [snapshots(west), 1, 0]
        clock = west.local.broker.registry._clock
        began_at = next(iter(replicated._rounds.values())).began_at
        await clock.sleep(began_at + 1 - clock.now())
        replicated.look_again()
        assert await counted(west) == [snapshots(west), 0, 1]


async def test_what_is_pending_is_not_when_its_topic_is_closed():
    async with regions("west", "east", **SOON) as (west, east):
        await (await consumer_of(west)).close()
        await east.send("POST", f"namespaces/{NAMESPACE}/replication", ["east"])
        await published(west, count=1)
        await until(lambda: west.local.broker.registry.snapshots.pending)
        await west.send("PUT", "persistent/geo/ns/t/unload")
        assert await counted(west) == [0, 0, 0]


async def test_three_clusters_ask_twice():
    async with regions("west", "east", "north", **SOON) as (west, east, north):
        for region in (west, east, north):
            await published(region, count=20, name=region.name, batching=False)
        assert len(await consumed(north, 60)) == 60
        await until(lambda: backlog(west) == 0 and backlog(east) == 0)
        await published(east, count=1, first=100)
        assert await consumed(west, 1) == [100]
        await until(lambda: backlog(north) == 0 and backlog(east) == 0)


async def test_entries_say_what_pulsar_says():
    async with regions("west", "east", **SOON) as (west, east):
        await published(west, count=1)
        await consumed(west, 1)
        await until(lambda: backlog(east) == 0)
        found = {}
        for entry in await stored_markers(west):
            seen = metadata.peek(entry)
            found.setdefault(seen.marker_type, []).append(
                (
                    seen.producer_name,
                    seen.replicated_from,
                    subscription_markers.read(entry, seen.marker_type),
                )
            )
        assert found.keys() == {10, 11, 12, 13}
        (name, came_from, request), *_ = found[10]
        assert (name, came_from, request.cluster) == ("pulsar.marker", None, "west")


async def stored_markers(region):
    return [each for each in await stored(region) if metadata.peek(each).is_marker]
