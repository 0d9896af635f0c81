"""Messages that an administrator declares to be too old."""

import pytest
from unit.broker.admin.world import SilentEnd

from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.clock import SystemClock
from magnetar.model.subscriptions import SubscriptionType

TOPIC = "/admin/v2/persistent/public/default/x"
NAME = "persistent://public/default/x"
S = f"{TOPIC}/subscription/s/expireMessages"


@pytest.fixture
async def aged(world):
    """Ten messages, each a minute older than the next; the last one is a minute old."""
    now = SystemClock().wall_ms()
    await world.topic(NAME)
    for name in ("s", "other"):
        await world.ask("PUT", f"{TOPIC}/subscription/{name}", "earliest")
    return await world.publish(NAME, *(now - minutes * 60_000 for minutes in range(10, 0, -1)))


async def left(world, name="s"):
    return (await world.topic(NAME)).subscriptions[name].backlog


def message(position, **more):
    return {"ledgerId": position[0], "entryId": position[1], "partitionIndex": -1, **more}


@pytest.mark.usefixtures("aged")
async def test_what_is_as_old_as_that_expires(world):
    assert (await world.ask("POST", f"{S}/{8 * 60 + 30}")).status == 204
    assert (await left(world), await left(world, "other")) == (8, 10)
    assert (await world.ask("POST", f"{S}/0")).status == 204
    assert await left(world) == 8
    stats = (await world.ask("GET", f"{TOPIC}/stats")).json["subscriptions"]["s"]
    assert stats["totalMsgExpired"] == 2
    assert (await world.ask("POST", f"{S}/-1")).status == 204
    assert await left(world) == 0
    refused = await world.ask("POST", f"{S}/1")
    assert refused.status == 409
    assert "for subscription s due to" in refused.reason


@pytest.mark.usefixtures("aged")
async def test_where_consumers_will_soon_be_done_only_what_is_too_old_expires(world):
    request = SubscribeRequest(
        subscription="s", type=SubscriptionType.SHARED, consumer_id=1, consumer_name="c"
    )
    await (await world.topic(NAME)).subscribe(request, SilentEnd())
    assert (await world.ask("POST", f"{S}/3600")).status == 409
    assert (await world.ask("POST", f"{S}/90")).status == 204
    assert await left(world) == 1


@pytest.mark.usefixtures("aged")
async def test_what_is_refused_for_one_expires_for_the_others(world):
    await world.ask("POST", f"{TOPIC}/subscription/s/skip_all")
    answer = await world.ask("POST", f"{TOPIC}/all_subscription/expireMessages/90")
    assert answer.status == 409
    assert "subscription s " in answer.reason
    assert await left(world, "other") == 1
    assert (await world.ask("POST", f"{S}x/5")).status == 404


async def test_messages_expire_up_to_one_of_them(world, aged):
    assert (await world.ask("POST", S, message(aged[2]))).status == 204
    assert await left(world) == 7
    assert (await world.ask("POST", S, message(aged[3], excluded=True))).status == 204
    assert await left(world) == 5
    assert (await world.ask("POST", S, message(aged[0]))).status == 409
    beyond = (aged[0][0], 99)
    assert (await world.ask("POST", S, message(beyond))).status == 409
    assert await left(world) == 5


async def test_a_partitioned_topic_has_no_place_to_expire_to(world, aged):
    await world.ask("PUT", "/admin/v2/persistent/public/default/p/partitions", 2)
    path = "/admin/v2/persistent/public/default/p/subscription/s/expireMessages"
    assert (await world.ask("POST", path, message(aged[0]))).status == 405
