"""A client whose commit is not answered learns what became of it, or that nobody knows.

The broker listens on another address of this machine, where its clients do not look: a relay in
between loses what a test wants to be lost.
"""

import asyncio
from contextlib import AsyncExitStack

import pytest
from cluster.conftest import two_brokers
from support.apache_pulsar import ours_alone
from support.loop import iterations
from support.network import Proxy, WireConnection
from transactions.enabled import SETTINGS
from unit.broker.peer import Peer

from magnetar import EARLIEST_MESSAGE, Client, TransactionState
from magnetar.broker.transactions import coordinator as coordinator_module
from magnetar.errors import CommitUnknown, TransactionAborted
from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker
from magnetar.testing.processes import BrokerProcess

pytestmark = ours_alone("it is killed, and its coordinator looked at")

BEHIND = {
    **SETTINGS,
    "bindAddress": "127.0.0.2",
    "advertisedAddress": "127.0.0.1",
    "webServicePort": -1,
}
TOPIC = "persistent://public/default/t"


def commands(chunk):
    """The types of the commands of whole frames."""
    while chunk:
        size, command_size = (int.from_bytes(chunk[at : at + 4], "big") for at in (0, 4))
        yield pb.BaseCommand.FromString(chunk[8 : 8 + command_size]).type
        chunk = chunk[4 + size :]


class Relay(Proxy):
    """It loses the first answer to the end of a transaction, and lets nobody in until ``admit``."""

    def __init__(self, broker):
        super().__init__("127.0.0.2", broker.port, listen_port=broker.port)
        self.lost = asyncio.Event()
        self.loses = self._loses

    def _loses(self, chunk):
        if self.lost.is_set() or pb.BaseCommand.END_TXN_RESPONSE not in commands(chunk):
            return False
        self.lost.set()
        self.refusing = True
        return True

    def admit(self):
        self.refusing = False


def through(*relays):
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in relays)
    return Client(
        f"pulsar://{hosts}", operation_timeout_s=20, backoff_first_s=0.02, backoff_max_s=0.1
    )


async def at(broker):
    """A connection of somebody else, beside the relay."""
    peer = Peer(await WireConnection.open("127.0.0.2", broker.port))
    await peer.ask("connect", client_version="test", protocol_version=21)
    return peer


async def end(peer, txn_id, action):
    answer = await peer.ask(
        "endTxn",
        request_id=1,
        txnid_most_bits=txn_id.most_bits,
        txnid_least_bits=txn_id.least_bits,
        txn_action=action,
    )
    assert not answer.endTxnResponse.HasField("error")


async def committing(client, relay):
    """A transaction that has been committed, of which its client was not told; and what waits."""
    producer = await client.create_producer(TOPIC)
    txn = await client.transaction(timeout_s=600)
    await producer.send(b"in it", txn=txn)
    commit = asyncio.ensure_future(txn.commit())
    async with asyncio.timeout(20):
        await relay.lost.wait()
    return txn, commit


async def published(client):
    async with client.create_reader(TOPIC, EARLIEST_MESSAGE) as reader:
        found = []
        while await reader.has_message_available():
            found += [each.data for each in await reader.receive_many(timeout_s=20)]
    return found


@pytest.fixture
async def broker():
    async with LocalBroker(settings=BEHIND) as broker:
        yield broker


@pytest.fixture
async def relay(broker):
    async with Relay(broker) as relay:
        yield relay


@pytest.fixture
async def client(relay):
    async with through(relay) as client:
        yield client


async def test_a_commit_whose_answer_was_lost_is_told(client, relay):
    txn, commit = await committing(client, relay)
    relay.admit()
    await commit
    assert txn.state is TransactionState.COMMITTED
    assert await published(client) == [b"in it"]


async def test_a_broker_that_is_killed_before_it_answers_tells_it_afterwards(tmp_path):
    with BrokerProcess(tmp_path / "data", settings=BEHIND) as broker:
        async with Relay(broker) as relay, through(relay) as client:
            txn, commit = await committing(client, relay)
            await asyncio.to_thread(broker.kill)
            await asyncio.to_thread(broker.start)
            relay.admit()
            await commit
            assert txn.state is TransactionState.COMMITTED
            assert await published(client) == [b"in it"]


async def test_a_log_that_was_shortened_keeps_how_it_ended(broker, client, relay, monkeypatch):
    monkeypatch.setattr(coordinator_module, "RECORDS_MIN", 10)
    txn, commit = await committing(client, relay)
    peer = await at(broker)
    for _ in range(20):
        begun = await peer.ask("newTxn", request_id=1, tc_id=0, txn_ttl_millis=600_000)
        await end(peer, TxnId(0, begun.newTxnResponse.txnid_least_bits), pb.COMMIT)
    peer.wire.abort()
    registry = broker.broker.registry
    for bundle in registry.ownership.bundles:
        await registry.unload_bundle(bundle, None)  # So that the coordinator reads its log.
    relay.admit()
    await commit
    assert txn.state is TransactionState.COMMITTED
    assert await published(client) == [b"in it"]


async def test_the_next_broker_that_has_the_coordinator_tells_it():
    async with two_brokers(**{**BEHIND, "webServicePort": 0}) as pair, AsyncExitStack() as stack:
        relays = [await stack.enter_async_context(Relay(each)) for each in pair.brokers]
        client = await stack.enter_async_context(through(*relays))
        for each in relays:
            each.lost = relays[0].lost
        txn, commit = await committing(client, relays[0])
        owners = [each for each in pair.registries if each.ownership.bundles]
        for here in owners:
            there = next(each for each in pair.registries if each is not here)
            for bundle in here.ownership.bundles:
                await here.unload_bundle(bundle, there.ownership.own)
        for each in relays:
            each.admit()
        await commit
        assert txn.state is TransactionState.COMMITTED
        assert await published(client) == [b"in it"]


async def test_who_asks_twice_for_a_commit_is_told_that_it_was_aborted(broker, client, relay):
    """By somebody else, long before its time is up: the first request never came."""
    producer = await client.create_producer(TOPIC)
    txn = await client.transaction(timeout_s=600)
    await producer.send(b"in it", txn=txn)
    relay.loses, relay.refusing = None, True
    cut = asyncio.ensure_future(relay.cut_after(1))
    await iterations(1)  # It begins.
    commit = asyncio.ensure_future(txn.commit())
    await cut
    peer = await at(broker)
    await end(peer, txn.id, pb.ABORT)
    peer.wire.abort()
    relay.admit()
    with pytest.raises(TransactionAborted):
        await commit
    assert txn.state is TransactionState.ABORTED
    assert await published(client) == []


async def test_nobody_knows_what_was_forgotten(client, relay, monkeypatch):
    monkeypatch.setattr(coordinator_module, "ENDED_MAX", 0)
    txn, commit = await committing(client, relay)
    relay.admit()
    with pytest.raises(CommitUnknown, match="may have been committed or not"):
        await commit
    assert txn.state is TransactionState.UNKNOWN
    assert await published(client) == [b"in it"]
