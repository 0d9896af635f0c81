"""A consumer of one topic against the scripted peer: permits, places, reconnections, the end."""

import asyncio

import pytest
from support import draining
from support.draining import data
from support.loop import until
from unit.client.peer import PeerConnection, hang_up, lose_connection, refuse, silence

from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.consumers.subscribing import Subscribing
from magnetar.client.consumers.topic_consumer import TopicConsumer
from magnetar.errors import (
    AlreadyClosed,
    ConsumerBusy,
    NotReady,
    SubscriptionNotFound,
    TimedOut,
    TopicNotFound,
)
from magnetar.model.names import TopicName
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


async def drained(consumer, count):
    """The next ``count`` payloads."""
    return data(await draining.drained(consumer, count))


async def acks(peer, count):
    """What was acknowledged by ``count`` commands: entry ids, one list each."""
    await peer.saw(BaseCommand.ACK, count)
    return [[place.entryId for place in c.ack.message_id] for c in peer.of(BaseCommand.ACK)]


async def test_it_subscribes_as_told(peer, client):
    await client.subscribe(
        "t",
        "sub",
        type=SubscriptionType.FAILOVER,
        initial_position=InitialPosition.EARLIEST,
        name="me",
        priority_level=2,
        properties={"a": "b"},
        subscription_properties={"c": "d"},
        receiver_queue_size=17,
    )
    asked = peer.of(BaseCommand.SUBSCRIBE)[0].subscribe
    assert (asked.topic, asked.subscription) == ("persistent://public/default/t", "sub")
    assert (asked.subType, asked.initialPosition, asked.durable) == (2, 1, True)
    assert (asked.consumer_name, asked.priority_level) == ("me", 2)
    assert [(p.key, p.value) for p in asked.metadata] == [("a", "b")]
    assert [(p.key, p.value) for p in asked.subscription_properties] == [("c", "d")]
    flow = await peer.saw(BaseCommand.FLOW)
    assert flow.flow.messagePermits == 17


@pytest.mark.usefixtures("stored")
async def test_permits_go_back_by_halves(peer, client):
    consumer = await client.subscribe("t", "s", receiver_queue_size=4)
    assert data([await consumer.receive(5) for _ in range(8)]) == [b"%d" % n for n in range(8)]
    await until(lambda: sum(c.flow.messagePermits for c in peer.of(BaseCommand.FLOW)) == 12)
    assert {c.flow.messagePermits for c in peer.of(BaseCommand.FLOW)[1:]} == {2}


@pytest.mark.usefixtures("stored")
async def test_what_is_acknowledged_is_told_by_entry(peer, client):
    consumer = await client.subscribe("t", "s")
    messages = []
    while len(messages) < 8:
        messages += await consumer.receive_many(8, 5)
    consumer.acknowledge([*messages[:3], messages[5]])
    await consumer.flush()
    consumer.acknowledge_cumulative(messages[4])
    await consumer.flush()
    assert await acks(peer, 3) == [[0], [2], [1]]  # Message 4 completes entry 2.
    assert [c.ack.ack_type for c in peer.of(BaseCommand.ACK)] == [0, 0, 1]


@pytest.mark.usefixtures("stored")
async def test_after_a_lost_connection_only_what_is_not_acknowledged_comes_again(peer, client):
    consumer = await client.subscribe("t", "s")
    messages = []
    while len(messages) < 8:
        messages += await consumer.receive_many(8 - len(messages), 5)
    consumer.acknowledge([messages[0], messages[1], messages[2], messages[6], messages[7]])
    await lose_connection(peer, consumer)
    again = []
    while len(again) < 3:
        again += await consumer.receive_many(8, 5)
    assert data(again) == [b"3", b"4", b"5"]
    assert all(message.redelivered for message in again)
    consumer.acknowledge(again)
    await consumer.flush()
    first, second = await acks(peer, 2)
    assert first == [0, 3]
    assert sorted(second) == [0, 1, 2, 3]  # The peer forgot: 0 and 3 are said again.


@pytest.mark.usefixtures("stored")
async def test_acknowledgements_the_broker_may_not_have_got_are_said_again(peer, client):
    consumer = await client.subscribe("t", "s")
    messages = [await consumer.receive(5) for _ in range(4)]
    consumer.acknowledge(messages)
    await consumer.flush()
    await peer.saw(BaseCommand.ACK)
    await lose_connection(peer, consumer)  # The peer never moves its mark: it forgot them.
    assert await drained(consumer, 4) == [b"4", b"5", b"6", b"7"]
    assert sorted((await acks(peer, 2))[1]) == [0, 1]


@pytest.mark.usefixtures("stored")
async def test_what_waited_in_the_queue_is_not_delivered_twice(peer, client):
    consumer = await client.subscribe("t", "s")
    first = await consumer.receive(5)
    consumer.acknowledge(first)
    await lose_connection(peer, consumer)
    await peer.saw(BaseCommand.SUBSCRIBE, 2)
    assert await drained(consumer, 7) == [b"%d" % n for n in range(1, 8)]
    with pytest.raises(TimedOut):
        await consumer.receive(0.05)


@pytest.mark.usefixtures("stored")
async def test_thrown_out_by_the_broker_it_comes_back_on_the_same_connection(peer, client):
    consumer = await client.subscribe("t", "s")
    assert await drained(consumer, 3) == [b"0", b"1", b"2"]
    there = peer.connections[0]
    there.subscribed.clear()
    there.write(replies.close_consumer(0))
    await peer.saw(BaseCommand.SUBSCRIBE, 2)
    assert await drained(consumer, 8) == [b"%d" % n for n in range(8)]
    assert len(peer.of(BaseCommand.CONNECT)) == 2  # One of them the fixture's.


@pytest.mark.usefixtures("stored")
async def test_while_its_old_self_holds_the_subscription_it_waits(peer, client):
    consumer = await client.subscribe("t", "s")
    busy = refuse("subscribe", ConsumerBusy("Exclusive consumer is already connected"))
    peer.script(BaseCommand.SUBSCRIBE, busy, busy)
    await lose_connection(peer, consumer)
    await peer.saw(BaseCommand.SUBSCRIBE, 4)
    assert await drained(consumer, 1) == [b"0"]


async def test_a_subscription_that_is_taken_is_refused_at_once(peer, lookup, context):
    peer.script(BaseCommand.SUBSCRIBE, refuse("subscribe", ConsumerBusy("taken")))
    consumer = TopicConsumer(
        Subscribing(TopicName.parse("t"), "s", "me", 10, None),
        ConsumerConfig(),
        context,
        arrived=lambda _: None,
        failed=lambda _: None,
    )
    with pytest.raises(ConsumerBusy, match="taken"):
        await consumer.start()
    assert (await lookup.connect("t")).consumers == {}
    await consumer.close()


@pytest.mark.usefixtures("stored")
async def test_a_topic_that_is_gone_ends_it(peer, client):
    consumer = await client.subscribe("t", "s")
    await drained(consumer, 8)
    peer.script(BaseCommand.SUBSCRIBE, refuse("subscribe", TopicNotFound("deleted")))
    waiting = asyncio.ensure_future(consumer.receive())
    await lose_connection(peer, consumer)
    with pytest.raises(TopicNotFound, match="deleted"):
        await waiting
    with pytest.raises(TopicNotFound, match="deleted"):
        await consumer.receive_many()
    await consumer.close()


async def test_a_subscription_survives_trouble_while_it_is_made(peer, client):
    peer.script(BaseCommand.SUBSCRIBE, hang_up, refuse("subscribe", NotReady("loading")))
    consumer = await client.subscribe("t", "s")
    assert consumer.connected


async def test_a_cancelled_subscription_is_taken_back(peer, client):
    peer.script(BaseCommand.SUBSCRIBE, silence)
    subscribing = asyncio.ensure_future(client.subscribe("t", "s"))
    await peer.saw(BaseCommand.SUBSCRIBE)
    subscribing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await subscribing
    await peer.saw(BaseCommand.CLOSE_CONSUMER)


@pytest.mark.usefixtures("stored")
async def test_everything_unacknowledged_comes_again_when_asked_for(peer, client):
    def again(connection, frame):
        asked = frame.command.redeliverUnacknowledgedMessages
        assert not asked.message_ids
        connection.message(0, 3)  # On its way when the broker got the request: too old.
        connection.subscribed[0] = 1
        connection.deliver(0, consumer_epoch=asked.consumer_epoch)

    consumer = await client.subscribe("t", "s")
    messages = [await consumer.receive(5) for _ in range(4)]
    consumer.acknowledge(messages[:2])
    peer.script(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES, again)
    await consumer.redeliver_unacknowledged()
    await peer.saw(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    found = []
    while len(found) < 6:
        found += await consumer.receive_many(8, 5)
    assert data(found) == [b"2", b"3", b"4", b"5", b"6", b"7"]
    assert [message.redelivered for message in found[:4]] == [True, True, False, False]
    assert await acks(peer, 1) == [[0]]


@pytest.mark.usefixtures("stored")
async def test_messages_from_before_a_redelivery_are_dropped_and_their_permits_given_back(
    peer, client
):
    def again(connection, frame):
        asked = frame.command.redeliverUnacknowledgedMessages
        connection.message(0, 3, consumer_epoch=0)
        connection.message(0, 3, consumer_epoch=asked.consumer_epoch)

    consumer = await client.subscribe("t", "s", receiver_queue_size=2)
    assert await drained(consumer, 2) == [b"0", b"1"]
    peer.script(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES, again)
    await consumer.redeliver_unacknowledged()
    assert (await drained(consumer, 2))[-2:] in ([b"6", b"7"], [b"2", b"3"])


@pytest.mark.usefixtures("stored")
async def test_single_messages_are_asked_for_again_on_a_shared_subscription(peer, client):
    consumer = await client.subscribe("t", "s", type=SubscriptionType.SHARED)
    messages = [await consumer.receive(5) for _ in range(6)]
    await consumer.redeliver_unacknowledged([messages[4], messages[0], messages[1]])
    asked = await peer.saw(BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
    ids = asked.redeliverUnacknowledgedMessages.message_ids
    assert [place.entryId for place in ids] == [0, 2]
    assert not asked.redeliverUnacknowledgedMessages.HasField("consumer_epoch")


async def test_unsubscribing_deletes_the_subscription_and_closes(peer, client):
    consumer = await client.subscribe("t", "s")
    await consumer.unsubscribe(force=True)
    assert peer.of(BaseCommand.UNSUBSCRIBE)[0].unsubscribe.force
    assert peer.of(BaseCommand.CLOSE_CONSUMER) == []
    with pytest.raises(AlreadyClosed, match="closed"):
        await consumer.receive()


@pytest.mark.usefixtures("stored")
async def test_a_refused_unsubscribe_leaves_the_consumer_alive(peer, client):
    consumer = await client.subscribe("t", "s")
    peer.script(BaseCommand.UNSUBSCRIBE, refuse("unsubscribe", SubscriptionNotFound("others")))
    with pytest.raises(SubscriptionNotFound, match="others"):
        await consumer.unsubscribe()
    assert await drained(consumer, 1) == [b"0"]


@pytest.mark.usefixtures("stored")
async def test_closing_sends_what_is_acknowledged_and_tells_the_broker(peer, client):
    consumer = await client.subscribe("t", "s")
    consumer.acknowledge([await consumer.receive(5), await consumer.receive(5)])
    await consumer.close()
    kinds = [c.type for c in peer.commands]
    assert kinds.index(BaseCommand.ACK) < kinds.index(BaseCommand.CLOSE_CONSUMER)
    assert await acks(peer, 1) == [[0]]
    await consumer.close()
    assert len(peer.of(BaseCommand.CLOSE_CONSUMER)) == 1
    with pytest.raises(AlreadyClosed, match="closed"):
        await consumer.receive()


async def test_failover_consumers_hear_when_they_are_active(peer, client):
    consumer = await client.subscribe("t", "s", type=SubscriptionType.FAILOVER)
    assert not consumer.active
    peer.connections[0].write(replies.active_consumer_change(0, active=True))
    peer.connections[0].write(replies.reached_end_of_topic(0))
    await consumer.has_message_available()
    assert consumer.active
    assert consumer.reached_end


@pytest.mark.usefixtures("stored")
async def test_a_stray_run_of_messages_after_the_end_is_ignored(peer, client):
    consumer = await client.subscribe("t", "s")
    await drained(consumer, 8)
    await consumer.close()
    PeerConnection.message(peer.connections[0], 0, 0)
    assert await client.partitions("t") == 0


@pytest.mark.usefixtures("stored")
async def test_an_acknowledgement_without_answer_is_sent_again_over_the_next_connection(
    peer, client
):
    consumer = await client.subscribe(
        "t", "s", initial_position=InitialPosition.EARLIEST, ack_receipts=True
    )
    messages = await draining.drained(consumer, 4)
    waiting = asyncio.ensure_future(consumer.acknowledge(messages))
    await peer.saw(BaseCommand.ACK, 1)
    peer.connections[0].drop()
    await peer.saw(BaseCommand.ACK, 2)
    assert not waiting.done()
    first, second = (command.ack for command in peer.of(BaseCommand.ACK))
    assert first.request_id != second.request_id
    assert [place.entryId for place in second.message_id] == [0, 1]
    for request_id, error in ((first.request_id, NotReady("late")), (second.request_id, None)):
        peer.connections[0].write(replies.ack_response(second.consumer_id, request_id, error))
    await waiting


@pytest.mark.usefixtures("stored")
async def test_the_brokers_refusal_of_an_acknowledgement_is_raised(peer, client):
    consumer = await client.subscribe(
        "t", "s", initial_position=InitialPosition.EARLIEST, ack_receipts=True
    )
    waiting = asyncio.ensure_future(consumer.acknowledge(await draining.drained(consumer, 2)))
    await peer.saw(BaseCommand.ACK, 1)
    [ack] = (command.ack for command in peer.of(BaseCommand.ACK))
    refusal = replies.ack_response(ack.consumer_id, ack.request_id, SubscriptionNotFound("gone"))
    peer.connections[0].write(refusal)
    with pytest.raises(SubscriptionNotFound, match="gone"):
        await waiting
