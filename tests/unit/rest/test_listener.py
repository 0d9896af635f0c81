"""A server that is closed leaves nobody behind whom it has accepted."""

import asyncio
import socket

import pytest
from support.loop import GIVE_UP_S

from magnetar.broker.addresses import listen
from magnetar.rest.listener import Listener, accept_no_more
from magnetar.rest.router import Router, Routes
from magnetar.rest.server import AdminServer
from magnetar.tasks import Tasks


class Accepted(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport):
        transport.close()


async def of_binary(listener):
    server = await asyncio.get_running_loop().create_server(Accepted, sock=listener.socket)

    async def close():
        await accept_no_more([listener])
        server.close()

    return close


async def of_http(listener):
    server = await AdminServer.start(Router(Routes([]), None), [listener], Tasks("test"))
    return server.close


@pytest.mark.parametrize("start", [of_binary, of_http])
@pytest.mark.parametrize("turns", range(4))
async def test_who_has_just_been_accepted_is_closed_with_the_server(start, turns):
    loop, listener = asyncio.get_running_loop(), Listener(listen("127.0.0.1", 0))
    close = await start(listener)
    with socket.create_connection(("127.0.0.1", listener.port)) as client:
        client.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)
        await close()
        try:
            async with asyncio.timeout(GIVE_UP_S):
                assert await loop.sock_recv(client, 1) == b""
        except ConnectionResetError:
            pass  # It was still in the kernel's queue.
