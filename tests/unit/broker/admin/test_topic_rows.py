"""Rows that are kept from one scrape to the next, through real clients and the admin API."""

import asyncio
import random
from contextlib import asynccontextmanager

import aiohttp
import pytest
from support.clock import ManualClock
from support.loop import until, until_idle

from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.broker.admin.topic_rows import RowMaker
from magnetar.testing.local_broker import LocalBroker

TOPICS = ["a", "b"]
SETTINGS = {
    "exposeProducerLevelMetricsInPrometheus": True,
    "exposeConsumerLevelMetricsInPrometheus": True,
    "statsUpdateFrequencyInSecs": 60,
}


class World:
    """Clients of a broker, its admin API and its metrics."""

    def __init__(self, broker, client, http, clock):
        self.client = client
        self.clock = clock
        self.producers = {}
        self.consumers = {}
        self._broker = broker
        self._http = http

    async def admin(self, method, path, body=None):
        url = f"{self._broker.web_url}/admin/v2/{path}"
        async with self._http.request(method, url, json=body) as answer:
            await answer.read()
            return answer.status

    async def settled(self):
        """Return when all are attached that are to be, and wait for nothing else."""
        loaded = self._broker.broker.registry.loaded
        attached = len(self.producers) + len(self.consumers)
        await until(lambda: sum(each.busy for each in loaded.values()) == attached)
        await until_idle()

    async def scrape(self):
        """What is told of topics."""
        async with self._http.get(f"{self._broker.web_url}/metrics/") as answer:
            lines = (await answer.text()).splitlines()
        return [each for each in lines if "persistent://public" in each]


@asynccontextmanager
async def world():
    clock = ManualClock()
    async with (
        LocalBroker(clock=clock, settings=SETTINGS) as broker,
        Client(broker.service_url) as client,
        aiohttp.ClientSession() as http,
    ):
        yield World(broker, client, http, clock)


async def publish(its, topic, draw):
    if topic not in its.producers:
        its.producers[topic] = await its.client.create_producer(topic)
    for _ in range(draw.randint(1, 3)):
        await its.producers[topic].send(b"x" * draw.randint(1, 2000))


async def stop_publishing(its, topic, _draw):
    if topic in its.producers:
        await its.producers.pop(topic).close()


async def subscribe(its, topic, draw):
    name = draw.choice(["s", "t"])
    if (topic, name) not in its.consumers:
        its.consumers[topic, name] = await its.client.subscribe(
            topic,
            name,
            type=SubscriptionType.SHARED,
            initial_position=draw.choice(list(InitialPosition)),
            receiver_queue_size=draw.randint(1, 5),
            ack_receipts=True,
        )


async def consume(its, topic, draw):
    """Take what there is, and acknowledge most of it."""
    for (of, _), consumer in its.consumers.items():
        while of == topic and await consumer.backlog():
            try:
                async with asyncio.timeout(0.05):
                    message = await consumer.receive()
            except TimeoutError:
                break
            if draw.random() < 0.9:
                await consumer.acknowledge(message)


async def leave(its, topic, draw):
    for key in [key for key in its.consumers if key[0] == topic]:
        consumer = its.consumers.pop(key)
        await (consumer.unsubscribe() if draw.random() < 0.3 else consumer.close())


async def create_subscription(its, topic, draw):
    path = f"persistent/public/default/{topic}/subscription/{draw.choice('stu')}"
    await its.admin("PUT", path, draw.choice(["earliest", "latest"]))


async def delete_subscription(its, topic, draw):
    await its.admin(
        "DELETE", f"persistent/public/default/{topic}/subscription/{draw.choice('stu')}"
    )


async def skip_all(its, topic, draw):
    name = draw.choice("stu")
    await its.admin("POST", f"persistent/public/default/{topic}/subscription/{name}/skip_all")


async def reset(its, topic, draw):
    name = draw.choice("stu")
    path = f"persistent/public/default/{topic}/subscription/{name}/resetcursor/0"
    await its.admin("POST", path)


async def limit_backlog(its, _topic, draw):
    limit = {"limitSize": draw.randint(10_000, 10_000_000), "policy": "consumer_backlog_eviction"}
    await its.admin("POST", "namespaces/public/default/backlogQuota", limit)


async def unload(its, topic, _draw):
    await its.admin("PUT", f"persistent/public/default/{topic}/unload")


async def compact(its, topic, _draw):
    await its.admin("PUT", f"persistent/public/default/{topic}/compaction")


async def pass_time(its, _topic, draw):
    await its.clock.advance(draw.choice([1, 61, 130]))


async def nothing(_its, _topic, _draw):
    """Only look again."""


STEPS = [
    publish,
    publish,
    stop_publishing,
    subscribe,
    consume,
    consume,
    leave,
    create_subscription,
    delete_subscription,
    skip_all,
    reset,
    limit_backlog,
    unload,
    compact,
    pass_time,
    nothing,
]


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_kept_is_what_would_be_found(seed, monkeypatch):
    draw, done = random.Random(seed), []
    async with world() as its:
        for topic in TOPICS:
            await publish(its, topic, draw)
        for _ in range(60):
            step, topic = draw.choice(STEPS), draw.choice(TOPICS)
            done.append((step.__name__, topic))
            await its.scrape()  # This is what is kept.
            await step(its, topic, draw)
            await its.settled()
            kept = await its.scrape()
            with monkeypatch.context() as patch:
                patch.setattr(RowMaker, "mark", lambda *_: None)
                assert kept == await its.scrape(), done


async def test_a_topic_at_which_nothing_happens_is_looked_up_once(monkeypatch):
    made, make = [], RowMaker.make

    def counted(maker, name, *known):
        made.append(str(name).rpartition("/")[2])
        return make(maker, name, *known)

    monkeypatch.setattr(RowMaker, "make", counted)
    draw = random.Random(0)
    async with world() as its:
        for topic in TOPICS:
            await subscribe(its, topic, draw)
        await its.scrape()
        made.clear()
        before = await its.scrape()
        assert not made
        await publish(its, "b", draw)
        after = await its.scrape()
        assert (made, before == after) == (["b"], False)
        made.clear()
        await its.scrape()  # Its backlog grows old meanwhile.
        assert made == ["b"]
