import asyncio

import pytest
from support.loop import until, until_idle

from magnetar.broker.cluster import neighbours as neighbours_module
from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.cluster.neighbours import Neighbours
from magnetar.errors import ConnectionLost


class Process:
    """What is seen of another broker's process."""

    def __init__(self):
        self.listens = True
        self.connections = []
        self.refused = 0
        self.lingers = 0  # So often its port is still open.

    async def connect(self, _broker):
        if not self.listens:
            self.refused += 1
            raise ConnectionLost("refused")
        self.connections.append(asyncio.Event())
        return self

    async def wait_closed(self):
        await self.connections[-1].wait()

    async def refuses(self, _broker):
        self.lingers -= 1
        return self.lingers < 0 and not self.listens

    def end_connection(self):
        self.connections[-1].set()


@pytest.fixture
def process():
    return Process()


@pytest.fixture
async def running(brokers, process):
    """Two brokers, of which the first follows the other."""
    here, there = (Brokers(each.member) for each in brokers)
    await here.register()
    await there.register()
    neighbours = Neighbours(
        brokers[0].member, here, connect=process.connect, refuses=process.refuses
    )
    neighbours.start()
    await until(lambda: process.connections)
    yield brokers[0].member, here, there
    neighbours.close()
    here.close()
    there.close()


async def test_a_process_whose_connection_ended_and_that_refuses_another_is_gone(running, process):
    member, here, there = running
    process.listens = False
    process.end_connection()
    await until(lambda: there.own in member.gone)
    assert await here.all() == [here.own]


async def test_one_that_listens_is_not_gone(running, process):
    member, here, there = running
    process.end_connection()
    await until(lambda: len(process.connections) == 2)
    assert not member.gone
    assert await here.all() == [here.own, there.own]


async def test_one_that_is_back_is_not_gone_any_more(running, process):
    member, _, there = running
    process.listens = False
    process.end_connection()
    await until(lambda: there.own in member.gone)
    await until(lambda: process.refused)
    process.listens = True
    await until(lambda: len(process.connections) == 2)
    assert not member.gone


async def test_one_whose_session_ended_is_followed_no_more(running, process):
    member, _, there = running
    process.listens = False
    process.end_connection()
    await until(lambda: member.gone)
    await there.unregister()
    await until(lambda: not member.gone)
    process.listens = True
    await there.register()
    await until(lambda: len(process.connections) == 2)


async def test_one_whose_port_closes_after_its_connection_is_gone_soon(running, process):
    member, _, there = running
    process.listens, process.lingers = False, 2
    process.end_connection()
    await until(lambda: there.own in member.gone)
    assert not process.refused, "it was not connected to anew"


async def test_a_broker_has_met_the_others_when_they_are_connected_or_refuse(brokers, process):
    members = [each.member for each in brokers]
    here, there = map(Brokers, members)
    await here.register()
    await there.register()
    neighbours = Neighbours(members[0], here, connect=process.connect, refuses=process.refuses)
    meeting = asyncio.ensure_future(neighbours.met())
    await until_idle()
    assert not meeting.done()
    process.listens = False
    neighbours.start()
    await meeting
    assert process.refused
    assert not members[0].gone, "it was never connected, and may be starting"
    neighbours.close()
    here.close()
    there.close()


async def test_a_broker_waits_no_longer_for_the_others_than_it_may(brokers, process, monkeypatch):
    monkeypatch.setattr(neighbours_module, "MEET_S_MAX", 0.05)
    there = Brokers(brokers[1].member)
    await there.register()
    neighbours = Neighbours(
        brokers[0].member, there, connect=process.connect, refuses=process.refuses
    )
    await asyncio.wait_for(neighbours.met(), 5)
    assert not process.connections
    neighbours.close()
    there.close()


@pytest.mark.usefixtures("running")
async def test_a_broker_does_not_follow_itself(process):
    await until_idle()
    assert len(process.connections) == 1
