import asyncio
from random import Random

import pytest

from magnetar.testing.simulation.loop import SimulatedLoop
from magnetar.testing.simulation.network import WINDOW, Network
from magnetar.testing.simulation.processes import Process

ADDRESS = ("there", 1)


class Peer(asyncio.Protocol):
    """One end, and all that it was told."""

    def __init__(self):
        self.data = b""
        self.told = []

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.data += data
        self.told.append(len(data))

    def pause_writing(self):
        self.told.append("pause")

    def resume_writing(self):
        self.told.append("resume")

    def connection_lost(self, error):
        self.told.append(error)


class Pair:
    """Two processes and a connection between them."""

    def __init__(self):
        self.loop = SimulatedLoop()
        self.network = Network(self.loop, Random(1))
        self.here, self.there = Process("here"), Process("there")
        self.accepted = []

    def accept(self):
        self.accepted.append(Peer())
        return self.accepted[-1]

    async def connect(self):
        await self.there.run(self.loop.create_server(self.accept, *ADDRESS))
        _, peer = await self.here.run(self.loop.create_connection(Peer, *ADDRESS))
        await asyncio.sleep(1)
        return peer, self.accepted[-1]

    def run(self, work):
        return self.loop.run_until_complete(work)


@pytest.fixture
def pair():
    pair = Pair()
    yield pair
    pair.loop.close()


def test_what_is_sent_arrives_in_order_in_pieces_of_any_size(pair):
    pair.network.torn = 1.0

    async def talk():
        here, there = await pair.connect()
        for number in range(100):
            here.transport.write(b"%03d" % number)
        here.transport.close()
        await asyncio.sleep(1)
        return there

    there = pair.run(talk())
    assert there.data == b"".join(b"%03d" % number for number in range(100))
    assert len(there.told) > 3
    assert there.told[-1] is None


def test_a_link_that_is_cut_one_way_keeps_what_is_sent_until_it_is_mended(pair):
    async def talk():
        here, there = await pair.connect()
        pair.network.cut("here", "there")
        here.transport.write(b"question")
        there.transport.write(b"hint")
        await asyncio.sleep(100)
        assert (here.data, there.data) == (b"hint", b"")
        pair.network.mend([("here", "there")])
        await asyncio.sleep(1)
        assert there.data == b"question"

    pair.run(talk())


def test_who_does_not_read_keeps_who_sends_waiting(pair):
    async def talk():
        here, there = await pair.connect()
        there.transport.pause_reading()
        here.transport.write(bytes(3 * WINDOW))
        await asyncio.sleep(1)
        assert (here.told, there.data) == (["pause"], b"")
        assert here.transport.get_write_buffer_size() == 2 * WINDOW
        there.transport.resume_reading()
        await asyncio.sleep(1)
        assert (here.told, len(there.data)) == (["pause", "resume"], 3 * WINDOW)

    pair.run(talk())


@pytest.mark.parametrize("power", [False, True])
def test_a_process_that_is_killed_resets_its_connections_and_a_machine_without_power_does_not(
    pair, power
):
    async def talk():
        here, _ = await pair.connect()
        pair.there.alive = False
        pair.network.died(pair.there, power=power)
        await asyncio.sleep(10)
        assert [type(each) for each in here.told] == ([] if power else [ConnectionResetError])
        with pytest.raises(TimeoutError if power else ConnectionRefusedError):
            await pair.here.run(pair.loop.create_connection(Peer, *ADDRESS))
        if power:
            pair.there = Process("there")
            await pair.connect()
            here.transport.write(b"are you there?")
            await asyncio.sleep(1)
            assert [type(each) for each in here.told] == [ConnectionResetError]

    pair.run(talk())


def test_a_connection_that_is_reset_is_lost_at_both_ends(pair):
    async def talk():
        here, there = await pair.connect()
        pair.network.reset(here.transport)
        await asyncio.sleep(1)
        assert [type(*each.told) for each in (here, there)] == [ConnectionResetError] * 2
        assert not pair.network.transports

    pair.run(talk())
