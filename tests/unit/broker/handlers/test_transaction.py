"""Transactions over a socket: what a coordinator answers beside what golden/wire recorded."""

import pytest
from unit.broker.peer import Peer, send

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

COORDINATORS = "persistent://pulsar/system/transaction_coordinator_assign"
ON = {"transactionCoordinatorEnabled": True, "webServicePort": -1}
TOPIC = "persistent://public/default/t"


async def connect(peer: Peer, number: int = 0) -> None:
    await peer.ask("lookupTopic", topic=f"{COORDINATORS}-partition-{number}", request_id=900)
    answer = await peer.ask("tcClientConnectRequest", request_id=901, tc_id=number)
    assert not answer.tcClientConnectResponse.HasField("error"), answer


async def begin(peer: Peer, ttl_ms: int = 60_000) -> int:
    answer = (
        await peer.ask("newTxn", request_id=902, txn_ttl_millis=ttl_ms, tc_id=0)
    ).newTxnResponse
    assert not answer.HasField("error"), answer
    return answer.txnid_least_bits


async def end(peer: Peer, number: int, action: int = pb.COMMIT) -> pb.CommandEndTxnResponse:
    ids = {"txnid_least_bits": number, "txnid_most_bits": 0}
    return (await peer.ask("endTxn", request_id=903, txn_action=action, **ids)).endTxnResponse


@pytest.fixture
async def broker():
    async with LocalBroker(settings=ON) as local:
        yield local


@pytest.fixture
async def peer(broker):
    connection = await Peer.open(broker.port)
    yield connection
    connection.wire.close()


async def test_a_transaction_without_topics_begins_and_ends(peer):
    await connect(peer)
    first, second = await begin(peer), await begin(peer)
    assert second == first + 1
    assert not (await end(peer, first)).HasField("error")
    assert not (await end(peer, second, pb.ABORT)).HasField("error")


@pytest.mark.parametrize(
    "topic",
    [
        "persistent://public/default/t__transaction_buffer_snapshot",
        "persistent://pulsar/system/__transaction_log_0",
        "persistent://pulsar/system/transaction_coordinator_assign-partition-0",
    ],
)
async def test_no_log_of_transactions_takes_part(peer, topic):
    """No broker opens one as a topic, so it could never be told of the end."""
    await connect(peer)
    number = await begin(peer)
    ids = {"txnid_least_bits": number, "txnid_most_bits": 0}
    answer = await peer.ask("addPartitionToTxn", request_id=1, partitions=[topic], **ids)
    assert answer.addPartitionToTxnResponse.error == pb.NotAllowedError
    subscription = [pb.Subscription(topic=topic, subscription="s")]
    answer = await peer.ask("addSubscriptionToTxn", request_id=1, subscription=subscription, **ids)
    assert answer.addSubscriptionToTxnResponse.error == pb.NotAllowedError
    assert not (await end(peer, number)).HasField("error")


async def test_who_asks_without_having_connected_is_told_to_look_up(peer):
    answer = (await peer.ask("newTxn", request_id=1, txn_ttl_millis=1000, tc_id=0)).newTxnResponse
    assert answer.error == pb.TransactionCoordinatorNotFound
    assert answer.message == "Transaction coordinator with id 0 not found!"


async def test_there_are_no_more_coordinators_than_partitions(peer):
    await connect(peer)
    await peer.ask("lookupTopic", topic=f"{COORDINATORS}-partition-1", request_id=900)
    answer = await peer.ask("tcClientConnectRequest", request_id=901, tc_id=1)
    assert answer.tcClientConnectResponse.error == pb.TransactionCoordinatorNotFound


async def test_what_ended_is_not_found(peer):
    await connect(peer)
    number = await begin(peer)
    await end(peer, number)
    answer = await end(peer, number)
    assert answer.error == pb.TransactionNotFound
    assert answer.txnid_least_bits == number


async def test_requests_that_come_together_are_answered_in_order(peer):
    await connect(peer)
    for request_id in range(100):
        peer.tell("newTxn", request_id=request_id, txn_ttl_millis=60_000, tc_id=0)
    answers = [(await peer.hear()).newTxnResponse for _ in range(100)]
    assert [each.request_id for each in answers] == list(range(100))
    assert [each.txnid_least_bits for each in answers] == list(range(100))


async def test_an_end_that_says_neither_commit_nor_abort_ends_the_connection(peer):
    await connect(peer)
    number = await begin(peer)
    peer.tell("endTxn", request_id=1, txnid_least_bits=number, txnid_most_bits=0)
    assert await peer.hung_up_on()


async def test_a_topic_that_takes_part_must_have_a_name(peer):
    await connect(peer)
    number = await begin(peer)
    ids = {"txnid_least_bits": number, "txnid_most_bits": 0}
    answer = await peer.ask("addPartitionToTxn", request_id=1, partitions=["a/b"], **ids)
    assert answer.addPartitionToTxnResponse.error == pb.InvalidTopicName


async def test_topics_and_subscriptions_take_part(peer):
    await connect(peer)
    number = await begin(peer)
    ids = {"txnid_least_bits": number, "txnid_most_bits": 0}
    answer = await peer.ask("addPartitionToTxn", request_id=1, partitions=[TOPIC], **ids)
    assert not answer.addPartitionToTxnResponse.HasField("error")
    subscription = pb.Subscription(topic=TOPIC, subscription="s")
    answer = await peer.ask(
        "addSubscriptionToTxn", request_id=2, subscription=[subscription], **ids
    )
    assert not answer.addSubscriptionToTxnResponse.HasField("error")


async def test_more_transactions_than_a_coordinator_may_have_are_refused_with_the_setting(peer):
    async with LocalBroker(settings={**ON, "maxActiveTransactionsPerCoordinator": 2}) as broker:
        peer = await Peer.open(broker.port)
        await connect(peer)
        first, _ = await begin(peer), await begin(peer)
        asked = {"request_id": 1, "txn_ttl_millis": 60_000, "tc_id": 0}
        answer = (await peer.ask("newTxn", **asked)).newTxnResponse
        assert answer.error == pb.NotAllowedError
        assert "maxActiveTransactionsPerCoordinator" in answer.message
        await end(peer, first)
        await begin(peer)
        peer.wire.close()


async def test_a_broker_without_transactions_says_so_and_stays_connected():
    async with LocalBroker(settings={"webServicePort": -1}) as broker:
        peer = await Peer.open(broker.port)
        answer = await peer.ask("tcClientConnectRequest", request_id=1, tc_id=0)
        assert answer.error.error == pb.NotAllowedError
        assert answer.error.message == "Transactions are not enabled."
        await peer.nothing_more()
        peer.wire.close()


async def test_what_is_refused_for_its_transaction_is_no_duplicate_when_it_is_sent_again():
    async with LocalBroker(settings=ON | {"brokerDeduplicationEnabled": True}) as local:
        peer = await Peer.open(local.port)
        await connect(peer)
        await peer.produce(txn_enabled=True)
        ended, number = await begin(peer), await begin(peer)
        for each in (ended, number):
            ids = {"txnid_least_bits": each, "txnid_most_bits": 0}
            await peer.ask("addPartitionToTxn", request_id=1, partitions=[TOPIC], **ids)
        await end(peer, ended)
        peer.wire.send(send(1, 1, b"late", transaction=ended))
        assert (await peer.hear()).send_error.error == pb.NotAllowedError
        sends = [send(1, at, b"%d" % at, transaction=number) for at in (1, 2, 2, 3)]
        peer.wire.send(b"".join(sends))
        stored = [(await peer.hear()).send_receipt.message_id.entryId for _ in sends]
        assert stored == [0, 1, 2**64 - 1, 2]
        assert not (await end(peer, number)).HasField("error")
        peer.wire.close()
