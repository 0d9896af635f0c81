import pytest
from support.clock import ManualClock
from unit.broker.admin.world import open_world

from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.admin.overview import COUNTED_S, WINDOW_S, Overview
from magnetar.model.histogram import Histogram
from magnetar.model.names import NamespaceName

TOPIC = "persistent://public/default/x"


def published(topic, messages, size_bytes):
    topic.writer.message_count += messages
    topic.writer.size_bytes += size_bytes


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def opened(clock):
    async with open_world() as world:
        services, health = world.admin.topics, BrokerHealth(clock, sync_latency=Histogram())
        yield world, Overview(services.topics, services.resources, health, clock), health


async def test_rates_are_those_since_the_last_look(opened, clock):
    world, overview, _ = opened
    topic = await world.topic(TOPIC)
    published(topic, 10, 1000)
    clock.move(2)
    shown = overview.shown(await overview.look())
    assert shown["rates"] == {
        "seconds": 2,
        "msgRateIn": 5,
        "msgThroughputIn": 500,
        "msgRateOut": 0,
        "msgThroughputOut": 0,
    }
    published(topic, 4, 4)
    clock.move(0.5)
    assert overview.shown(await overview.look()) == shown, "it is fresh enough"
    clock.move(1.5)
    assert overview.shown(await overview.look())["rates"]["msgRateIn"] == 2
    await world.registry.unload(topic.name)
    published(await world.topic(TOPIC), 6, 6)
    clock.move(2)
    assert overview.shown(await overview.look())["rates"]["msgRateIn"] == 3


async def test_it_counts_what_there_is(opened, clock):
    world, overview, _ = opened
    await world.publish(TOPIC, 1, 2, 3)
    shown = overview.shown(await overview.look(), version="1")
    assert shown["version"] == "1"
    assert shown["counts"]["namespaces"] >= 1
    assert shown["counts"]["topics"] == 1
    assert shown["storageSize"] > 0
    before = shown["counts"]["tenants"]
    await world.ask("PUT", "/admin/v2/tenants/more", {"allowedClusters": ["standalone"]})
    await world.ask("PUT", "/admin/v2/namespaces/more/one")
    clock.move(COUNTED_S)
    assert overview.shown(await overview.look())["counts"]["tenants"] == before + 1


async def test_who_sees_little_is_shown_little(opened):
    world, overview, _ = opened
    await world.topic(TOPIC)
    await world.ask("PUT", "/admin/v2/namespaces/public/more")
    await world.topic("persistent://public/more/y")
    look = await overview.look()
    shown = overview.shown(look, frozenset([NamespaceName("public", "default")]))
    assert shown["counts"]["topics"] == shown["counts"]["namespaces"] == 1
    assert not {"disk", "memoryBytes", "connections", "loopLag", "fsync"} & shown.keys()


async def test_quantiles_are_of_the_last_minutes(opened, clock):
    _, overview, health = opened
    health.sync_latency.note(1)
    for expected in (1, 0):
        clock.move(WINDOW_S)
        p99_ms = overview.shown(await overview.look())["fsync"]["p99Ms"]
        assert (p99_ms >= 1000) is bool(expected)
