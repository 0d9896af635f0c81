import asyncio
import socket

import pytest

from magnetar.client.connections.transport import open_transport, stranger
from magnetar.errors import ConnectionLost


@pytest.fixture
async def listening():
    """The port of something that takes connections."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1")
    yield server.sockets[0].getsockname()[1]
    server.close()


def names(monkeypatch, *addresses):
    """Let every name have these addresses."""

    async def getaddrinfo(_, port, **__):
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses
        ]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


async def test_a_name_that_nobody_knows_is_told():
    with pytest.raises(
        ConnectionLost, match=r"cannot connect to no\.such\.invalid:6650: the name no"
    ):
        await open_transport(asyncio.Protocol, "no.such.invalid:6650", None, 5)


async def test_a_port_where_nobody_listens_is_told(unused_tcp_port):
    address = f"127.0.0.1:{unused_tcp_port}"
    with pytest.raises(ConnectionLost, match=f"cannot connect to {address}: connection refused"):
        await open_transport(asyncio.Protocol, address, None, 5)


async def test_the_addresses_of_a_name_are_tried_in_turn(monkeypatch, listening):
    made = []

    class Made(asyncio.Protocol):
        def connection_made(self, transport):
            made.append(transport.get_extra_info("peername")[0])
            transport.close()

    names(monkeypatch, "127.0.0.2", "127.0.0.1")
    await open_transport(Made, f"several:{listening}", None, 5)
    assert made == ["127.0.0.1"]
    names(monkeypatch, "127.0.0.2", "127.0.0.3")
    with pytest.raises(ConnectionLost, match=r"several:.*: connection refused, nothing listens"):
        await open_transport(Made, f"several:{listening}", None, 5)


def test_a_stranger_is_known_by_its_first_bytes():
    assert "HTTP" in stranger(b"HTTP/1.1 400")
    assert "pulsar+ssl" in stranger(b"\x16\x03\x03")
    assert stranger(b"\0\0\0\x10") == ""
