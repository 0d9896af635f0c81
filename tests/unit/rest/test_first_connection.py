"""What serves connections is started by the first of them."""

import asyncio
import socket

import pytest
from support.loop import until

from magnetar.broker.addresses import listen
from magnetar.rest.first_connection import FirstConnection
from magnetar.rest.listener import Listener
from magnetar.tasks import Tasks


class Greeting:
    """Says hello to everybody, and counts how often it was started."""

    count = 0

    def __init__(self, listener):
        self._listener = listener
        self.may_start = asyncio.Event()
        self.starting = asyncio.Event()

    async def start(self):
        self.count += 1
        self.starting.set()
        await self.may_start.wait()
        self._server = await asyncio.start_server(self._greet, sock=self._listener.socket)
        return self

    async def _greet(self, _, writer):
        writer.write(b"hello")
        writer.close()
        await writer.wait_closed()

    async def close(self):
        self._server.close()
        await self._server.wait_closed()


@pytest.fixture
async def waiting():
    listener = Listener(listen("127.0.0.1", 0))
    greeting = Greeting(listener)
    first = FirstConnection([listener], greeting.start, Tasks("test"))
    yield first, greeting
    greeting.may_start.set()
    await first.close()
    listen("127.0.0.1", first.port).close()  # The port is free again.


async def greeted(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found = await reader.read()
    writer.close()
    await writer.wait_closed()
    return found


async def test_those_who_connect_meanwhile_are_served_by_the_one_that_starts(waiting):
    first, greeting = waiting
    both = [asyncio.create_task(greeted(first.port)) for _ in range(2)]
    await greeting.starting.wait()
    both.append(asyncio.create_task(greeted(first.port)))
    greeting.may_start.set()
    assert await asyncio.gather(*both) == [b"hello"] * 3
    assert greeting.count == 1


async def test_it_closes_though_nobody_has_connected(waiting):
    first, greeting = waiting
    await first.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", first.port)
    assert not greeting.count


async def test_it_closes_what_is_being_started(waiting):
    first, greeting = waiting
    with socket.create_connection(("127.0.0.1", first.port)):
        await greeting.starting.wait()
        closing = asyncio.create_task(first.close())
        greeting.may_start.set()
        await closing
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", first.port)


async def test_what_cannot_start_is_logged_and_its_sockets_are_closed(caplog):
    failing = asyncio.Event()

    async def fails():
        failing.set()
        raise OSError("no such library")

    listener = Listener(listen("127.0.0.1", 0))
    first = FirstConnection([listener], fails, Tasks("test"))
    with socket.create_connection(("127.0.0.1", first.port)):
        await failing.wait()
        await until(lambda: listener.socket.fileno() < 0)
    assert "no such library" in caplog.text
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", first.port)
    await first.close()
