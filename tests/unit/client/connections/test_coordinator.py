"""One coordinator at the scripted peer: attached, asked, asked again. Ends: test_transaction.py."""

import asyncio

import pytest
from support.loop import pass_time, until
from unit.client.conftest import quick_backoff
from unit.client.coordinators import PeerCoordinators, deny, grant
from unit.client.peer import hang_up, refuse, silence

from magnetar.client.connections.coordinator import ASSIGN_TOPIC, Coordinator, Coordinators
from magnetar.clock import SystemClock
from magnetar.errors import (
    AlreadyClosed,
    CoordinatorNotFound,
    NotAllowed,
    NotAuthorized,
    NotReady,
    TimedOut,
    UnknownFailure,
)
from magnetar.model.txn_id import TxnId
from magnetar.wire.commands import BaseCommand


@pytest.fixture(autouse=True)
def at_peer(peer):
    return PeerCoordinators(peer, 2)


@pytest.fixture
async def coordinator(lookup):
    made = Coordinator(1, lookup, backoff=quick_backoff, clock=SystemClock(), timeout_s=5)
    yield made
    await made.close()


@pytest.fixture
async def coordinators(lookup):
    made = Coordinators(
        lookup, backoff=quick_backoff, clock=SystemClock(), chance=lambda: 0.5, timeout_s=5
    )
    yield made
    await made.close()


async def test_it_is_where_its_partition_is(peer, coordinator):
    await coordinator.ready()
    assert peer.of(BaseCommand.LOOKUP)[0].lookupTopic.topic == f"{ASSIGN_TOPIC}-partition-1"
    assert peer.of(BaseCommand.TC_CLIENT_CONNECT_REQUEST)[0].tcClientConnectRequest.tc_id == 1
    assert await coordinator.begin(2.5) == TxnId(1, 0)
    assert peer.of(BaseCommand.NEW_TXN)[0].newTxn.txn_ttl_millis == 2500


async def test_a_broker_that_has_it_not_is_asked_where_it_is(peer, coordinator):
    peer.script(BaseCommand.TC_CLIENT_CONNECT_REQUEST, deny(NotReady("not served here")))
    await coordinator.ready()
    assert len(peer.of(BaseCommand.LOOKUP)) == 2


async def test_a_broker_without_transactions_refuses(peer, coordinator):
    peer.script(
        BaseCommand.TC_CLIENT_CONNECT_REQUEST,
        refuse("tcClientConnectRequest", NotAllowed("Transactions are not enabled.")),
    )
    with pytest.raises(NotAllowed, match="Transactions are not enabled"):
        await coordinator.ready()
    await coordinator.ready()  # They are now.


@pytest.mark.parametrize("error", [CoordinatorNotFound("moved"), UnknownFailure("loading")])
async def test_what_may_help_is_asked_again(peer, coordinator, error):
    await coordinator.ready()
    peer.script(BaseCommand.NEW_TXN, deny(error), hang_up)
    assert await coordinator.begin(1) == TxnId(1, 0)
    assert len(peer.of(BaseCommand.NEW_TXN)) == 3


async def test_what_will_not_help_is_raised(peer, coordinator):
    await coordinator.ready()
    peer.script(BaseCommand.ADD_SUBSCRIPTION_TO_TXN, deny(NotAuthorized("not yours")))
    with pytest.raises(NotAuthorized, match="not yours"):
        await coordinator.add_subscription(TxnId(1, 0), "t", "s")
    assert len(peer.of(BaseCommand.TC_CLIENT_CONNECT_REQUEST)) == 1


async def test_no_answer_is_a_time_out(peer, coordinator):
    await coordinator.ready()
    peer.script(BaseCommand.NEW_TXN, silence)
    begin = asyncio.ensure_future(coordinator.begin(1))
    await peer.saw(BaseCommand.NEW_TXN)
    await pass_time(5)
    with pytest.raises(TimedOut):
        await begin


async def test_a_lost_connection_is_made_again(peer, coordinator):
    await coordinator.ready()
    peer.connections[0].drop()
    await peer.saw(BaseCommand.TC_CLIENT_CONNECT_REQUEST, 2)
    assert await coordinator.begin(1) == TxnId(1, 0)


async def test_a_connection_with_a_coordinator_is_in_use(coordinator):
    await coordinator.ready()
    connection = coordinator._attachment.connection
    assert connection._used()
    await coordinator.close()
    assert not connection._used()


async def test_who_waits_at_its_end_is_told(peer, coordinator):
    await coordinator.ready()
    await peer.stop()
    await until(lambda: coordinator._attachment.connection is None)
    begin = asyncio.ensure_future(coordinator.begin(1))
    await asyncio.sleep(0)
    await coordinator.close()
    with pytest.raises(AlreadyClosed, match="the client is closed"):
        await begin
    await peer.start()


async def test_they_take_turns_from_a_place_of_chance(coordinators):
    numbers = [(await coordinators.next())._number for _ in range(4)]
    assert numbers == [1, 0, 1, 0]


async def test_they_are_found_anew_when_one_is_over(peer, at_peer, coordinators):
    for _ in range(2):
        await coordinators.next()
    peer._always[BaseCommand.TC_CLIENT_CONNECT_REQUEST] = deny(NotAllowed("switched off"))
    peer.connections[0].drop()
    await until(lambda: all(each.over for each in coordinators._all))
    with pytest.raises(NotAllowed, match="switched off"):
        await coordinators.next()
    peer._always[BaseCommand.TC_CLIENT_CONNECT_REQUEST] = grant
    at_peer.count = 1
    coordinators._all[0]._attachment._end(NotAllowed("switched off"))
    assert (await coordinators.next())._number == 0
    assert len(coordinators._all) == 1
