"""What a cluster tells of the ways between clusters, for the map of the console."""

from cluster.conftest import two_brokers
from replication.test_two_clusters import TOPIC, caught_up, published
from support.loop import until
from support.regions import NAMESPACE, Region, introduce, regions

from magnetar import Client
from magnetar.broker.admin.routes import replication_map
from magnetar.model.names import NamespaceName


async def told(region, **query):
    return await region.get("magnetar/replication", **query)


def ways(said):
    return {(each["from"], each["to"]): each for each in said["links"]}


async def test_a_cluster_tells_what_it_sends_and_others_are_asked():
    async with regions("west", "east", "north") as (west, east, north):
        await published(west, count=30)
        await published(east, count=10, name="of east")
        for here in (west, east):
            for there in (west, east, north):
                if there is not here:
                    await caught_up(here, there)
        own = await told(west)
        assert own["cluster"] == "west"
        assert own["clusters"].keys() == {"west", "east", "north"}
        assert own["clusters"]["east"]["brokerServiceUrl"] == east.service_url
        assert ways(own).keys() == {("west", "east"), ("west", "north")}
        there = ways(own)["west", "east"]
        assert (there["topics"], there["connected"], there["waiting"]) == (1, 1, 0)
        assert (there["backlog"], there["ageSeconds"], there["behind"]) == (0, 0, [])
        assert (there["msgOutCount"], there["msgInCount"], there["inbound"]) == (30, 10, 1)
        found = await told(west, others="true")
        assert ways(found).keys() == {
            (here, there)
            for here in ("west", "east", "north")
            for there in ("west", "east", "north")
            if here != there
        }
        assert found["silent"] == {}
        assert ways(found)["east", "north"]["msgOutCount"] == 10
        assert ways(found)["north", "west"]["msgOutCount"] == 0


async def test_one_that_is_away_is_behind_and_why_is_told():
    async with regions("west", "east") as (west, east):
        await published(west, count=1)
        await published(east, count=4, name="of east")
        await caught_up(west, east)
        await caught_up(east, west)
        await east.down()
        await published(west, count=20, first=1, batching=False)
        replicator = west.replicator(TOPIC, "east")
        await until(lambda: "cannot connect" in replicator._remote.trouble)
        found = await told(west, others="true")
        way = ways(found)["west", "east"]
        assert (way["connected"], way["waiting"], way["backlog"]) == (0, 1, 20)
        assert way["backlogSize"] > 0
        assert way["ageSeconds"] > 0
        [behind] = way["behind"]
        assert (behind["topic"], behind["connected"], behind["backlog"]) == (TOPIC, False, 20)
        assert "cannot connect" in behind["trouble"]
        assert behind["ageSeconds"] == way["ageSeconds"]
        assert "cannot ask" in found["silent"]["east"]
        assert ("east", "west") not in ways(found)  # Nobody is attached who could be seen.


async def test_of_many_topics_the_furthest_behind_are_named():
    async with regions("west", "east") as (west, east):
        await east.down()
        count = replication_map.BEHIND_MAX + 2
        for number in range(count):
            topic = f"persistent://{NAMESPACE}/t{number}"
            await published(west, topic, count=1 + number, batching=False)
        way = ways(await told(west))["west", "east"]
        assert (way["topics"], way["backlog"]) == (count, count * (count + 1) // 2)
        named = {each["topic"].rpartition("/t")[2]: each["backlog"] for each in way["behind"]}
        assert named == {str(number): 1 + number for number in range(2, count)}


async def test_one_that_does_not_know_this_is_seen_from_here(monkeypatch):
    async with regions("west", "east") as (west, east):
        await published(east, count=7)
        await caught_up(east, west)

        async def not_found(*_):
            return f"its admin API answers {replication_map._ALL} with 404"

        monkeypatch.setattr(replication_map, "_asked", not_found)  # As Apache Pulsar does.
        found = await told(west, others="true")
        way = ways(found)["east", "west"]
        assert (way["seenAt"], way["topics"], way["msgOutCount"]) == ("west", 1, 7)
        assert "backlog" not in way
        assert found["silent"]["east"].endswith("404")


async def test_what_the_brokers_of_a_cluster_send_is_added_up():
    async with (
        two_brokers(clusterName="west") as pair,
        regions("east", introduced=False) as (east,),
        Client(pair.brokers[0].service_url) as client,
    ):
        here, other = pair.brokers
        west = Region("west", here.service_url, here.web_url)
        west.client = client
        await introduce([west, east])
        namespace = NamespaceName.parse(NAMESPACE)
        bundles = (await pair.registries[0]._resources.require_namespace(namespace)).bundles
        for number, bundle in enumerate(bundles.of(namespace)):
            await pair.registries[number % 2].ownership.acquire(bundle)
        for number in range(8):
            async with await client.create_producer(f"persistent://{NAMESPACE}/t{number}") as one:
                await one.send(b"x")
        loaded = [len(_of_users(each)) for each in (here, other)]
        assert min(loaded) > 0, "the brokers do not share the topics"
        await until(
            lambda: all(
                not replicator.backlog
                for each in (here, other)
                for topic in _of_users(each)
                for replicator in topic.writer.replicators.values()
            )
        )
        way = ways(await told(west))["west", "east"]
        assert (way["topics"], way["msgOutCount"]) == (8, 8)
        names = [each.broker.address.name for each in (here, other)]
        alone = [await west.get(f"magnetar/brokers/{name}/replication") for name in names]
        assert [each["east"]["topics"] for each in alone] == loaded


def _of_users(broker):
    loaded = broker.broker.registry.loaded
    return [topic for name, topic in loaded.items() if str(name.namespace) == NAMESPACE]
