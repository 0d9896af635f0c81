import asyncio

import pytest
from support.loop import until, until_idle

from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.cluster.neighbours import Neighbours
from magnetar.errors import ConnectionLost


class Process:
    """What is seen of another broker's process."""

    def __init__(self):
        self.listens = True
        self.connections = []
        self.refused = 0

    async def connect(self, _broker):
        if not self.listens:
            self.refused += 1
            raise ConnectionLost("refused")
        self.connections.append(asyncio.Event())
        return self

    async def wait_closed(self):
        await self.connections[-1].wait()

    async def refuses(self, _broker):
        return not self.listens

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


@pytest.mark.usefixtures("running")
async def test_a_broker_does_not_follow_itself(process):
    await until_idle()
    assert len(process.connections) == 1
