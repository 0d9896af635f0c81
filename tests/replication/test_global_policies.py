"""Policies of a topic that hold in all clusters, of clusters that keep them as events."""

from contextlib import AsyncExitStack

import pytest
from cluster.conftest import two_brokers
from support.elsewhere import until_elsewhere
from support.regions import Region, introduce

from magnetar.model.names import TopicName

NAMES = ("west", "east")
TOPIC = "persistent://geo/ns/t"
PATH = "persistent/geo/ns/t"


@pytest.fixture
async def regions():
    """Two clusters, and the open topic in each."""
    async with AsyncExitStack() as stack:
        found = []
        for name in NAMES:
            alone = two_brokers(count=1, change_events=True, clusterName=name)
            (broker,) = (await stack.enter_async_context(alone)).brokers
            region = Region(name, broker.service_url, broker.web_url)
            region.loaded = broker.broker.registry.loaded
            found.append(region)
        await introduce(found)
        for region in found:
            await region.send("PUT", PATH)
        yield found


def limit(region):
    return region.loaded[TopicName.parse(TOPIC)].policies.producers_per_topic_max


async def test_what_is_set_for_all_clusters_holds_in_each_and_may_be_overruled(regions):
    west, east = regions
    limits = f"{PATH}/maxProducers"
    await west.send("POST", limits, 7, isGlobal="true")
    await until_elsewhere(lambda: limit(east) == 7, "it does not hold in the other cluster")
    assert limit(west) == 7
    assert await east.get(limits, isGlobal="true") == 7
    assert await east.get(limits) is None

    await east.send("POST", limits, 8, isGlobal="true")
    await until_elsewhere(lambda: limit(west) == 8, "what the other one set does not hold")
    await west.send("POST", limits, 3)
    assert limit(west) == 3
    await west.send("POST", limits, 9, isGlobal="true")
    await until_elsewhere(lambda: limit(east) == 9, "what was set after a local one does not hold")
    assert limit(west) == 3
    assert await east.get(limits) is None

    await west.send("DELETE", limits)
    assert limit(west) == 9
    await west.send("DELETE", limits, isGlobal="true")
    await until_elsewhere(lambda: not limit(east), "it holds still")
