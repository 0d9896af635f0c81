"""A socket that takes connections, with or without TLS."""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import NamedTuple


class Listener(NamedTuple):
    """A socket that takes connections."""

    socket: socket.socket
    tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port


async def accept_no_more(listeners: Sequence[Listener]) -> None:
    """Stop accepting, and let who was accepted become a connection, before servers are closed.

    asyncio's own loop accepts in one turn and makes the connection in the next. A server that is
    closed between the two leaves its socket open, until it is collected (python/cpython#109564).
    """
    loop = asyncio.get_running_loop()
    if not isinstance(loop, asyncio.SelectorEventLoop):
        return
    for each in listeners:
        if each.socket.fileno() >= 0:
            loop.remove_reader(each.socket)
    made: asyncio.Future[None] = loop.create_future()
    loop.call_soon(made.set_result, None)  # Behind what makes the connections.
    await made
