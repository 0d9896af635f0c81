import pytest
from support.clock import ManualClock
from unit.broker.admin.world import SilentEnd, open_world

from magnetar.broker.admin.rates import INTERVAL_S, TOPICS_PER_TURN
from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.model.subscriptions import SubscriptionType


@pytest.fixture
def clock():
    return ManualClock()


async def rate_in(world, name):
    path = name.replace("://", "/")
    return (await world.ask("GET", f"/admin/v2/{path}/stats")).json["msgRateIn"]


async def test_rates_are_those_of_the_last_minute(clock):
    names = [f"persistent://public/default/t-{index}" for index in range(TOPICS_PER_TURN + 1)]
    first, last = names[0], names[-1]
    async with open_world(clock=clock) as world:
        topics = [await world.topic(name) for name in names]
        topics[0].writer.message_count, topics[-1].writer.message_count = 600, 60
        await clock.advance(INTERVAL_S)
        assert [await rate_in(world, name) for name in (first, last)] == [10, 1]
        topics[0].writer.message_count = 1800
        assert [await rate_in(world, name) for name in (first, last)] == [10, 1]
        await clock.advance(INTERVAL_S)
        assert [await rate_in(world, name) for name in (first, last)] == [20, 0]


async def test_chunks_have_rates(clock):
    async with open_world(clock=clock) as world:
        topic = await world.topic("persistent://public/default/a")
        producer = await topic.attach_producer(SilentEnd(), 1, "p")
        request = SubscribeRequest(
            subscription="s", type=SubscriptionType.SHARED, consumer_id=1, consumer_name="c"
        )
        _, consumer = await topic.subscribe(request, SilentEnd())
        producer.chunk_count, consumer.totals.chunk_count = 60, 120
        await clock.advance(INTERVAL_S)
        shown = (await world.ask("GET", "/admin/v2/persistent/public/default/a/stats")).json
    delivered = shown["subscriptions"]["s"]
    rates = [
        part["chunkedMessageRate"]
        for part in (shown["publishers"][0], delivered, delivered["consumers"][0])
    ]
    assert rates == [1, 2, 2]


async def test_a_topic_that_is_gone_leaves_no_rates(clock):
    name = "persistent://public/default/a"
    async with open_world(clock=clock) as world:
        topic = await world.topic(name)
        topic.writer.message_count = 60
        await clock.advance(INTERVAL_S)
        assert world.admin.metrics.rates.of(name)
        await world.registry.delete(topic.name)
        await clock.advance(INTERVAL_S)
        assert not world.admin.metrics.rates.of(name)
