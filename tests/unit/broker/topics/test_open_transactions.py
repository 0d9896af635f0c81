"""What becomes of transactions that stay open: those that nobody ever ends, too."""

import asyncio
from contextlib import suppress

import aiohttp
import pytest
from cluster.conftest import two_brokers
from support.loop import until
from unit.broker.peer import TOPIC, Peer, send

from magnetar import Client, InitialPosition
from magnetar.broker.topics import open_transactions
from magnetar.errors import MagnetarError, NotAllowed
from magnetar.model.names import TopicName
from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

ON = {"transactionCoordinatorEnabled": True, "webServicePort": -1}
COORDINATOR = "persistent://pulsar/system/transaction_coordinator_assign-partition-0"


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(open_transactions, "ASK_EVERY_S", 0.01)


@pytest.fixture
async def broker():
    async with LocalBroker(settings=ON) as local:
        yield local


@pytest.fixture
async def peer(broker):
    connection = await Peer.open(broker.port)
    yield connection
    connection.wire.close()


async def connect(peer):
    await peer.ask("lookupTopic", topic=COORDINATOR, request_id=1)
    await peer.ask("tcClientConnectRequest", request_id=2, tc_id=0)


async def begin(peer):
    await connect(peer)
    answer = await peer.ask("newTxn", request_id=3, tc_id=0, txn_ttl_millis=60_000)
    return answer.newTxnResponse.txnid_least_bits


async def publish(peer, sequence_id, payload, **transaction):
    peer.wire.send(send(1, sequence_id, payload, **transaction))
    return (await peer.hear()).send_receipt.message_id


async def subscribe(client, **options):
    options = {"initial_position": InitialPosition.EARLIEST, **options}
    return await client.subscribe(TOPIC, "s", **options)


async def received(client, count):
    consumer = await subscribe(client)
    return [(await consumer.receive(timeout_s=10)).data for _ in range(count)]


@pytest.mark.parametrize("coordinator", [0, 5], ids=["served", "missing"])
async def test_what_no_coordinator_knows_holds_readers_up_for_a_while_only(
    broker, peer, coordinator
):
    await connect(peer)
    await peer.produce(producer_name="p")
    await publish(peer, 0, b"before")
    made_up = {"txnid_most_bits": coordinator, "txnid_least_bits": 12345}
    await publish(peer, 1, b"made up", **made_up)
    await publish(peer, 2, b"after")
    async with Client(broker.service_url) as client:
        assert await received(client, 2) == [b"before", b"after"]


async def test_what_is_sent_without_a_word_to_the_coordinator_is_committed_with_the_rest(
    broker, peer
):
    number = await begin(peer)
    await peer.produce(producer_name="p")
    await publish(peer, 0, b"a", transaction=number)
    transaction = broker.broker.registry.served_along.get(0).transactions[number]
    await until(lambda: TOPIC in transaction.topics)
    ids = {"txnid_most_bits": 0, "txnid_least_bits": number}
    await peer.ask("endTxn", request_id=4, txn_action=pb.COMMIT, **ids)
    async with Client(broker.service_url) as client:
        assert await received(client, 1) == [b"a"]


async def test_one_that_is_known_is_asked_about_once(broker, peer):
    number = await begin(peer)
    await peer.produce(producer_name="p")
    await publish(peer, 0, b"a", transaction=number)
    coordinator = broker.broker.registry.served_along.get(0)
    await until(lambda: TOPIC in coordinator.transactions[number].topics)
    appended = coordinator.counts.appended
    await publish(peer, 1, b"made up", transaction=99_999)  # When it is gone, all were looked at
    log = (await broker.broker.registry.get(TopicName.parse(TOPIC), create=False)).log  # twice.
    await until(lambda: len(log.transactions.open) == 1)
    assert coordinator.counts.appended == appended


def watches():
    return [each for each in asyncio.all_tasks() if "open transactions" in each.get_name()]


async def test_a_topic_that_is_closed_looks_after_nothing_any_more(broker):
    """An acknowledgement that came while it was closed began a task that nobody ended."""
    registry = broker.broker.registry
    async with Client(broker.service_url) as client:
        await subscribe(client)
        topic = registry.loaded[TopicName.parse(TOPIC)]
        subscription = topic.subscriptions["s"]
        await subscription.acknowledge_in_transaction(None, TxnId(5, 1), [])
        await until(lambda: not watches())
        await registry.unload(topic.name)
        with suppress(MagnetarError):
            await subscription.acknowledge_in_transaction(None, TxnId(5, 2), [])
    assert not watches()


async def test_what_is_first_sent_after_the_end_and_an_unload_is_dropped(broker, peer):
    number = await begin(peer)
    await begin(peer)  # So that the low watermark says nothing of it.
    ids = {"txnid_most_bits": 0, "txnid_least_bits": number}
    await peer.ask("addPartitionToTxn", request_id=4, partitions=[TOPIC], **ids)
    await peer.produce(producer_name="p")
    await publish(peer, 0, b"before")
    await peer.ask("endTxn", request_id=5, txn_action=pb.COMMIT, **ids)
    await broker.broker.registry.unload(TopicName.parse(TOPIC))
    assert (await peer.hear()).HasField("close_producer")
    await peer.produce(producer_name="p")
    await publish(peer, 1, b"late", transaction=number)
    await publish(peer, 2, b"after")
    async with Client(broker.service_url) as client:
        assert await received(client, 2) == [b"before", b"after"]


async def test_what_is_acknowledged_in_what_no_coordinator_knows_comes_again(peer):
    await connect(peer)
    await peer.produce(producer_name="p")
    message_id = await publish(peer, 0, b"a")
    await peer.consume(permits=10, initialPosition=pb.CommandSubscribe.Earliest)
    assert (await peer.hear()).HasField("message")
    answer = await peer.ask(
        "ack",
        consumer_id=1,
        ack_type=pb.CommandAck.Individual,
        message_id=[message_id],
        txnid_most_bits=0,
        txnid_least_bits=12345,
        request_id=4,
    )
    assert not answer.ackResponse.HasField("error")
    assert (await peer.hear()).message.message_id.entryId == message_id.entryId


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("subscription", [None, "s"])
async def test_a_coordinator_of_another_broker_is_asked(known, subscription):
    async with two_brokers(**ON) as pair:
        here, there = (each.broker.registry.served_along for each in pair.brokers)
        await here.owner(0)
        coordinator = await here.connect(0)
        number = 77
        if known:
            number = coordinator.begin(60_000, None, lambda _: None).least_bits
        topic = TopicName.parse(TOPIC)
        assert await there.take_part(TxnId(0, number), topic, subscription) is known
        for each in coordinator.transactions.values():
            taking_part = each.subscriptions if subscription else each.topics
            assert len(taking_part) == 1


async def test_where_transactions_are_switched_off_those_that_are_open_end(tmp_path, caplog):
    async with LocalBroker(tmp_path, settings=ON) as local:
        peer = await Peer.open(local.port)
        number = await begin(peer)
        ids = {"txnid_most_bits": 0, "txnid_least_bits": number}
        await peer.ask("addPartitionToTxn", request_id=4, partitions=[TOPIC], **ids)
        await peer.produce(producer_name="p")
        await publish(peer, 0, b"a", transaction=number)
        await publish(peer, 1, b"b")
        peer.wire.close()
    async with LocalBroker(tmp_path) as local, Client(local.service_url) as client:
        assert "transactions.off coordinator=0 open=1" in caplog.text
        with pytest.raises(NotAllowed, match="Transactions are not enabled"):
            await client.transaction()
        abort = f"{local.web_url}/admin/v3/transactions/abortTransaction/0/{number}"
        async with aiohttp.ClientSession() as http, http.post(abort) as answer:
            assert answer.status == 204
        assert await received(client, 1) == [b"b"]
