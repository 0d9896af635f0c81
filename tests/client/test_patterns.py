"""Consumers of all topics whose names match a pattern."""

import re

import pytest
from support.admin import ask
from support.loop import until
from support.network import Proxy

from magnetar import Client, InitialPosition, RegexSubscriptionMode
from magnetar.errors import InvalidValue

NEVER = {"topics_refresh_s": 0}  # The broker tells what changes.
SOON = {"topics_refresh_s": 0.1}
FIRST = {"initial_position": InitialPosition.EARLIEST}


async def put(client, topic, *payloads):
    async with await client.create_producer(topic, batching=False) as producer:
        await producer.send_many(payloads)


async def drained(consumer, count):
    messages = await consumer.receive_many(count, 10, count_min=count)
    consumer.acknowledge(messages)
    return sorted((message.topic, message.data) for message in messages)


def names(topic, *ends):
    return [f"{topic}-{end}" for end in ends]


async def test_the_topics_that_match_are_received(client, topic):
    matching = names(topic, "a", "b")
    for each in (*matching, f"{topic}-", f"{topic}-a-no", f"{topic}x"):
        await put(client, each, b"0")
    consumer = await client.subscribe(re.compile(f"{topic}-[a-z]"), "s", **FIRST)
    assert consumer.topic == f"{topic}-[a-z]"
    assert await drained(consumer, 2) == [(each, b"0") for each in matching]
    assert sorted(consumer.topics) == matching


@pytest.mark.parametrize("how", [NEVER, SOON], ids=["watched", "polled"])
async def test_topics_that_appear_are_received_from_their_first_message_on(client, topic, how):
    consumer = await client.subscribe(re.compile(f"{topic}-.*"), "s", **how)
    for each in names(topic, *range(3)):
        await put(client, each, b"0", b"1")
    expected = [(each, data) for each in names(topic, *range(3)) for data in (b"0", b"1")]
    assert await drained(consumer, 6) == expected


@pytest.mark.parametrize("how", [NEVER, SOON], ids=["watched", "polled"])
async def test_topics_that_vanish_are_forgotten_and_not_made_again(broker, client, topic, how):
    kept, gone = names(topic, "kept", "gone")
    for each in (kept, gone):
        await put(client, each, b"0")
    consumer = await client.subscribe(re.compile(f"{topic}-.*"), "s", **FIRST, **how)
    await drained(consumer, 2)
    ask(broker, "DELETE", gone.replace("://", "/") + "?force=true")
    await until(lambda: consumer.topics == [kept])
    assert gone not in await client.topics("public/default")
    await put(client, gone, b"1")
    assert await drained(consumer, 1) == [(gone, b"1")]


async def test_the_watch_is_made_anew_after_a_reconnection(broker, client, topic):
    """Brokers are asked over the proxy, and topics are used beside it."""
    port = int(broker.service_url.rpartition(":")[2])
    async with (
        Proxy("127.0.0.1", port) as proxy,
        Client(f"pulsar://127.0.0.1:{proxy.port}") as behind,
    ):
        consumer = await behind.subscribe(re.compile(f"{topic}-.*"), "s", **NEVER)
        await put(client, f"{topic}-a", b"0")
        assert await drained(consumer, 1) == [(f"{topic}-a", b"0")]
        proxy.refusing = True
        proxy.cut()
        await put(client, f"{topic}-b", b"1")
        proxy.refusing = False
        await put(client, f"{topic}-c", b"2")
        assert await drained(consumer, 2) == [(f"{topic}-b", b"1"), (f"{topic}-c", b"2")]


async def test_partitions_are_taken_as_their_topic(broker, client, topic):
    ask(broker, "PUT", f"{topic}-a".replace("://", "/") + "/partitions", 3)
    await put(client, f"{topic}-a-partition-x", b"not a partition")
    consumer = await client.subscribe(re.compile(f"{topic}-."), "s", **NEVER)
    assert sorted(consumer.topics) == names(f"{topic}-a-partition", 0, 1, 2)
    ask(broker, "PUT", f"{topic}-b".replace("://", "/") + "/partitions", 2)
    await until(lambda: len(consumer.topics) == 5)
    await put(client, f"{topic}-b", b"0", b"1")
    messages = await consumer.receive_many(2, 10, count_min=2)
    assert {message.topic[-13:-1] for message in messages} == {"b-partition-"}


@pytest.mark.one_broker
async def test_topics_that_are_not_kept_match_when_asked_for(client, topic):
    volatile = topic.replace("persistent", "non-persistent", 1)
    await put(client, f"{topic}-a", b"0")
    producer = await client.create_producer(f"{volatile}-a")
    pattern = re.compile(f"{topic}-.*")
    modes = RegexSubscriptionMode
    found = {
        mode: (await client.subscribe(pattern, mode.name, regex_subscription_mode=mode)).topics
        for mode in modes
    }
    assert found[modes.PERSISTENT_ONLY] == [f"{topic}-a"]
    assert found[modes.NON_PERSISTENT_ONLY] == [f"{volatile}-a"]
    assert sorted(found[modes.ALL_TOPICS]) == sorted([f"{topic}-a", f"{volatile}-a"])
    await producer.close()


@pytest.mark.one_broker
async def test_what_comes_is_not_kept_and_found_all_the_same(client, topic):
    volatile = topic.replace("persistent", "non-persistent", 1)
    consumer = await client.subscribe(
        re.compile(f"{volatile}-.*"),
        "s",
        regex_subscription_mode=RegexSubscriptionMode.NON_PERSISTENT_ONLY,
        **SOON,
    )
    async with await client.create_producer(f"{volatile}-a") as producer:
        await until(lambda: consumer.topics == [f"{volatile}-a"])
        await producer.send(b"0")
        assert (await consumer.receive(10)).data == b"0"


async def test_a_pattern_names_one_namespace(client):
    for pattern in ("persistent://public/.*/t", "persistent://.*/default/t", "a/b"):
        with pytest.raises(InvalidValue, match="one namespace"):
            await client.subscribe(re.compile(pattern), "s")


async def test_a_short_pattern_is_of_the_default_namespace(client, topic):
    await put(client, f"{topic}-a", b"0")
    local = topic.rpartition("/")[2]
    consumer = await client.subscribe(re.compile(f"{local}-[^b]"), "s", **FIRST)
    assert await drained(consumer, 1) == [(f"{topic}-a", b"0")]
