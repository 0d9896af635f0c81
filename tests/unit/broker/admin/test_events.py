import asyncio
import json

import pytest
from support.clock import ManualClock
from support.loop import until_idle
from unit.broker.admin.world import open_world

from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.admin.events import KEEP_ALIVE_S, LISTENERS_MAX, LISTENERS_OF_ROLE_MAX, Events
from magnetar.broker.admin.overview import Overview
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName
from magnetar.rest.errors import Rejection

TOPIC = TopicName.parse("persistent://public/default/x")


async def everything():
    return None


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def events(clock):
    async with open_world() as world:
        services = world.admin.topics
        overview = Overview(services.topics, services.resources, BrokerHealth(clock), clock)
        events = Events(overview, clock, {"version": "1"})
        running = asyncio.create_task(events.run())
        yield events
        running.cancel()


async def told(clock, *listeners):
    """What listeners are told next, and after how many seconds."""
    waiting, began = asyncio.gather(*map(anext, listeners)), clock.now()
    for _ in range(70):
        await until_idle()
        if waiting.done():
            break
        await clock.advance(1)
    return *await asyncio.wait_for(waiting, 5), clock.now() - began


async def test_all_get_the_same_look(events, clock):
    first, second = events.listen(1, everything), events.listen(1, everything)
    one, other, _ = await told(clock, first, second)
    assert one is other
    head, data, *end = one.decode().split("\n")
    assert (head, end) == ("event: overview", ["", ""])
    assert json.loads(data.removeprefix("data: "))["version"] == "1"


async def test_a_long_interval_is_kept_and_bridged_with_comments(events, clock):
    listener = events.listen(20, everything)
    await told(clock, listener)
    comment, after_s = await told(clock, listener)
    assert comment.startswith(b":")
    assert after_s == pytest.approx(KEEP_ALIVE_S, abs=1.5)
    event, after_s = await told(clock, listener)
    assert event.startswith(b"event: overview")
    assert after_s == pytest.approx(20 - KEEP_ALIVE_S, abs=1.5)


async def test_nobody_looks_while_nobody_listens(events, clock):
    listener = events.listen(1, everything)
    await told(clock, listener)
    await listener.aclose()
    await listener.aclose()
    await clock.advance(5)
    assert (len(events), clock.sleepers) == (0, 0)
    again = events.listen(1, everything)
    assert (await told(clock, again))[0].startswith(b"event: overview")


async def test_a_topic_is_looked_at_once_for_all_and_its_errors_are_told(events, clock):
    asked = []

    async def shown(now):
        asked.append(now)
        if clock.now() > 1010:
            raise TopicNotFound(f"Topic {TOPIC} not found")
        return {"msgRateIn": 1}

    listeners = [events.listen(1, everything, TOPIC, shown) for _ in range(2)]
    *found, _ = await told(clock, *listeners)
    assert asked == sorted(set(asked))
    data = '{"topic":"persistent://public/default/x","stats":{"msgRateIn":1}}'
    assert all(each.decode().endswith(f"event: topic\ndata: {data}\n\n") for each in found)
    clock.move(20)
    await told(clock, listeners[0])
    event, _ = await told(clock, listeners[0])
    assert b'"reason":"Topic persistent://public/default/x not found"' in event


async def test_so_many_of_one_role_may_listen(events):
    listeners = [events.listen(1, everything, role="me") for _ in range(LISTENERS_OF_ROLE_MAX)]
    with pytest.raises(Rejection, match="clients of me listen"):
        events.listen(1, everything, role="me")
    events.listen(1, everything, role="other")
    await listeners[0].aclose()
    events.listen(1, everything, role="me")


async def test_so_many_may_listen(events):
    listeners = [events.listen(1, everything) for _ in range(LISTENERS_MAX)]
    with pytest.raises(Rejection, match="close some"):
        events.listen(1, everything)
    await listeners[0].aclose()
    events.listen(1, everything)
