import asyncio

import pytest
from support.network import Proxy, WireConnection

from magnetar.errors import TimedOut


class Peer:
    """A server of one connection, as seen from its other end."""

    def __init__(self):
        self.connected = asyncio.Event()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        if self.connected.is_set():
            self.writer.close()

    async def _accept(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.connected.set()

    async def write(self, data):
        await self.connected.wait()
        self.writer.write(data)
        await self.writer.drain()


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


async def test_frames_come_out_whole_however_the_bytes_come_in():
    async with Peer() as peer:
        connection = await WireConnection.open("127.0.0.1", peer.port)
        for byte in frame(b"first") + frame(b""):
            await peer.write(bytes([byte]))
        await peer.write(frame(b"x" * 100_000) + frame(b"last")[:6])
        assert await connection.receive() == frame(b"first")
        assert await connection.receive() == frame(b"")
        assert await connection.receive() == frame(b"x" * 100_000)
        assert connection.waiting == 0
        await peer.write(frame(b"last")[6:])
        assert await connection.receive() == frame(b"last")
        connection.close()


async def test_any_bytes_are_sent_as_they_are():
    async with Peer() as peer:
        connection = await WireConnection.open("127.0.0.1", peer.port)
        connection.send(b"no frame at all")
        await peer.connected.wait()
        assert await peer.reader.readexactly(15) == b"no frame at all"
        connection.close()


async def test_the_end_of_the_stream_is_none_and_comes_after_the_frames():
    async with Peer() as peer:
        connection = await WireConnection.open("127.0.0.1", peer.port)
        await peer.write(frame(b"bye"))
        peer.writer.close()
        assert await connection.receive_end() == [frame(b"bye")]
        assert connection.closed
        assert await connection.receive() is None
        connection.send(b"into the void")


async def test_silence_is_an_error_that_names_the_wait():
    async with Peer() as peer:
        connection = await WireConnection.open("127.0.0.1", peer.port)
        with pytest.raises(TimedOut, match=r"within 0\.01 s"):
            await connection.receive(0.01)
        connection.abort()


async def test_a_proxy_carries_both_ways():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        connection.send(b"ping")
        await peer.connected.wait()
        assert await peer.reader.readexactly(4) == b"ping"
        await peer.write(frame(b"pong"))
        assert await connection.receive() == frame(b"pong")
        assert proxy.accepted == 1
        peer.writer.close()
        assert await connection.receive_end() == []


async def test_a_cut_is_seen_at_both_ends():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        connection.send(b"x")
        await peer.connected.wait()
        await peer.reader.readexactly(1)
        proxy.cut()
        assert await connection.receive_end() == []
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await peer.reader.readexactly(1)


async def test_what_is_lost_takes_its_connection_with_it():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        proxy.loses = lambda chunk: b"lost" in chunk
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        await peer.connected.wait()
        await peer.write(frame(b"kept"))
        assert await connection.receive() == frame(b"kept")
        await peer.write(frame(b"lost"))
        assert await connection.receive_end() == []


async def test_a_held_network_is_silent_until_released():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        connection.send(b"x")
        await peer.connected.wait()
        await peer.reader.readexactly(1)
        proxy.hold()
        await peer.write(frame(b"late"))
        with pytest.raises(TimedOut):
            await connection.receive(0.05)
        proxy.release()
        assert await connection.receive() == frame(b"late")


async def test_one_client_is_held_apart_from_those_that_come_later():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        held = await WireConnection.open("127.0.0.1", proxy.port)
        await peer.connected.wait()
        early = peer.writer
        line = proxy.apart()
        line.clear()
        peer.connected.clear()
        free = await WireConnection.open("127.0.0.1", proxy.port)
        await peer.write(frame(b"through"))
        assert await free.receive() == frame(b"through")
        early.write(frame(b"late"))
        with pytest.raises(TimedOut):
            await held.receive(0.05)
        line.set()
        assert await held.receive() == frame(b"late")
        early.close()


class NamedSleeps:
    def __init__(self):
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)


async def test_a_slow_network_holds_up_every_chunk():
    clock = NamedSleeps()
    async with Peer() as peer, Proxy("127.0.0.1", peer.port, clock=clock) as proxy:
        proxy.delay_s = 0.25
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        connection.send(b"x")
        await peer.connected.wait()
        await peer.reader.readexactly(1)
        assert clock.slept == [0.25]
        connection.close()


async def test_a_refusing_proxy_and_a_missing_broker_end_the_connection():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        proxy.refusing = True
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        assert await connection.receive_end() == []
        assert proxy.accepted == 0
    async with Proxy("127.0.0.1", peer.port) as proxy:
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        assert await connection.receive_end() == []


async def test_a_connection_is_cut_within_what_a_client_sends():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        cutting = asyncio.ensure_future(proxy.cut_after(7))
        connection.send(b"1234")
        assert await peer_reads(peer, 4) == b"1234"
        connection.send(b"567890")
        await cutting
        assert await peer.reader.read() == b"567"
        assert await connection.receive() is None


async def peer_reads(peer, count):
    await peer.connected.wait()
    return await peer.reader.readexactly(count)


async def test_a_cut_that_is_given_up_does_not_come():
    async with Peer() as peer, Proxy("127.0.0.1", peer.port) as proxy:
        connection = await WireConnection.open("127.0.0.1", proxy.port)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await proxy.cut_after(3)
        connection.send(b"123456")
        assert await peer_reads(peer, 6) == b"123456"
        connection.close()
