"""Who may send to a topic: one that shares it, owns it, waits for it or takes it.

Time passes in one test, which shows that the operation timeout does not end who waits in line.
"""

import asyncio
from contextlib import suppress

import pytest
from support.admin import ask
from support.elsewhere import until_elsewhere

from magnetar import Client
from magnetar.errors import AlreadyClosed, ProducerBusy, ProducerFenced
from magnetar.model.producers import ProducerAccessMode

pytestmark = pytest.mark.unmoved  # Whoever is there first has a topic that was moved.

EXCLUSIVE = ProducerAccessMode.EXCLUSIVE
FENCING = ProducerAccessMode.EXCLUSIVE_WITH_FENCING
WAIT = ProducerAccessMode.WAIT_FOR_EXCLUSIVE


async def in_line(broker, topic, count):
    """Wait until so many producers stand in line."""
    stats = topic.replace("://", "/") + "/stats"
    await until_elsewhere(
        lambda: ask(broker, "GET", stats)["waitingPublishers"] == count, "they wait at the broker"
    )


async def test_an_exclusive_producer_keeps_others_out_until_it_is_closed(client, topic):
    owner = await client.create_producer(topic, access_mode=EXCLUSIVE)
    with pytest.raises(ProducerFenced):
        await client.create_producer(topic, access_mode=EXCLUSIVE)
    with pytest.raises(ProducerBusy):
        await client.create_producer(topic)
    await owner.send(b"0")
    await owner.close()
    await (await client.create_producer(topic)).send(b"1")


async def test_fencing_ends_who_has_the_topic(client, topic):
    owner = await client.create_producer(topic, access_mode=EXCLUSIVE)
    await owner.send(b"0")
    fencing = await client.create_producer(topic, access_mode=FENCING)
    with pytest.raises(ProducerFenced):
        await owner.send(b"1")
    with pytest.raises(ProducerFenced):
        owner.send_nowait(b"2")
    await fencing.send(b"3")
    reader = await client.create_reader(topic)
    assert [(await reader.receive(10)).data for _ in range(2)] == [b"0", b"3"]
    assert not await reader.has_message_available()


async def test_who_waits_gets_the_topic_in_its_turn_however_long_it_takes(broker, client, topic):
    owner = await client.create_producer(topic)
    async with Client(broker.service_url, operation_timeout_s=0.5) as patient:
        waiting = asyncio.ensure_future(patient.create_producer(topic, access_mode=WAIT))
        done, _ = await asyncio.wait((waiting,), timeout=0.7)
        assert not done
        await owner.close()
        await (await waiting).send(b"its turn")
        with pytest.raises(ProducerBusy):
            await client.create_producer(topic)


async def test_who_gives_up_waiting_is_passed_over(broker, client, topic):
    owner = await client.create_producer(topic, access_mode=EXCLUSIVE)
    first = asyncio.ensure_future(client.create_producer(topic, access_mode=WAIT))
    await in_line(broker, topic, 1)
    second = asyncio.ensure_future(client.create_producer(topic, access_mode=WAIT))
    await in_line(broker, topic, 2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await owner.close()
    await (await second).send(b"the second")


async def test_who_waits_is_fenced_out_by_who_does_not(broker, client, topic):
    await client.create_producer(topic, access_mode=EXCLUSIVE)
    waiting = asyncio.ensure_future(client.create_producer(topic, access_mode=WAIT))
    await in_line(broker, topic, 1)
    fencing = await client.create_producer(topic, access_mode=FENCING)
    with pytest.raises(ProducerFenced):
        await waiting
    await fencing.send(b"0")


async def test_a_client_that_closes_ends_its_waiting(broker, client, topic):
    await client.create_producer(topic, access_mode=EXCLUSIVE)
    other = Client(broker.service_url)
    waiting = asyncio.ensure_future(other.create_producer(topic, access_mode=WAIT))
    await in_line(broker, topic, 1)
    await other.close()
    with pytest.raises(AlreadyClosed):
        await waiting


async def test_an_owner_comes_back_as_the_owner(broker, client, topic):
    owner = await client.create_producer(topic, access_mode=EXCLUSIVE)
    await owner.send(b"0")
    ask(broker, "PUT", topic.replace("://", "/") + "/unload")
    await owner.send(b"1")
    with pytest.raises(ProducerFenced):
        await client.create_producer(topic, access_mode=EXCLUSIVE)


async def test_two_that_wait_for_all_partitions_do_not_wait_for_each_other(broker, client, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 4)

    async def own(name):
        async with await client.create_producer(topic, name=name, access_mode=WAIT) as producer:
            await producer.send_many([name.encode()] * 8)

    async with asyncio.timeout(20):
        await asyncio.gather(*(own(f"owner-{number}") for number in range(4)))


async def test_who_waits_for_a_topic_that_moves_gets_it_all_the_same(broker, client, topic):
    owner = await client.create_producer(topic, access_mode=EXCLUSIVE)
    waiting = asyncio.ensure_future(client.create_producer(topic, access_mode=WAIT))
    await in_line(broker, topic, 1)
    ask(broker, "PUT", topic.replace("://", "/") + "/unload")
    with suppress(ProducerFenced):  # Who waited may have been the first to come back.
        await owner.send(b"0")
    await owner.close()
    await (await asyncio.wait_for(waiting, 20)).send(b"1")
