import pytest
from unit.broker.peer import TOPIC, Peer, command, send

from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.model.names import TopicName
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

EARLIEST = pb.MessageIdData(ledgerId=2**64 - 1, entryId=2**64 - 1)
SHARED = pb.CommandSubscribe.Shared
EXCLUSIVE = pb.CommandSubscribe.Exclusive


async def publish(peer: Peer, count: int) -> list[pb.MessageIdData]:
    """Send messages; where they lie."""
    await peer.produce(90)
    peer.wire.send(b"".join(send(90, number, b"m%d" % number) for number in range(count)))
    return [(await peer.hear()).send_receipt.message_id for _ in range(count)]


async def refused(peer: Peer, **values) -> tuple[int, str]:
    await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
    values = {
        "topic": TOPIC,
        "subscription": "s",
        "subType": EXCLUSIVE,
        "consumer_id": 5,
        "request_id": 6,
        **values,
    }
    error = (await peer.ask("subscribe", **values)).error
    assert error.request_id == 6
    return error.error, error.message


async def delivered(peer: Peer, count: int) -> list[int]:
    return [(await peer.hear()).message.message_id.entryId for _ in range(count)]


async def test_messages_come_as_far_as_permits_go(peer, other):
    await peer.consume(1, permits=2)
    await publish(other, 4)
    assert await delivered(peer, 2) == [0, 1]
    await peer.nothing_more()
    peer.tell("flow", consumer_id=1, messagePermits=5)
    assert await delivered(peer, 2) == [2, 3]


async def test_a_reader_that_asks_for_some_slots_gets_their_messages_alone(peer, other):
    await publish(other, 20)
    for number, (start, end) in enumerate([(0, 32_767), (32_768, 65_535)]):
        await peer.consume(
            number,
            subscription=f"reader-{number}",
            durable=False,
            start_message_id=pb.MessageIdData(ledgerId=0, entryId=0),
            keySharedMeta=pb.KeySharedMeta(
                keySharedMode=pb.STICKY, hashRanges=[pb.IntRange(start=start, end=end)]
            ),
        )
    for number in range(2):
        peer.tell("flow", consumer_id=number, messagePermits=100)
    came = [(await peer.hear()).message for _ in range(20)]
    assert sorted(one.message_id.entryId for one in came) == list(range(20))
    assert {one.consumer_id for one in came} == {0, 1}
    await peer.nothing_more()


async def test_ranges_that_a_consumer_cannot_have_are_refused(peer):
    for ranges in ([], [(9, 1)], [(0, 5), (5, 9)]):
        asked = [pb.IntRange(start=start, end=end) for start, end in ranges]
        error, _ = await refused(
            peer,
            subType=pb.CommandSubscribe.Key_Shared,
            keySharedMeta=pb.KeySharedMeta(keySharedMode=pb.STICKY, hashRanges=asked),
        )
        assert error == pb.ConsumerAssignError


async def test_a_flow_without_permits_ends_the_connection(peer):
    await peer.consume(1)
    peer.tell("flow", consumer_id=1, messagePermits=0)
    assert await peer.hung_up_on()


async def test_consumers_that_are_not_open_are_passed_over_or_not_found(peer):
    peer.tell("flow", consumer_id=77, messagePermits=5)
    peer.tell("redeliverUnacknowledgedMessages", consumer_id=77)
    acked = pb.MessageIdData(ledgerId=0, entryId=0)
    ack = {"consumer_id": 77, "ack_type": pb.CommandAck.Individual, "message_id": [acked]}
    peer.tell("ack", **ack)
    answer = (await peer.ask("ack", **ack, request_id=1)).ackResponse
    assert (answer.request_id, answer.error, answer.message) == (
        1,
        pb.MetadataError,
        "Consumer not found",
    )
    for field in ("unsubscribe", "seek", "getLastMessageId"):
        error = (await peer.ask(field, consumer_id=77, request_id=2)).error
        assert (error.error, error.message) == (pb.MetadataError, "Consumer not found")
    assert (await peer.ask("close_consumer", consumer_id=77, request_id=3)).HasField("success")


async def test_stats_of_a_consumer_that_is_not_open_end_the_connection(peer):
    peer.tell("consumerStats", consumer_id=77, request_id=1)
    assert await peer.hung_up_on()


async def test_stats_of_a_consumer(peer, other):
    await peer.consume(1, permits=5, subType=SHARED, consumer_name="c")
    await publish(other, 2)
    await delivered(peer, 2)
    stats = (await peer.ask("consumerStats", consumer_id=1, request_id=2)).consumerStatsResponse
    assert stats.consumerName == "c"
    assert stats.type == "Shared"
    assert (stats.availablePermits, stats.unackedMessages, stats.msgBacklog) == (3, 2, 2)
    assert stats.address.startswith("/127.0.0.1:")
    assert stats.connectedSince.endswith("Z")


@pytest.mark.parametrize(
    "values",
    [
        {"ack_type": pb.CommandAck.Individual, "message_id": []},
        {"ack_type": pb.CommandAck.Individual, "message_id": [EARLIEST]},
        {
            "ack_type": pb.CommandAck.Individual,
            "message_id": [pb.MessageIdData(ledgerId=999, entryId=0)],
        },
        {
            "ack_type": pb.CommandAck.Cumulative,
            "message_id": [pb.MessageIdData(ledgerId=999, entryId=0)],
        },
    ],
)
async def test_an_ack_of_nothing_is_answered_and_changes_nothing(peer, other, values):
    await peer.consume(1, permits=5)
    await publish(other, 2)
    await delivered(peer, 2)
    answer = (await peer.ask("ack", consumer_id=1, request_id=9, **values)).ackResponse
    assert (answer.request_id, answer.HasField("error")) == (9, False)
    stats = (await peer.ask("consumerStats", consumer_id=1, request_id=2)).consumerStatsResponse
    assert stats.msgBacklog == 2


@pytest.mark.parametrize(
    ("kind", "count", "said"),
    [
        (EXCLUSIVE, 0, "A cumulative acknowledgement names one message, not 0"),
        (EXCLUSIVE, 2, "A cumulative acknowledgement names one message, not 2"),
        (SHARED, 1, "not allowed on a Shared subscription: acknowledge messages one by one"),
    ],
)
async def test_a_cumulative_ack_that_cannot_be_is_refused(peer, other, kind, count, said):
    await peer.consume(1, permits=5, subType=kind)
    ids = await publish(other, 2)
    await delivered(peer, 2)
    values = {"ack_type": pb.CommandAck.Cumulative, "message_id": ids[:count]}
    peer.tell("ack", consumer_id=1, **values)
    answer = (await peer.ask("ack", consumer_id=1, request_id=9, **values)).ackResponse
    assert (answer.request_id, answer.error) == (9, pb.NotAllowedError)
    assert said in answer.message
    stats = (await peer.ask("consumerStats", consumer_id=1, request_id=2)).consumerStatsResponse
    assert stats.msgBacklog == 2


@pytest.mark.parametrize(
    ("ack_type", "backlog"), [(pb.CommandAck.Individual, 2), (pb.CommandAck.Cumulative, 1)]
)
async def test_an_ack_takes_messages_off_the_backlog(peer, other, ack_type, backlog):
    await peer.consume(1, permits=5)
    ids = await publish(other, 3)
    await delivered(peer, 3)
    peer.tell("ack", consumer_id=1, ack_type=ack_type, message_id=[ids[1]])
    stats = (await peer.ask("consumerStats", consumer_id=1, request_id=2)).consumerStatsResponse
    assert stats.msgBacklog == backlog


async def test_an_ack_in_a_transaction_is_refused(peer):
    await peer.consume(1)
    answer = await peer.ask(
        "ack",
        consumer_id=1,
        ack_type=pb.CommandAck.Individual,
        message_id=[EARLIEST],
        txnid_most_bits=0,
        txnid_least_bits=1,
        request_id=4,
    )
    response = answer.ackResponse
    assert (response.request_id, response.error) == (4, pb.NotAllowedError)
    assert response.message == "Transactions are not enabled."


async def test_messages_come_again_on_request(peer, other):
    await peer.consume(1, permits=10, subType=SHARED)
    ids = await publish(other, 3)
    await delivered(peer, 3)
    peer.tell("redeliverUnacknowledgedMessages", consumer_id=1, message_ids=[ids[1]])
    message = (await peer.hear()).message
    assert (message.message_id.entryId, message.redelivery_count) == (1, 1)
    peer.tell("redeliverUnacknowledgedMessages", consumer_id=1)
    assert sorted(await delivered(peer, 3)) == [0, 1, 2]


async def test_a_seek_closes_the_consumer_and_then_succeeds(peer, other):
    await peer.consume(1, permits=10)
    ids = await publish(other, 3)
    await delivered(peer, 3)
    closed = (await peer.ask("seek", consumer_id=1, request_id=7, message_id=ids[1])).close_consumer
    assert (closed.consumer_id, closed.request_id) == (1, 2**64 - 1)
    assert (await peer.hear()).success.request_id == 7
    await peer.consume(2, permits=10)
    assert await delivered(peer, 2) == [1, 2]


async def test_a_seek_by_time_starts_at_the_first_message_not_older(peer, other):
    await peer.consume(1, permits=10)
    await publish(other, 2)  # Published at 1 ms after the epoch.
    await delivered(peer, 2)
    await peer.ask("seek", consumer_id=1, request_id=7, message_publish_time=1)
    assert (await peer.hear()).HasField("success")
    await peer.consume(2, permits=10)
    assert await delivered(peer, 2) == [0, 1]
    await peer.ask("seek", consumer_id=2, request_id=7, message_publish_time=2)
    assert (await peer.hear()).HasField("success")
    await peer.consume(3, permits=10)
    await peer.nothing_more()


async def test_a_seek_to_nowhere_is_refused(peer):
    await peer.consume(1)
    error = (await peer.ask("seek", consumer_id=1, request_id=7)).error
    assert (error.error, error.message) == (
        pb.MetadataError,
        "Message id and message publish time were not present",
    )


async def test_the_last_message_of_a_topic_and_the_mark_are_told(peer, other):
    await peer.consume(1)
    answer = await peer.ask("getLastMessageId", consumer_id=1, request_id=2)
    last = answer.getLastMessageIdResponse.last_message_id
    assert (last.ledgerId, last.entryId) == (2**64 - 1, 2**64 - 1)
    assert (last.partition, last.batch_index) == (-1, -1)
    ids = await publish(other, 2)
    answer = (
        await peer.ask("getLastMessageId", consumer_id=1, request_id=3)
    ).getLastMessageIdResponse
    assert answer.last_message_id.entryId == ids[1].entryId
    assert answer.consumer_mark_delete_position.entryId == 2**64 - 1


async def test_unsubscribing_needs_to_be_alone_or_forced(peer, other):
    await peer.consume(1, subType=SHARED)
    await other.consume(1, subType=SHARED)
    error = (await peer.ask("unsubscribe", consumer_id=1, request_id=2)).error
    assert (error.error, error.message) == (
        pb.MetadataError,
        "Unconnected or shared consumer attempting to unsubscribe",
    )
    assert (await peer.ask("unsubscribe", consumer_id=1, request_id=3, force=True)).HasField(
        "success"
    )
    assert (await other.hear()).close_consumer.consumer_id == 1
    assert (await peer.ask("unsubscribe", consumer_id=1, request_id=4)).HasField("error")


async def test_what_a_closed_consumer_held_goes_to_the_others(peer, other):
    await peer.consume(1, permits=10, subType=SHARED)
    await publish(peer, 2)
    answers = await delivered(peer, 2)
    await other.consume(1, permits=10, subType=SHARED)
    assert (await peer.ask("close_consumer", consumer_id=1, request_id=2)).HasField("success")
    assert await delivered(other, 2) == answers


async def test_a_lost_connection_gives_back_what_it_held(peer, other):
    await peer.consume(1, permits=10, subType=SHARED)
    await other.consume(1, permits=0, subType=SHARED)
    third = await publish(other, 2)
    await delivered(peer, 2)
    other.tell("flow", consumer_id=1, messagePermits=10)
    peer.wire.abort()
    assert await delivered(other, 2) == [message_id.entryId for message_id in third]


async def test_an_open_consumer_id_is_answered_with_success(peer):
    await peer.consume(1)
    await peer.consume(1)


async def test_an_exclusive_subscription_is_taken_while_its_consumer_lives(peer, other):
    await peer.consume(1)
    other.tell(
        "subscribe", topic=TOPIC, subscription="s", subType=EXCLUSIVE, consumer_id=1, request_id=1
    )
    assert (await peer.hear()).HasField("ping")
    peer.tell("pong")
    error = (await other.hear()).error
    assert (error.error, error.message) == (
        pb.ConsumerBusy,
        "Exclusive consumer is already connected",
    )


async def test_a_silent_exclusive_consumer_loses_its_place(peer, other):
    await peer.consume(1)
    other.tell(
        "subscribe", topic=TOPIC, subscription="s", subType=EXCLUSIVE, consumer_id=1, request_id=1
    )
    assert (await peer.hear()).HasField("ping")
    assert await peer.hung_up_on()
    assert (await other.hear()).HasField("success")


@pytest.mark.parametrize(
    ("values", "code", "text"),
    [
        ({"subscription": ""}, pb.ProducerBusy, "Empty subscription name"),
        (
            {"subscription": "pulsar.dedup"},
            pb.ProducerBusy,
            "Subscription with reserved subscription name attempted",
        ),
        (
            {"subscription": "__compaction"},
            pb.ProducerBusy,
            "Subscription with reserved subscription name attempted",
        ),
        (
            {"topic": "bad://x"},
            pb.InvalidTopicName,
            "Invalid topic name: Invalid topic domain: 'bad'",
        ),
        (
            {"subType": SHARED, "read_compacted": True},
            pb.NotAllowedError,
            "readCompacted only allowed on failover or exclusive subscriptions",
        ),
        (
            {"topic": TOPIC.replace("persistent", "non-persistent"), "read_compacted": True},
            pb.NotAllowedError,
            "readCompacted only valid on persistent topics",
        ),
        (
            {"metadata": [pb.KeyValue(key="k", value="v" * 1024)]},
            pb.MetadataError,
            "metadata has a max size of 1024 bytes",
        ),
        (
            {"force_topic_creation": False},
            pb.TopicNotFound,
            f"Topic {TOPIC} does not exist",
        ),
    ],
)
async def test_what_cannot_be_granted_is_refused(peer, values, code, text):
    assert await refused(peer, **values) == (code, text)
    await peer.nothing_more()


async def test_a_subscription_nobody_may_make_is_not_found():
    settings = {"webServicePort": -1, "allowAutoSubscriptionCreation": False}
    async with LocalBroker(settings=settings) as broker:
        peer = await Peer.open(broker.port)
        missing = (pb.SubscriptionNotFound, "Subscription does not exist")
        assert await refused(peer) == missing
        await peer.consume(1, subscription="reader", durable=False)
        peer.wire.close()


async def test_a_broker_has_limits_where_they_are_set():
    settings = {
        "webServicePort": -1,
        "maxConsumersPerTopic": 2,
        "maxSubscriptionsPerTopic": 1,
        "maxProducersPerTopic": 1,
    }
    async with LocalBroker(settings=settings) as broker:
        peer = await Peer.open(broker.port)
        await peer.consume(1)
        assert await refused(peer, subscription="t") == (
            pb.NotAllowedError,
            f"Exceed the maximum number of subscriptions of the topic: {TOPIC}",
        )
        await peer.consume(2, subscription="reader", durable=False)
        assert await refused(peer, durable=False, subscription="r") == (
            pb.ConsumerBusy,
            "Topic reached max consumers limit",
        )
        await peer.produce(1)
        error = (await peer.ask("producer", topic=TOPIC, producer_id=2, request_id=1)).error
        assert (error.error, error.message) == (
            pb.ProducerBusy,
            f"Topic '{TOPIC}' reached max producers limit",
        )
        peer.wire.close()


async def test_an_unloaded_topic_closes_its_consumers(broker, peer):
    await peer.consume(1)
    await broker.broker.registry.unload(TopicName.parse(TOPIC))
    assert (await peer.hear()).close_consumer.consumer_id == 1
    peer.tell("flow", consumer_id=1, messagePermits=5)
    await peer.nothing_more()


async def test_a_close_right_behind_a_subscribe_leaves_nothing_attached(peer, other):
    await peer.ask("lookupTopic", topic=TOPIC, request_id=1)
    peer.wire.send(
        command(
            "subscribe",
            topic=TOPIC,
            subscription="s",
            subType=EXCLUSIVE,
            consumer_id=1,
            request_id=2,
        )
        + command("close_consumer", consumer_id=1, request_id=3)
    )
    assert (await peer.hear()).success.request_id == 3
    await peer.nothing_more()
    await other.consume(1)


async def test_properties_are_kept_by_a_subscription_that_has_none(tmp_path):
    """As in Pulsar, the first consumer that brings some sets them, and no other changes them."""

    async def subscribe(broker, **properties):
        peer = await Peer.open(broker.port)
        pairs = [pb.KeyValue(key=key, value=value) for key, value in properties.items()]
        await peer.consume(1, subscription="s", subscription_properties=pairs)
        (topic,) = broker.broker.registry.loaded.values()
        await peer.ask("close_consumer", consumer_id=1, request_id=2)
        peer.wire.close()
        return topic_stats(topic).subscriptions["s"].properties

    async with LocalBroker(tmp_path, settings={"webServicePort": -1}) as broker:
        assert await subscribe(broker) == {}
        assert await subscribe(broker, k="v") == {"k": "v"}
        assert await subscribe(broker, k="other") == {"k": "v"}
    async with LocalBroker(tmp_path, settings={"webServicePort": -1}) as broker:
        assert await subscribe(broker) == {"k": "v"}
