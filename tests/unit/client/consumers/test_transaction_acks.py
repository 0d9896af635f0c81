"""Acknowledgements in transactions, against the scripted peer."""

import asyncio

import pytest
from support.loop import until, until_idle
from unit.client.coordinators import PeerCoordinators, conflict, deny, grant
from unit.client.peer import LEDGER, hang_up, lose_connection

from magnetar.client.consumers import transaction_acks
from magnetar.client.consumers.acknowledgements import bits
from magnetar.errors import (
    AlreadyClosed,
    NotAllowed,
    NotAuthorized,
    TransactionAborted,
    TransactionConflict,
)
from magnetar.model.position import MessageId
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.wire.commands import BaseCommand

TOPIC = "persistent://public/default/t"


@pytest.fixture(autouse=True)
def coordinators(peer):
    return PeerCoordinators(peer)


async def subscribed(client, kind=SubscriptionType.SHARED, topic="t", **options):
    return await client.subscribe(
        topic, "s", type=kind, initial_position=InitialPosition.EARLIEST, **options
    )


async def put(client, count, **options):
    """So many messages, each an entry; or with ``batching=True`` all in one."""
    options = {"batching": False, **options}
    async with client.create_producer("t", **options) as producer:
        await producer.send_many([b"%d" % n for n in range(count)])


def acks(peer):
    """What the peer was told: for each command the entries, and the bits that were left of each."""
    return [
        [(each.entryId, bits(each.ack_set), each.batch_size) for each in command.ack.message_id]
        for command in peer.of(BaseCommand.ACK)
    ]


async def test_what_is_acknowledged_in_one_iteration_leaves_together(coordinators, peer, client):
    await put(client, 4)
    consumer = await subscribed(client)
    messages = await consumer.receive_many(count_min=4)
    async with client.transaction() as txn:
        for message in messages[:3]:
            consumer.acknowledge(message, txn=txn)
        await consumer.acknowledge(messages[3:], txn=txn)
    assert acks(peer) == [[(n, 0, 0) for n in range(4)]]
    ack = peer.of(BaseCommand.ACK)[0].ack
    assert (ack.txnid_most_bits, ack.txnid_least_bits) == (0, 0)
    assert ack.HasField("request_id")
    assert coordinators.subscriptions() == [(TOPIC, "s")]


async def test_a_subscription_is_told_of_once_in_a_transaction(coordinators, peer, client):
    await put(client, 3)
    consumer = await subscribed(client)
    messages = await consumer.receive_many(count_min=3)
    async with client.transaction() as txn:
        await consumer.acknowledge(messages[0], txn=txn)
        await consumer.acknowledge(messages[1].message_id, txn=txn)
    async with client.transaction() as txn:
        await consumer.acknowledge(messages[2], txn=txn)
    assert coordinators.subscriptions() == [(TOPIC, "s")] * 2
    assert len(acks(peer)) == 3


async def test_the_end_waits_for_what_nobody_awaits(peer, client):
    await put(client, 1)
    consumer = await subscribed(client)
    held = []
    peer.script(BaseCommand.ADD_SUBSCRIPTION_TO_TXN, lambda *asked: held.append(asked))
    message = await consumer.receive()
    txn = await client.transaction()
    consumer.acknowledge(message, txn=txn)
    commit = asyncio.ensure_future(txn.commit())
    await until(lambda: held)
    await until_idle()
    assert not peer.of(BaseCommand.END_TXN)
    grant(*held[0])
    await commit
    assert len(acks(peer)) == 1
    with pytest.raises(AlreadyClosed):
        consumer.acknowledge(message, txn=txn)


async def test_messages_of_a_batch_are_told_by_those_that_are_acknowledged_now(peer, client):
    await put(client, 5, batching=True)
    consumer = await subscribed(client)
    messages = await consumer.receive_many(count_min=5)
    async with client.transaction() as txn:
        await consumer.acknowledge([messages[0], messages[2]], txn=txn)
        await consumer.acknowledge(messages[4].message_id, txn=txn)
        await consumer.acknowledge([messages[1], messages[3]], txn=txn)
    async with client.transaction() as txn:
        await consumer.acknowledge(messages, txn=txn)
    assert acks(peer) == [
        [(0, 0b11010, 5)],
        [(0, 0b01111, 5)],
        [(0, 0b10101, 5)],
        [(0, 0, 0)],
    ]


async def test_a_whole_entry_by_its_id(peer, client):
    await put(client, 5, batching=True)
    consumer = await subscribed(client)
    async with client.transaction() as txn:
        await consumer.acknowledge(MessageId(LEDGER, 0), txn=txn)
    assert acks(peer) == [[(0, 0, 0)]]


@pytest.mark.parametrize("batching", [True, False])
async def test_a_message_that_was_delivered_again_is_not_done_twice_in_one(peer, client, batching):
    await put(client, 2, batching=batching)
    consumer = await subscribed(client)
    messages = await consumer.receive_many(count_min=2)
    txn = await client.transaction()
    consumer.acknowledge(messages, txn=txn)
    with pytest.raises(TransactionConflict, match=r"acknowledged twice in transaction \(0,0\)"):
        await consumer.acknowledge(messages[1], txn=txn)
    assert not acks(peer)
    with pytest.raises(TransactionAborted):
        await txn.commit()
    await peer.saw(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)


async def test_a_chunked_message_is_acknowledged_with_all_its_chunks(peer, client):
    peer.message_size_max = 1000
    async with client.create_producer("t", chunking=True, batching=False) as producer:
        await producer.send(b"x" * 2500)
    consumer = await subscribed(client)
    message = await consumer.receive()
    async with client.transaction() as txn:
        await consumer.acknowledge(message, txn=txn)
    assert acks(peer) == [[(n, 0, 0) for n in range(len(peer.entries))]]


async def test_many_leave_in_several_commands(peer, client, monkeypatch):
    monkeypatch.setattr(transaction_acks, "IDS_MAX", 2)
    await put(client, 5)
    consumer = await subscribed(client)
    async with client.transaction() as txn:
        await consumer.acknowledge(await consumer.receive_many(count_min=5), txn=txn)
    assert [len(each) for each in acks(peer)] == [2, 2, 1]


async def test_cumulative(peer, client):
    await put(client, 3)
    await put(client, 3, batching=True)
    consumer = await subscribed(client, SubscriptionType.EXCLUSIVE)
    messages = await consumer.receive_many(count_min=6)
    async with client.transaction() as txn:
        consumer.acknowledge_cumulative(messages[2], txn=txn)
        await consumer.acknowledge_cumulative(messages[1], txn=txn)
        await consumer.acknowledge_cumulative(messages[4], txn=txn)
        await consumer.acknowledge_cumulative(messages[5], txn=txn)
    assert acks(peer) == [[(2, 0, 0)], [(3, 0b100, 3)], [(3, 0, 0)]]
    assert all(each.ack.ack_type == each.ack.Cumulative for each in peer.of(BaseCommand.ACK))


async def test_cumulative_on_a_shared_subscription(client):
    await put(client, 1)
    consumer = await subscribed(client)
    txn = await client.transaction()
    with pytest.raises(NotAllowed, match="SHARED"):
        consumer.acknowledge_cumulative(await consumer.receive(), txn=txn)


async def test_what_another_transaction_has_acknowledged(peer, client):
    await put(client, 1)
    consumer = await subscribed(client)
    message = await consumer.receive()
    peer.script(BaseCommand.ACK, conflict(TransactionConflict("it is pending")))
    txn = await client.transaction()
    with pytest.raises(TransactionConflict, match=f"{TOPIC}, subscription s.*it is pending"):
        await consumer.acknowledge(message, txn=txn)
    with pytest.raises(TransactionAborted) as aborted:
        await txn.commit()
    assert isinstance(aborted.value.__cause__, TransactionConflict)
    asked = await peer.saw(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    assert [each.entryId for each in asked.redeliverUnacknowledgedMessages.message_ids] == [0]


async def test_an_error_that_nobody_awaits_keeps_it_from_being_committed(peer, client):
    await put(client, 1)
    consumer = await subscribed(client)
    peer.script(BaseCommand.ADD_SUBSCRIPTION_TO_TXN, deny(NotAuthorized("not yours")))
    with pytest.raises(TransactionAborted, match="not yours"):
        async with client.transaction() as txn:
            consumer.acknowledge(await consumer.receive(), txn=txn)


async def test_what_a_cumulative_one_acknowledged_is_asked_for_unless_it_counts(peer, client):
    await put(client, 3)
    consumer = await subscribed(client, SubscriptionType.EXCLUSIVE)
    messages = await consumer.receive_many(count_min=3)
    async with client.transaction() as txn:
        await consumer.acknowledge_cumulative(messages[0], txn=txn)
    txn = await client.transaction()
    consumer.acknowledge_cumulative(messages[2], txn=txn)
    await txn.abort()
    await peer.saw(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    assert len(peer.of(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)) == 1


async def test_what_is_acknowledged_is_not_asked_for_again(peer, client):
    await put(client, 1)
    consumer = await subscribed(client, ack_timeout_s=1)
    async with client.transaction() as txn:
        await consumer.acknowledge(await consumer.receive(), txn=txn)
    assert not consumer._parts.only.redeliveries.wheel.entries
    await consumer.close()
    assert not peer.of(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)


async def test_an_answer_that_is_lost_is_asked_for_again(peer, client):
    await put(client, 1)
    consumer = await subscribed(client)
    message = await consumer.receive()
    peer.script(BaseCommand.ACK, hang_up)
    async with client.transaction() as txn:
        await consumer.acknowledge(message, txn=txn)
    assert acks(peer) == [[(0, 0, 0)]] * 2


async def test_it_waits_for_the_consumer_to_be_attached(peer, client):
    await put(client, 1)
    consumer = await subscribed(client)
    message = await consumer.receive()
    await lose_connection(peer, consumer)
    async with client.transaction() as txn:
        consumer.acknowledge(message, txn=txn)
    assert acks(peer) == [[(0, 0, 0)]]


async def test_several_topics(coordinators, peer, client):
    peer.partitions = 2
    await put(client, 4)
    consumer = await subscribed(client)
    messages = await consumer.receive_many(count_min=4)
    async with client.transaction() as txn:
        await consumer.acknowledge(messages, txn=txn)
    assert sorted(coordinators.subscriptions()) == [(f"{TOPIC}-partition-{n}", "s") for n in (0, 1)]


async def test_a_topic_that_keeps_nothing_is_not_asked(peer, client):
    await put(client, 1)
    consumer = await subscribed(client, topic="non-persistent://public/default/t")
    async with client.transaction() as txn:
        await consumer.acknowledge(MessageId(LEDGER, 0), txn=txn)
    assert not acks(peer)
