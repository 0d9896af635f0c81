"""Most answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

from contextlib import asynccontextmanager

import aiohttp
import pytest
from cluster.conftest import two_brokers
from support.loop import until
from unit.broker.peer import Peer

from magnetar.model.system_topics import COORDINATORS
from magnetar.testing.local_broker import LocalBroker

ALL = "/admin/v3/transactions"
OFF = "This Broker is not configured with transactionCoordinatorEnabled=true."
ON = {"transactionCoordinatorEnabled": True}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "coordinators", None),
        ("GET", "coordinatorStats", None),
        ("GET", "transactionBufferStats/public/default/t", None),
        ("POST", "abortTransaction/0/1", None),
        ("POST", "transactionCoordinator/replicas", 2),
    ],
)
async def test_without_the_setting_there_is_nobody_to_coordinate(world, method, path, body):
    await world.topic("persistent://public/default/t")
    answer = await world.ask(method, f"{ALL}/{path}", body)
    assert (answer.status, answer.reason) == (503, OFF)


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("GET", "transactionMetadata/0/1", "`(0,1)`not found: This Broker"),
        ("GET", "coordinatorStats?coordinatorId=0", "coordinator id : 0: This Broker"),
        ("GET", "coordinatorInternalStats/0", "coordinator id : 0: This Broker"),
        ("GET", "pendingAckStats/public/default/t/s", "not found subscription : s"),
    ],
)
async def test_what_cannot_be_there_is_not_found(world, method, path, words):
    await world.topic("persistent://public/default/t")
    answer = await world.ask(method, f"{ALL}/{path}")
    assert (answer.status, words in answer.reason) == (404, True)


@asynccontextmanager
async def coordinating(**settings):
    """A broker with transactions, a client of it, and what asks its admin API."""
    async with LocalBroker(settings={**ON, **settings}) as local, aiohttp.ClientSession() as http:
        peer = await Peer.open(local.port)
        await peer.ask("lookupTopic", topic=str(COORDINATORS.partition(0)), request_id=1)
        await peer.ask("tcClientConnectRequest", request_id=1, tc_id=0)

        async def ask(method, path, body=None):
            url = f"{local.web_url}{ALL}/{path}"
            async with http.request(method, url, json=body) as answer:
                return answer.status, await answer.json() if answer.status != 204 else None

        yield local, peer, ask
        peer.wire.close()


async def begin(peer, ttl_ms=60_000):
    answer = await peer.ask("newTxn", request_id=1, tc_id=0, txn_ttl_millis=ttl_ms)
    return answer.newTxnResponse.txnid_least_bits


async def test_a_transaction_says_what_takes_part_and_ends_when_it_is_aborted():
    async with coordinating() as (_, peer, ask):
        number = await begin(peer)
        topics = ["persistent://public/default/a", "persistent://public/default/b"]
        ids = {"txnid_most_bits": 0, "txnid_least_bits": number, "request_id": 1}
        await peer.ask("addPartitionToTxn", partitions=topics, **ids)
        status, said = await ask("GET", f"transactionMetadata/0/{number}")
        assert (status, said["status"], list(said["producedPartitions"])) == (200, "OPEN", topics)
        assert await ask("POST", f"abortTransaction/0/{number}") == (204, None)
        status, said = await ask("POST", f"abortTransaction/0/{number}")
        assert status == 404
        assert said["reason"] == f"The transaction with this txdID `(0,{number})`not found "


async def test_slow_are_those_that_have_been_open_for_longer():
    async with coordinating() as (local, peer, ask):
        first = await begin(peer)
        coordinator = local.broker.registry.served_along.get(0)
        coordinator.transactions[first].opened_at_ms -= 10_000
        await begin(peer)
        status, said = await ask("GET", "slowTransactions/9000")
        assert (status, list(said)) == (200, [f"(0,{first})"])
        assert len((await ask("GET", "slowTransactions/0?coordinatorId=0"))[1]) >= 1


async def test_more_coordinators_are_served_at_once():
    async with coordinating() as (local, peer, ask):
        assert await ask("POST", "transactionCoordinator/replicas", 3) == (204, None)
        _, said = await ask("GET", "coordinators")
        url = local.service_url
        assert said == [{"id": number, "brokerServiceUrl": url} for number in range(3)]
        assert set((await ask("GET", "coordinatorStats"))[1]) == {"0", "1", "2"}
        answer = await peer.ask("tcClientConnectRequest", request_id=1, tc_id=2)
        assert not answer.tcClientConnectResponse.HasField("error")


async def test_a_coordinator_of_another_broker_is_shown_by_that_one():
    async with two_brokers(**ON) as pair, aiohttp.ClientSession() as http:
        here, there = pair.brokers
        await here.broker.registry.served_along.owner(0)
        for broker in pair.brokers:
            url = f"{broker.web_url}{ALL}/coordinators"
            async with http.get(url) as answer:
                assert await answer.json() == [{"id": 0, "brokerServiceUrl": here.service_url}]
        url = f"{there.web_url}{ALL}/coordinatorStats?coordinatorId=0"
        async with http.get(url) as answer:
            assert answer.status == 200
            assert (await answer.json())["state"] == "Ready"
        await until(lambda: here.broker.registry.served_along.loaded)
        assert not there.broker.registry.served_along.loaded
