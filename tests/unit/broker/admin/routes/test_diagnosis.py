"""Each cause of a subscription that does not move, made by clients over sockets."""

import asyncio
import re
import shlex
from contextlib import asynccontextmanager

import aiohttp
import click
import pytest
from support.clock import ManualClock

from magnetar import Client, InitialPosition, OutgoingMessage, SubscriptionType
from magnetar.broker.admin import overview
from magnetar.broker.topics.diagnosis import publishing as diagnosis_publishing
from magnetar.errors import IncompatibleSchema
from magnetar.model.producers import ProducerAccessMode
from magnetar.schemas import Int32Schema, StringSchema
from magnetar.testing.local_broker import LocalBroker
from magnetar.tools.cli import magnetar

ROOT = "/admin/v2/persistent/public/default"
SETTINGS = {
    "maxUnackedMessagesPerConsumer": 4,
    "maxUnackedMessagesPerSubscription": 6,
    "subscriptionKeySharedUseConsistentHashing": False,
}
START_MS = 1_000_000
SHARED, KEY_SHARED = SubscriptionType.SHARED, SubscriptionType.KEY_SHARED
FAILOVER = SubscriptionType.FAILOVER


def check_command(remedy):
    """A command that a remedy ends with is one that there is, with these options."""
    _, _, line = remedy.partition("magnetar ")
    if not line:
        return
    command, words, context = magnetar, shlex.split(line), click.Context(magnetar)
    while isinstance(command, click.Group):
        _, command, words = command.resolve_command(context, words)
        context = click.Context(command, parent=context)
    command.make_context(command.name, words)


class World:
    """A broker, a client of it and an administrator."""

    def __init__(self, broker, client, http, clock):
        self.broker, self.client, self.http, self.clock = broker, client, http, clock

    async def ask(self, path, method="GET", **more):
        async with self.http.request(method, f"{self.broker.web_url}{path}", **more) as response:
            assert response.status < 300, await response.text()
            return await response.json() if method == "GET" else None

    async def publish(self, count, **more):
        producer = await self.client.create_producer("t", batching=False)
        await asyncio.gather(*(producer.send(OutgoingMessage(b"x", **more)) for _ in range(count)))

    async def subscribe(self, **more):
        more = {"type": SHARED, "initial_position": InitialPosition.EARLIEST, **more}
        return await self.client.subscribe("t", "s", **more)

    async def found(self, cause):
        """The finding of this cause, as soon as there is one."""
        for _ in range(200):
            diagnosis = await self.ask(f"{ROOT}/t/subscription/s/diagnosis")
            for finding in diagnosis["findings"]:
                check_command(finding["remedy"])
                if finding["cause"] == cause:
                    assert finding["text"].endswith(".")
                    return finding
        raise AssertionError(f"no {cause} in {diagnosis}")


@asynccontextmanager
async def opened(folder=None, **settings):
    clock = ManualClock()
    async with (
        LocalBroker(folder, clock=clock, settings={**SETTINGS, **settings}) as broker,
        Client(broker.service_url) as client,
        aiohttp.ClientSession() as http,
    ):
        yield World(broker, client, http, clock)


@pytest.fixture
async def world():
    async with opened() as world:
        yield world


async def test_nobody_is_connected(world):
    consumer = await world.subscribe()
    assert (await world.found("caught-up"))["severity"] == "ok"
    await consumer.close()
    assert (await world.found("no-consumers"))["severity"] == "info"
    await world.publish(3)
    finding = await world.found("no-consumers")
    assert finding["severity"] == "error"
    assert "the backlog is 3 entries" in finding["text"]
    assert "topics unsubscribe -s s persistent://public/default/t" in finding["remedy"]


async def test_a_client_that_asks_for_no_more(world):
    await world.subscribe(receiver_queue_size=2, type=SubscriptionType.EXCLUSIVE, name="slow")
    await world.publish(5)
    finding = await world.found("no-permits")
    assert "slow does not ask for more" in finding["text"]
    assert finding["since"] == START_MS


async def test_a_consumer_holds_as_much_as_it_may(world):
    await world.subscribe(name="a")
    await world.publish(5)
    world.clock.move(60)
    finding = await world.found("blocked-on-unacked-consumer")
    assert "a gets nothing: it holds 4" in finding["text"]
    assert "oldest for 60 s" in finding["text"]
    assert "-m 8" in finding["remedy"]


async def test_all_consumers_together_hold_as_much_as_they_may(world):
    for name in ("a", "b"):
        await world.subscribe(name=name)
    await world.publish(9)
    assert "6" in (await world.found("blocked-on-unacked-subscription"))["text"]


async def test_one_prefetches_what_another_could_do(world):
    await world.subscribe(name="hoarder")
    await world.publish(3)
    await world.found("waiting-for-acknowledgements")
    await world.subscribe(name="idle")
    world.clock.move(42)
    finding = await world.found("prefetching")
    assert finding["text"].startswith("3 messages are in the queue of consumer hoarder")
    assert "42 s, while 1 other is idle" in finding["text"]
    assert "lower the receiverQueueSize of hoarder" in finding["remedy"]
    assert finding["since"] == START_MS


async def test_a_slot_waits_for_its_former_owner(world):
    await world.subscribe(name="first", type=KEY_SHARED)
    await world.publish(3, key="k")
    await world.found("waiting-for-acknowledgements")
    for name in ("b", "c", "d", "e"):
        await world.subscribe(name=name, type=KEY_SHARED)
    await world.publish(1, key="k")
    world.clock.move(10)
    finding = await world.found("slot-drains")
    assert "until consumer first has acknowledged" in finding["text"]
    assert "10 s" in finding["text"]


async def test_a_hot_key():
    async with opened(
        maxUnackedMessagesPerConsumer=0, maxUnackedMessagesPerSubscription=0
    ) as world:
        await world.subscribe(name="a", type=KEY_SHARED, receiver_queue_size=2)
        await world.subscribe(name="b", type=KEY_SHARED, receiver_queue_size=2)
        await world.publish(40, key="k")
        assert "hash slot" in (await world.found("hot-key"))["text"]


async def test_messages_are_delayed(world):
    await world.subscribe()
    await world.publish(2, deliver_at_ms=START_MS + 90_000)
    finding = await world.found("delayed")
    assert "2 entries" in finding["text"]
    assert "90 s" in finding["text"]
    assert finding["severity"] == "info"


async def test_a_dispatch_rate_is_used_up(world):
    await world.publish(1)
    await world.ask(
        f"{ROOT}/t/subscriptionDispatchRate",
        "POST",
        json={
            "dispatchThrottlingRateInMsg": 1,
            "dispatchThrottlingRateInByte": -1,
            "ratePeriodInSecond": 1,
        },
    )
    await world.subscribe()
    await world.publish(2)
    text = (await world.found("dispatch-rate"))["text"]
    assert "rate of the subscription, 1 message a second, is used up" in text


async def test_acknowledgements_leave_holes_and_a_message_is_poison(world):
    consumer = await world.subscribe(negative_ack_delay_s=0.001)
    await world.publish(4)
    first, *others = [await consumer.receive() for _ in range(4)]
    for message in others:
        await consumer.acknowledge(message)
    for _ in range(3):
        consumer.negative_acknowledge(first)
        first = await consumer.receive()
    finding = await world.found("acknowledgement-holes")
    place = f"{first.message_id.ledger_id}:{first.message_id.entry_id}"
    assert f"3 entries behind the first that is not acknowledged, {place}," in finding["text"]
    assert "in 1 range; consumer" in finding["text"]
    assert "redelivered 3 times" in (await world.found("redelivered"))["text"]
    cursor = await world.ask(f"{ROOT}/t/subscription/s/cursor")
    [held] = cursor["acknowledgedRanges"]
    assert (held["from"], held["to"]) == (1, 3)
    assert cursor["markDeletePosition"].endswith(":-1")
    assert cursor["consumers"][0]["pendingMessages"] == cursor["delivered"] == 1


async def test_messages_expired(world):
    await (await world.subscribe()).close()
    await world.publish(2)
    last = await world.ask(f"{ROOT}/t/lastMessageId")
    await world.ask(f"{ROOT}/t/subscription/s/expireMessages", "POST", json=last)
    assert "2 entries expired" in (await world.found("expired"))["text"]


async def test_a_standby_gets_nothing(world):
    for name in ("a", "b"):
        await world.subscribe(name=name, type=FAILOVER)
    text = (await world.found("standby"))["text"]
    assert re.match("Consumer (a is active; b|b is active; a) stands by and gets nothing", text)


async def test_a_backlog_exceeds_its_quota(world):
    await (await world.subscribe()).close()
    await world.publish(2)
    await world.ask(
        f"{ROOT}/t/backlogQuota", "POST", json={"limitSize": 1, "policy": "producer_exception"}
    )
    assert "producers are refused" in (await world.found("backlog-quota"))["text"]


async def test_a_quota_that_another_subscription_exceeds_is_named(world):
    await (await world.client.subscribe("t", "slow")).close()
    await world.publish(2)
    await (await world.subscribe(initial_position=InitialPosition.LATEST)).close()
    await world.ask(
        f"{ROOT}/t/backlogQuota", "POST", json={"limitSize": 1, "policy": "producer_request_hold"}
    )
    finding = await world.found("backlog-quota")
    assert finding["text"].startswith("The backlog of subscription slow, 2 entries of about")
    assert "skip -s slow" in finding["remedy"]


async def test_a_key_waits_for_its_consumer_although_another_is_idle(world):
    held = [
        await world.subscribe(name=name, type=KEY_SHARED, receiver_queue_size=1) for name in "ab"
    ]
    await world.publish(3, key="k")
    text = (await world.found("no-permits"))["text"]
    owner = "a" if "Consumer a does" in text else "b"
    assert f"Consumer {owner} does not ask for more: its queue is full" in text
    assert re.search(r"2 entries of its hash slots \(\d+ to \d+\) wait for it, although 1", text)
    assert f"closing {owner} gives its keys" in (await world.found("no-permits"))["remedy"]
    assert len(held) == 2


async def test_a_paused_consumer_is_told_from_one_that_is_full(world):
    consumer = await world.subscribe(name="paused", start_paused=True)
    await world.publish(1)
    assert "it is paused" in (await world.found("no-permits"))["text"]
    await consumer.close()


async def test_producers_are_held_to_a_rate(world):
    await (await world.subscribe()).close()
    await world.publish(1)
    rate = {"publishThrottlingRateInMsg": 1, "publishThrottlingRateInByte": -1}
    await world.ask(f"{ROOT}/t/publishRate", "POST", json=rate)
    await world.publish(1)
    text = (await world.found("publish-rate"))["text"]
    assert "held to the publish rate of the topic, 1 message a second" in text
    await world.clock.advance(60)  # The broker reads on, and hears that the client goes.


async def test_a_producer_waits_for_its_turn(world):
    await (await world.subscribe()).close()
    modes = ProducerAccessMode.EXCLUSIVE, ProducerAccessMode.WAIT_FOR_EXCLUSIVE
    first = await world.client.create_producer("t", access_mode=modes[0])
    second = asyncio.create_task(world.client.create_producer("t", access_mode=modes[1]))
    assert "1 producer waits for" in (await world.found("producers-wait"))["text"]
    await first.close()
    await (await second).close()


async def test_a_schema_is_refused(world):
    await (await world.subscribe()).close()
    await world.client.create_producer("t", schema=StringSchema())
    with pytest.raises(IncompatibleSchema):
        await world.client.create_producer("t", schema=Int32Schema())
    assert "A producer was refused" in (await world.found("schema-refused"))["text"]


async def test_a_disk_is_slow(tmp_path, monkeypatch):
    monkeypatch.setattr(diagnosis_publishing, "SLOW_SYNC_P50_MS", 0.0)
    monkeypatch.setattr(overview, "SYNCS_MIN", 2)
    async with opened(tmp_path) as world:
        await (await world.subscribe()).close()
        await world.publish(1)
        await world.publish(1)
        assert "half of the syncs" in (await world.found("slow-disk"))["text"]


async def test_the_worst_partition_comes_first(world):
    await world.ask(f"{ROOT}/t/partitions", "PUT", json=2)
    consumer = await world.subscribe()
    await consumer.close()
    await world.publish(1)
    diagnosis = await world.ask(f"{ROOT}/t/subscription/s/diagnosis")
    assert [each["severity"] for each in diagnosis["partitions"]] == ["error", "info"]
    assert diagnosis["summary"].startswith("No consumer is connected, and the backlog is 1 entry")


async def test_what_is_not_there_is_said(world):
    await world.publish(1)
    for path in ("t/subscription/none", "none/subscription/s"):
        async with world.http.get(f"{world.broker.web_url}{ROOT}/{path}/diagnosis") as response:
            assert response.status == 404
