"""Transactions over a socket: what topics and subscriptions do with them."""

import pytest
from unit.broker.peer import TOPIC, Peer, send

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

ON = {"transactionCoordinatorEnabled": True, "webServicePort": -1}


@pytest.fixture
async def broker():
    async with LocalBroker(settings=ON) as local:
        yield local


@pytest.fixture
async def peer(broker):
    connection = await Peer.open(broker.port)
    yield connection
    connection.wire.close()


async def publish(peer, sequence_id, payload, transaction=None):
    peer.wire.send(send(1, sequence_id, payload, transaction=transaction))
    return await peer.hear()


def ids(number):
    return {"txnid_least_bits": number, "txnid_most_bits": 0, "request_id": 9}


async def end(peer, number, action=pb.COMMIT, *, topic=TOPIC, low_watermark=0):
    how = {"txn_action": action, "txnid_least_bits_of_low_watermark": low_watermark}
    answer = await peer.ask("endTxnOnPartition", topic=topic, **how, **ids(number))
    return answer.endTxnOnPartitionResponse


async def acknowledge(peer, number, message_id, **fields):
    answer = await peer.ask(
        "ack",
        consumer_id=1,
        ack_type=pb.CommandAck.Individual,
        message_id=[message_id],
        **fields,
        **ids(number),
    )
    return answer.ackResponse


async def test_a_commit_shows_what_was_published(broker, peer):
    reader = await Peer.open(broker.port)
    await reader.consume(permits=10, subType=pb.CommandSubscribe.Shared)
    await peer.produce(producer_name="p", txn_enabled=True)
    await publish(peer, 0, b"a", transaction=7)
    await publish(peer, 1, b"b")
    await reader.nothing_more()
    answer = await end(peer, 7)
    assert (answer.txnid_least_bits, answer.HasField("error")) == (7, False)
    assert [(await reader.hear()).message.message_id.entryId for _ in range(2)] == [0, 1]
    reader.wire.close()


async def test_an_abort_takes_back_what_was_published(broker, peer):
    reader = await Peer.open(broker.port)
    await reader.consume(permits=10, subType=pb.CommandSubscribe.Shared)
    await peer.produce(producer_name="p")
    await publish(peer, 0, b"a", transaction=7)
    await publish(peer, 1, b"b")
    await end(peer, 7, pb.ABORT)
    assert (await reader.hear()).message.message_id.entryId == 1
    await reader.nothing_more()
    reader.wire.close()


async def test_a_send_whose_command_names_another_transaction_is_refused(peer):
    await peer.produce(producer_name="p")
    sent = send(1, 0, b"a", transaction=7)
    named = pb.CommandSend(txnid_most_bits=0, txnid_least_bits=7).SerializePartialToString()
    assert named in sent
    command = pb.CommandSend(txnid_most_bits=0, txnid_least_bits=8).SerializePartialToString()
    peer.wire.send(sent.replace(named, command, 1))
    refused = (await peer.hear()).send_error
    assert (refused.error, refused.sequence_id) == (pb.NotAllowedError, 0)
    assert (await publish(peer, 1, b"b")).HasField("send_receipt")


async def test_a_send_whose_command_alone_names_a_transaction_is_completed(broker, peer):
    """So sends Pulsar's Go client. After an abort nobody is given it."""
    reader = await Peer.open(broker.port)
    await reader.consume(permits=10, subType=pb.CommandSubscribe.Shared)
    await peer.produce(producer_name="p")
    peer.wire.send(send(1, 0, b"a", txnid_most_bits=0, txnid_least_bits=7))
    assert (await peer.hear()).HasField("send_receipt")
    await publish(peer, 1, b"b")
    await end(peer, 7, pb.ABORT)
    assert (await reader.hear()).message.message_id.entryId == 1
    await reader.nothing_more()
    reader.wire.close()


async def test_an_end_reaches_a_subscription(peer):
    await peer.produce(producer_name="p")
    message_id = (await publish(peer, 0, b"a")).send_receipt.message_id
    await peer.consume(
        permits=10,
        subType=pb.CommandSubscribe.Shared,
        initialPosition=pb.CommandSubscribe.Earliest,
    )
    assert (await peer.hear()).HasField("message")
    assert not (await acknowledge(peer, 1, message_id)).HasField("error")
    refused = await acknowledge(peer, 2, message_id)
    assert refused.error == pb.TransactionConflict
    assert refused.message.endswith("(ackSet is null) in pending ack status.")
    answer = await peer.ask(
        "endTxnOnSubscription",
        subscription=pb.Subscription(topic=TOPIC, subscription="s"),
        txn_action=pb.ABORT,
        txnid_least_bits_of_low_watermark=0,
        **ids(1),
    )
    again = await peer.hear()
    if answer.HasField("message"):
        answer, again = again, answer
    assert answer.endTxnOnSubscriptionResponse.txnid_least_bits == 1
    assert again.message.message_id.entryId == 0


async def test_what_is_not_there_has_nothing_to_end(peer):
    nosuch = f"{TOPIC}-nosuch"
    assert (await end(peer, 1, topic=nosuch)).error == pb.ServiceNotReady  # Of nobody's bundle.
    await peer.ask("lookupTopic", topic=nosuch, request_id=1)
    assert not (await end(peer, 1, topic=nosuch)).HasField("error")
    await peer.produce(producer_name="p")
    answer = await peer.ask(
        "endTxnOnSubscription",
        subscription=pb.Subscription(topic=TOPIC, subscription="nosuch"),
        txn_action=pb.COMMIT,
        txnid_least_bits_of_low_watermark=0,
        **ids(1),
    )
    assert not answer.endTxnOnSubscriptionResponse.HasField("error")


@pytest.mark.parametrize(
    "fields",
    [
        {"topic": TOPIC, "txn_action": pb.COMMIT},
        {"topic": TOPIC, "txnid_least_bits_of_low_watermark": 0},
        {
            "topic": "bad://x",
            "txn_action": pb.COMMIT,
            "txnid_least_bits_of_low_watermark": 0,
        },
    ],
)
async def test_who_does_not_say_what_a_broker_says_is_hung_up_on(peer, fields):
    peer.tell("endTxnOnPartition", **fields, **ids(1))
    assert await peer.hung_up_on()


async def test_a_broker_without_transactions_says_so():
    async with LocalBroker(settings={"webServicePort": -1}) as local:
        peer = await Peer.open(local.port)
        answer = await peer.ask("endTxnOnPartition", topic=TOPIC, **ids(1))
        assert answer.error.message == "Transactions are not enabled."
        await peer.produce(producer_name="p")
        refused = (await publish(peer, 0, b"a", transaction=1)).send_error
        assert refused.message == "Transactions are not enabled."
        peer.wire.close()
