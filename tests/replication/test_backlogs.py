"""What administrators do with what is still to be sent to another cluster."""

import aiohttp
import pytest
from replication.test_two_clusters import TOPIC, caught_up, published, received
from support.regions import NAMESPACE, regions

from magnetar.errors import Conflict, NotFound

COUNT = 20
REPLICATOR = "persistent/geo/ns/t/subscription/pulsar.repl.east"


@pytest.fixture
async def waiting(tmp_path):
    """Two clusters, of which one was away while so many messages were published."""
    async with regions("west", "east", folder=tmp_path) as (west, east):
        await (await east.client.subscribe(TOPIC, "s")).close()
        await east.down()
        await published(west, count=COUNT, batching=False)
        yield west, east


async def left(west, east, count):
    """The numbers that arrive when the other one is back: so many, and one that comes then."""
    assert await west.backlog(TOPIC, "east") == count
    await east.up()
    await caught_up(west, east)
    await published(west, first=COUNT, count=1)
    return [int(each) for each in await received(east, count + 1)]


async def age_told(region):
    """The metric how old the oldest is that is to be sent."""
    async with aiohttp.ClientSession() as http, http.get(f"{region.web_url}/metrics/") as answer:
        lines = (await answer.text()).splitlines()
    name = "magnetar_replication_backlog_age_seconds{"
    [line] = [each for each in lines if each.startswith(name)]
    assert 'remote_cluster="east"' in line
    return float(line.rsplit(" ", 1)[1])


async def test_some_are_skipped_and_the_rest_is_sent(waiting):
    west, east = waiting
    await west.send("POST", f"{REPLICATOR}/skip/5")
    assert await left(west, east, COUNT - 5) == list(range(5, COUNT + 1))


async def test_all_are_skipped_by_the_name_of_the_cursor(waiting):
    west, east = waiting
    await west.send("POST", f"{REPLICATOR}/skip_all")
    assert await left(west, east, 0) == [COUNT]


async def test_a_backlog_of_a_namespace_is_all_that_waits(waiting):
    west, east = waiting
    await west.send("POST", f"namespaces/{NAMESPACE}/clearBacklog")
    assert await left(west, east, 0) == [COUNT]


async def test_of_a_namespace_one_replicator_may_be_named(waiting):
    west, east = waiting
    await west.send("POST", f"namespaces/{NAMESPACE}/clearBacklog/pulsar.repl.east")
    assert await left(west, east, 0) == [COUNT]


async def test_what_is_old_is_not_sent(waiting):
    west, east = waiting
    clock = west.local.broker.registry._clock
    await clock.sleep(1.1)
    assert (await west.replication(TOPIC))["east"]["replicationBacklogAgeInSeconds"] >= 1
    assert await age_told(west) > 1
    await published(west, first=COUNT, count=1)
    await west.send("POST", f"{REPLICATOR}/expireMessages/1")
    assert (await west.replication(TOPIC))["east"]["msgExpiredCount"] == COUNT
    assert await left(west, east, 1) == [COUNT, COUNT]


async def test_of_few_that_are_young_none_expires(waiting):
    west, east = waiting
    with pytest.raises(Conflict):
        await west.send("POST", f"{REPLICATOR}/expireMessages/100")
    assert await left(west, east, COUNT) == list(range(COUNT + 1))


async def test_one_that_is_not_there_is_not_found(waiting):
    west, _ = waiting
    with pytest.raises(NotFound):
        await west.send("POST", f"{REPLICATOR.replace('east', 'north')}/skip_all")
