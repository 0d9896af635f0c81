"""How much may hang on a namespace, a topic, a subscription: each limit at its edge."""

import asyncio
import json

import aiohttp
import pytest
from unit.broker.peer import TOPIC, Peer, command, send

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}
SHARED = pb.CommandSubscribe.Shared


async def producer(peer: Peer, topic: str, number: int = 1) -> pb.BaseCommand:
    await peer.ask("lookupTopic", topic=topic, request_id=900)
    return await peer.ask("producer", topic=topic, producer_id=number, request_id=901)


async def consumer(peer: Peer, number: int, subscription: str, **values) -> pb.BaseCommand:
    await peer.ask("lookupTopic", topic=TOPIC, request_id=900)
    values = {"topic": TOPIC, "subType": SHARED, "subscription": subscription, **values}
    return await peer.ask("subscribe", consumer_id=number, request_id=902, **values)


def refused(answer: pb.BaseCommand, code: int, text: str) -> bool:
    return (answer.error.error, answer.error.message) == (code, text)


async def test_a_namespace_may_have_so_many_topics():
    async with LocalBroker(settings={**QUIET, "maxTopicsPerNamespace": 3}) as broker:
        peer = await Peer.open(broker.port)
        for number in range(3):
            assert (await producer(peer, f"{TOPIC}-{number}", number)).HasField("producer_success")
        answer = await producer(peer, f"{TOPIC}-3", 3)
        text = "Exceed maximum number of topics in namespace public/default: it has 3"
        assert answer.error.error == pb.NotAllowedError
        assert answer.error.message.endswith(text)
        assert (await producer(peer, f"{TOPIC}-2", 4)).HasField("producer_success")
        await broker.broker.registry.delete(
            next(name for name in broker.broker.registry.loaded if str(name) == f"{TOPIC}-1"),
            force=True,
        )
        assert (await peer.hear()).HasField("close_producer")
        assert (await producer(peer, f"{TOPIC}-3", 3)).HasField("producer_success")
        assert (await producer(peer, f"{TOPIC}-4", 5)).HasField("error")


async def test_topics_made_at_the_same_moment_count_too(tmp_path):
    settings = {**QUIET, "maxTopicsPerNamespace": 3}
    async with LocalBroker(tmp_path / "data", settings=settings) as broker:
        peer = await Peer.open(broker.port)
        for number in range(6):
            await peer.ask("lookupTopic", topic=f"{TOPIC}-{number}", request_id=900)
        peer.wire.send(
            b"".join(
                command(
                    "producer", topic=f"{TOPIC}-{number}", producer_id=number, request_id=number
                )
                for number in range(6)
            )
        )
        answers = [await peer.hear() for _ in range(6)]
        assert sum(answer.HasField("producer_success") for answer in answers) == 3
        assert sum(answer.HasField("error") for answer in answers) == 3


@pytest.mark.parametrize("limit", [1, 3])
async def test_a_topic_may_have_so_many_producers(limit):
    async with LocalBroker(settings={**QUIET, "maxProducersPerTopic": limit}) as broker:
        peer, other = await Peer.open(broker.port), await Peer.open(broker.port)
        for number in range(limit):
            assert (await producer(peer, TOPIC, number)).HasField("producer_success")
        answer = await producer(other, TOPIC, 1)
        assert answer.error.error == pb.ProducerBusy
        assert "reached max producers limit" in answer.error.message
        await peer.ask("close_producer", producer_id=0, request_id=1)
        assert (await producer(other, TOPIC, 1)).HasField("producer_success")


@pytest.mark.parametrize("limit", [1, 3])
async def test_a_topic_may_have_so_many_consumers(limit):
    async with LocalBroker(settings={**QUIET, "maxConsumersPerTopic": limit}) as broker:
        peer, other = await Peer.open(broker.port), await Peer.open(broker.port)
        for number in range(limit):
            assert (await consumer(peer, number, f"s-{number % 2}")).HasField("success")
        answer = await consumer(other, 1, "s-0")
        assert refused(answer, pb.ConsumerBusy, "Topic reached max consumers limit")
        await peer.ask("close_consumer", consumer_id=0, request_id=1)
        assert (await consumer(other, 1, "s-0")).HasField("success")


@pytest.mark.parametrize("limit", [1, 3])
async def test_a_topic_may_have_so_many_subscriptions(limit):
    async with LocalBroker(settings={**QUIET, "maxSubscriptionsPerTopic": limit}) as broker:
        peer = await Peer.open(broker.port)
        for number in range(limit):
            assert (await consumer(peer, number, f"s-{number}")).HasField("success")
        answer = await consumer(peer, 10, "one-more")
        assert answer.error.error == pb.NotAllowedError
        assert "Exceed the maximum number of subscriptions" in answer.error.message
        assert (await consumer(peer, 11, "s-0")).HasField("success")
        assert (await consumer(peer, 12, "reader", durable=False)).HasField("success")
        peer.tell("unsubscribe", consumer_id=limit - 1, request_id=1, force=True)
        while not (await peer.hear()).HasField("success"):
            pass  # With a limit of 1 the other consumer is told first that it is closed.
        assert (await consumer(peer, 13, "one-more")).HasField("success")


@pytest.mark.parametrize(("size", "taken"), [(-1, True), (0, True), (1, False)])
async def test_a_consumers_properties_may_have_so_many_bytes(size, taken):
    async with LocalBroker(settings={**QUIET, "maxConsumerMetadataSize": 100}) as broker:
        peer = await Peer.open(broker.port)
        pair = pb.KeyValue(key="k" * 10, value="v" * (90 + size))
        answer = await consumer(peer, 1, "s", metadata=[pair])
        assert answer.HasField("success") is taken
        if not taken:
            assert "metadata has a max size of 100 bytes" in answer.error.message


async def test_a_shared_consumer_holds_so_many_messages_and_no_more():
    """At the limit it is blocked; at half of it it goes on, with the permits that were parked."""
    async with LocalBroker(settings={**QUIET, "maxUnackedMessagesPerConsumer": 10}) as broker:
        peer, other = await Peer.open(broker.port), await Peer.open(broker.port)
        await peer.consume(1, subType=SHARED, permits=1000)
        await other.produce(1)
        for number in range(9):
            other.wire.send(send(1, number, b"x"))
            await other.hear()
        held = [(await peer.hear()).message.message_id for _ in range(9)]
        await peer.nothing_more()
        (subscription,) = next(iter(broker.broker.registry.loaded.values())).subscriptions.values()
        (attached,) = subscription.consumers
        assert not attached.blocked
        for number in range(9, 30):
            other.wire.send(send(1, number, b"x"))
            await other.hear()
        held.append((await peer.hear()).message.message_id)
        await peer.nothing_more()
        assert attached.blocked
        for _ in range(4):
            peer.tell("ack", consumer_id=1, ack_type=0, message_id=[held.pop(0)])
        await peer.nothing_more()
        assert attached.blocked
        peer.tell("ack", consumer_id=1, ack_type=0, message_id=[held.pop(0)])
        held += [(await peer.hear()).message.message_id for _ in range(5)]
        await peer.nothing_more()
        assert attached.unacked == 10


async def test_a_subscriptions_consumers_hold_so_many_messages_together():
    settings = {**QUIET, "maxUnackedMessagesPerSubscription": 10, "dispatcherMaxReadBatchSize": 1}
    async with LocalBroker(settings=settings) as broker:
        peers = [await Peer.open(broker.port) for _ in range(2)]
        for peer in peers:
            await peer.consume(1, subType=SHARED, permits=1000)
        other = await Peer.open(broker.port)
        await other.produce(1)
        for number in range(30):
            other.wire.send(send(1, number, b"x"))
            await other.hear()
        for peer in peers:
            peer.tell("ping")
        held = []
        for peer in peers:
            while (answer := await peer.hear()).HasField("message"):
                held.append((peer, answer.message.message_id))
        assert len(held) == 10


ADMIN = "/admin/v2/persistent/public/default/t"


async def put(broker, path: str) -> int:
    headers = {"Content-Type": "application/json"}
    async with aiohttp.request("PUT", f"{broker.web_url}{path}", headers=headers) as response:
        text = await response.text()
        assert response.status in (204, 409), text
        assert response.status == 204 or "Exceed" in json.loads(text)["reason"]
        return response.status


def at_once(peer: Peer, field: str, count: int, **values) -> None:
    """So many requests in one write, each with a subscription or producer of its own."""
    each = {"producer": "initial_subscription_name", "subscribe": "subscription"}[field]
    number = {"producer": "producer_id", "subscribe": "consumer_id"}[field]
    frames = [
        command(field, topic=TOPIC, request_id=n, **{number: n, each: f"{field}-{n}"}, **values)
        for n in range(count)
    ]
    peer.wire.send(b"".join(frames))


@pytest.mark.parametrize("limit", [1, 3])
async def test_subscriptions_made_at_the_same_moment_count_too(tmp_path, limit):
    """Whichever way they come: by consumers, by producers, by an administrator."""
    settings = {"maxSubscriptionsPerTopic": limit}
    async with LocalBroker(tmp_path / "data", settings=settings) as broker:
        peer, other = await Peer.open(broker.port), await Peer.open(broker.port)
        await peer.produce(99)
        at_once(peer, "subscribe", 5, subType=SHARED)
        at_once(other, "producer", 5)
        made = [put(broker, f"{ADMIN}/subscription/admin-{n}") for n in range(5)]
        statuses, *answers = await asyncio.gather(
            asyncio.gather(*made), *(one.hear() for one in [peer, other] * 5)
        )
        granted = sum(a.HasField("success") or a.HasField("producer_success") for a in answers)
        assert granted + statuses.count(204) == limit
        refusals = [answer.error for answer in answers if answer.HasField("error")]
        assert {error.error for error in refusals} <= {pb.NotAllowedError}
        (topic,) = broker.broker.registry.loaded.values()
        assert len(topic.subscriptions) == limit


async def test_one_subscription_may_be_asked_for_by_many_at_once(tmp_path):
    settings = {**QUIET, "maxSubscriptionsPerTopic": 1}
    async with LocalBroker(tmp_path / "data", settings=settings) as broker:
        peer = await Peer.open(broker.port)
        await peer.produce(99)
        peer.wire.send(
            b"".join(
                command(
                    "subscribe",
                    topic=TOPIC,
                    subscription="s",
                    subType=SHARED,
                    consumer_id=number,
                    request_id=number,
                )
                for number in range(5)
            )
        )
        assert all([(await peer.hear()).HasField("success") for _ in range(5)])


async def test_consumers_that_come_at_the_same_moment_count_too(tmp_path):
    settings = {**QUIET, "maxConsumersPerTopic": 2}
    async with LocalBroker(tmp_path / "data", settings=settings) as broker:
        peer = await Peer.open(broker.port)
        await peer.produce(99)
        at_once(peer, "subscribe", 5, subType=SHARED)
        answers = [await peer.hear() for _ in range(5)]
        assert sum(answer.HasField("success") for answer in answers) == 2
        assert {a.error.error for a in answers if a.HasField("error")} == {pb.ConsumerBusy}
        (topic,) = broker.broker.registry.loaded.values()
        assert len(topic.subscriptions) == 2, "who is refused leaves no subscription behind"
        await peer.ask("close_consumer", consumer_id=0, request_id=9)
        assert (await consumer(peer, 9, "subscribe-0")).HasField("success")


async def test_producers_that_come_at_the_same_moment_count_too(tmp_path):
    settings = {**QUIET, "maxProducersPerTopic": 2}
    async with LocalBroker(tmp_path / "data", settings=settings) as broker:
        peer = await Peer.open(broker.port)
        await peer.consume()
        at_once(peer, "producer", 5)
        answers = [await peer.hear() for _ in range(5)]
        assert sum(answer.HasField("producer_success") for answer in answers) == 2
        assert {a.error.error for a in answers if a.HasField("error")} == {pb.ProducerBusy}
        (topic,) = broker.broker.registry.loaded.values()
        assert len(topic.producers) == 2
        assert len(topic.subscriptions) == 3, "who is refused leaves no subscription behind"


async def test_an_administrator_makes_no_more_topics_either(tmp_path):
    settings = {"maxTopicsPerNamespace": 3}
    async with LocalBroker(tmp_path / "data", settings=settings) as broker:
        plain = await asyncio.gather(*(put(broker, f"{ADMIN}{n}") for n in range(6)))
        assert plain.count(204) == 3
        url = f"{broker.web_url}{ADMIN}-p/partitions"
        async with aiohttp.request("PUT", url, json=2) as response:
            assert response.status == 412
            assert "it has 3" in json.loads(await response.text())["reason"]
        async with aiohttp.request("GET", url) as response:
            assert response.status == 404, "nothing of it is left"
