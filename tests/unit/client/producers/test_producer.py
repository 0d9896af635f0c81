"""Producers of partitioned topics of a real broker; ``test_topic_producer`` has the others."""

import asyncio
from itertools import pairwise

import pytest
from unit.client.local import PARTITIONS

from magnetar.client.client import Client
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import PackedBatch
from magnetar.client.producers.interceptors import ProducerInterceptor
from magnetar.client.producers.routing import HashingScheme, RoutingMode, key_hash
from magnetar.errors import AlreadyClosed, InvalidValue, MessageTooLarge, NotReady
from magnetar.message.batch import pack
from magnetar.model.subscriptions import InitialPosition
from magnetar.wire.commands import BaseCommand


async def stored(partitioned_client, count):
    """What each partition holds, in order."""
    found = [[] for _ in range(PARTITIONS)]
    async with await partitioned_client.subscribe(
        "t", "check", initial_position=InitialPosition.EARLIEST
    ) as consumer:
        for _ in range(count):
            message = await consumer.receive(5)
            found[message.partition].append(message.data)
    return found


async def test_one_producer_sends_to_all_partitions(partitioned_client):
    producer = await partitioned_client.create_producer(
        "t", batch_messages_max=2, batch_delay_s=60, name="me"
    )
    assert producer.topic == "persistent://public/default/t"
    assert producer.name == "me"
    assert producer.connected
    ids = await asyncio.gather(*(producer.submit(b"%d" % n) for n in range(6)))
    assert [found.partition for found in ids[::2]] == [found.partition for found in ids[1::2]]
    assert sorted({found.partition for found in ids}) == [0, 1, 2]
    assert [len(held) for held in await stored(partitioned_client, 6)] == [2, 2, 2]
    assert producer.last_sequence_id == 1


@pytest.mark.parametrize("scheme", HashingScheme)
async def test_a_key_has_its_partition(partitioned_client, scheme):
    producer = await partitioned_client.create_producer("t", hashing=scheme)
    for key in ("a", "b", "another"):
        ids = await asyncio.gather(*(producer.submit(b"x", key=key) for _ in range(3)))
        assert {found.partition for found in ids} == {key_hash(key, scheme) % PARTITIONS}
    many = await producer.send_many(
        [OutgoingMessage(b"x", key="a"), OutgoingMessage(b"y", key=b"\xff")]
    )
    assert [found.partition for found in many] == [
        key_hash(text, scheme) % PARTITIONS for text in ("a", "/w==")
    ]


async def test_a_single_partition_is_kept_to(partitioned_client):
    producer = await partitioned_client.create_producer("t", routing=RoutingMode.SINGLE)
    ids = [*await producer.send_many([b"x"] * 5000), await producer.send(b"y")]
    assert len({found.partition for found in ids}) == 1


async def test_the_application_may_choose(partitioned_client):
    producer = await partitioned_client.create_producer(
        "t", routing=lambda message, n: n - 1 if message.key else 0
    )
    ids = await producer.send_many([b"0", OutgoingMessage(b"1", key="k"), b"2"])
    assert [found.partition for found in ids] == [0, 2, 0]


async def test_many_come_back_in_the_order_they_were_given(partitioned_client):
    producer = await partitioned_client.create_producer("t", batch_messages_max=100)
    payloads = [b"%d" % n for n in range(1000)]
    ids = await producer.send_many(payloads)
    assert len(ids) == 1000
    async with await partitioned_client.subscribe(
        "t", "s", initial_position=InitialPosition.EARLIEST
    ) as consumer:
        where = {}
        while len(where) < 1000:
            where |= {m.data: m.message_id for m in await consumer.receive_many(1000, 5)}
    assert [where[payload] for payload in payloads] == list(ids)
    assert len({found.partition for found in ids}) == PARTITIONS


async def test_without_batching_each_message_moves_on(partitioned_client):
    producer = await partitioned_client.create_producer("t", batching=False)
    ids = await producer.send_many([b"x"] * 6)
    places = [found.partition for found in ids]
    assert [(after - before) % PARTITIONS for before, after in pairwise(places)] == [1] * 5


async def test_what_is_wrong_with_one_of_many_is_said_after_the_others_are_stored(
    partitioned_client,
):
    producer = await partitioned_client.create_producer("t")
    with pytest.raises(MessageTooLarge):
        await producer.send_many([b"0", bytes(6 << 20), b"1"])
    assert sum(map(len, await stored(partitioned_client, 2))) == 2


async def test_room_flush_and_the_end_are_those_of_all_partitions(partitioned_client):
    producer = await partitioned_client.create_producer(
        "t", batch_delay_s=60, max_pending_messages=1, routing=lambda _, __: 1
    )
    producer.send_nowait(b"0")
    with pytest.raises(NotReady):
        producer.send_nowait(b"1")
    await producer.ready()
    producer.send_nowait(b"1")
    await producer.flush()
    assert (await stored(partitioned_client, 2))[1] == [b"0", b"1"]
    async with producer:
        last = producer.submit(b"2")
    assert (await last).partition == 1
    with pytest.raises(AlreadyClosed, match="closed"):
        producer.submit(b"3")
    await producer.close()


async def test_partitions_added_later_are_sent_to(peer):
    peer.partitions = 1
    async with Client(peer.url, partitions_refresh_s=0.01) as client:
        producer = await client.create_producer("t", batching=False)
        consumer = await client.subscribe("t", "s")
        assert producer.partitions == 1
        peer.partitions = 3
        await peer.saw(BaseCommand.PRODUCER, 3)
        await peer.saw(BaseCommand.FLOW, 3)
        await client.partitions("t")  # The answers above were handled before this one.
        assert producer.partitions == len(consumer.topics) == 3
        names = {run.producer_id for run in peer.runs}
        await producer.send_many([b"x"] * 3)
        assert len({run.producer_id for run in peer.runs} - names) == 3


async def test_what_was_handed_over_is_routed_and_told_what_went_wrong(partitioned_client):
    def choose(message, _partitions):
        return int(message.key)

    producer = await partitioned_client.create_producer("t", routing=choose)
    with_keys = [OutgoingMessage(b"%d" % n, key=str(n)) for n in range(PARTITIONS)]
    receipts = [asyncio.get_running_loop().create_future() for _ in range(PARTITIONS + 1)]
    producer._take(
        [
            (b"lost", None, receipts[-1]),
            b"lost without a word",
            *(
                (each.value, each, receipt)
                for each, receipt in zip(with_keys, receipts, strict=False)
            ),
        ]
    )
    found = await asyncio.gather(*receipts[:PARTITIONS])
    assert [each.partition for each in found] == list(range(PARTITIONS))
    for told in (receipts[-1], producer.flush()):
        with pytest.raises(InvalidValue, match="the routing function failed"):
            await told


async def test_packed_batches_go_to_one_partition_only(partitioned_client):
    batch = PackedBatch(pack([b"a", b"b"], first_sequence_id=7), 2, 7, 2)
    for topic, options in (("t", {}), ("t-partition-1", {"interceptors": [ProducerInterceptor()]})):
        async with await partitioned_client.create_producer(topic, **options) as producer:
            with pytest.raises(InvalidValue, match="one partition, unseen by interceptors"):
                await producer.enqueue_packed([batch])
    async with await partitioned_client.create_producer("t-partition-1") as producer:
        await producer.enqueue_packed([batch])
        await producer.flush()
        assert producer.last_sequence_id == 8
    assert await stored(partitioned_client, 2) == [[], [b"a", b"b"], []]
