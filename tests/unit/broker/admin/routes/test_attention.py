from contextlib import asynccontextmanager

import aiohttp
from support.clock import ManualClock
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken, Client, SubscriptionType
from magnetar.broker.admin.routes import attention
from magnetar.broker.dispatch.blocked import STILL_S
from magnetar.testing.local_broker import LocalBroker

TOPIC = "persistent://public/default/t"


@asynccontextmanager
async def world():
    """A clock, a client, and what is asked of the broker."""
    clock = ManualClock()
    async with (
        LocalBroker(clock=clock) as broker,
        Client(broker.service_url) as client,
        aiohttp.ClientSession(broker.web_url) as http,
    ):

        async def needy():
            async with http.get("/admin/v2/magnetar/attention") as response:
                assert response.status == 200
                return await response.json()

        yield clock, client, needy


async def publish(client, count, topic=TOPIC):
    producer = await client.create_producer(topic, batching=False)
    for _ in range(count):
        await producer.send(b"x")


async def test_a_subscription_is_stuck_when_nothing_moved_for_a_while():
    async with world() as (clock, client, needy):
        consumer = await client.subscribe(TOPIC, "s", type=SubscriptionType.SHARED)
        await publish(client, 2)
        messages = [await consumer.receive() for _ in range(2)]
        assert await needy() == {"count": 0, "subscriptions": [], "broker": []}
        clock.move(STILL_S + 1)
        [found] = (await needy())["subscriptions"]
        assert (found["topic"], found["subscription"], found["msgBacklog"]) == (TOPIC, "s", 2)
        assert found["cause"] == "awaited"
        assert "has held the oldest for 11 s" in found["reason"]
        assert found["since"] is not None
        for message in messages:
            consumer.acknowledge(message)
        await consumer.close()
        assert (await needy())["count"] == 0


async def test_a_backlog_without_consumers_comes_after_what_is_stuck():
    async with world() as (clock, client, needy):
        alone = await client.subscribe(TOPIC, "alone")
        await alone.close()
        stuck = await client.subscribe(TOPIC, "stuck", type=SubscriptionType.SHARED)
        await client.create_reader(TOPIC)
        await publish(client, 3)
        await stuck.receive()
        assert [each["cause"] for each in (await needy())["subscriptions"]] == ["no-consumer"]
        clock.move(60)
        found = (await needy())["subscriptions"]
        assert [each["subscription"] for each in found] == ["stuck", "alone"]
        assert found[1]["since"] is None


async def test_the_largest_are_named_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(attention, "SHOWN_MAX", 1)
    async with world() as (_, client, needy):
        for number, name in enumerate(("few", "many"), start=1):
            consumer = await client.subscribe(f"{TOPIC}-{name}", name)
            await consumer.close()
            await publish(client, number, f"{TOPIC}-{name}")
        found = await needy()
        assert found["count"] == 2
        assert [each["subscription"] for each in found["subscriptions"]] == ["many"]


async def test_a_role_is_told_of_the_namespaces_that_it_may_see():
    settings = {**TAKES_TOKENS, "authorizationEnabled": "true", "superUserRoles": "root"}
    root = AuthenticationToken(token("root"))
    async with (
        LocalBroker(settings=settings) as broker,
        Client(broker.service_url, authentication=root) as client,
        aiohttp.ClientSession(broker.web_url) as http,
    ):
        consumer = await client.subscribe(TOPIC, "s")
        await consumer.close()
        await publish(client, 1)
        for role, count in (("root", 1), ("stranger", 0)):
            headers = {"Authorization": f"Bearer {token(role)}"}
            async with http.get("/admin/v2/magnetar/attention", headers=headers) as response:
                assert (await response.json())["count"] == count
