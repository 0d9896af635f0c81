"""Passes TLS through to the broker that a client greets by name; other TLS ends at the proxy.

What the client sends is looked at and left in the socket, so that whoever takes the connection
then, the proxy's TLS or the broker's, reads it from its beginning.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from magnetar.client.connections.transport import open_transport
from magnetar.errors import MagnetarError
from magnetar.tasks import Tasks

from .brokers import Brokers
from .counts import ProxyCounts
from .server_name import RECORD_MAX, server_name, size_of_record
from .splice import Splice

log = logging.getLogger(__name__)

HELLO_TIMEOUT_S: Final = 10.0
WAITING_MAX: Final = 1024
"""Connections whose first bytes are waited for; more wait in the kernel."""


class SniRouting:
    """Takes the connections of the port for TLS."""

    def __init__(
        self,
        listener: socket.socket,
        tls: ssl.SSLContext,
        brokers: Brokers,
        *,
        make: Callable[[], asyncio.BaseProtocol],
        counts: ProxyCounts,
        spliced: Callable[[Splice], None],
        splice_ended: Callable[[Splice], None],
        admits: Callable[[str], bool],
        left: Callable[[str], None],
        connect_timeout_s: float,
    ) -> None:
        """``make`` makes what serves a connection whose TLS ends here.

        ``admits`` takes a place for a connection from an address, which ``left`` gives back.
        """
        self._listener = listener
        self._tls = tls
        self._brokers = brokers
        self._make = make
        self._counts = counts
        self._spliced = spliced
        self._splice_ended = splice_ended
        self._admits = admits
        self._left = left
        self._connect_timeout_s = connect_timeout_s
        self._tasks = Tasks("sni")
        self._places = asyncio.Semaphore(WAITING_MAX)

    async def run(self) -> None:
        """Take connections, for ever."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._places.acquire()
                client, _ = await loop.sock_accept(self._listener)
                self._tasks.spawn("route", self._route(client))
        finally:
            await self._tasks.close()

    async def _route(self, client: socket.socket) -> None:
        taken = False
        try:
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                name = server_name(await _first_record(client))
            broker = None if name is None else self._brokers.tls_port_of(name)
            if broker is None:
                taken = True
                loop = asyncio.get_running_loop()
                await loop.connect_accepted_socket(
                    self._make, client, ssl=self._tls, ssl_handshake_timeout=HELLO_TIMEOUT_S
                )
            else:
                taken = await self._pass_through(client, broker)
        except (OSError, MagnetarError) as error:  # A TimeoutError is one, too.
            log.info("proxy.not_routed error=%r", error)
        finally:
            self._places.release()
            if not taken:
                client.close()

    async def _pass_through(self, client: socket.socket, broker: str) -> bool:
        """Splice it with the broker; False: there are too many connections."""
        ip = client.getpeername()[0]
        if not self._admits(ip):
            return False
        try:
            there = _Opened()
            await open_transport(lambda: there, broker, None, self._connect_timeout_s)
            here = _Opened()
            await asyncio.get_running_loop().connect_accepted_socket(lambda: here, client)
        except BaseException:
            self._left(ip)
            raise
        splice = Splice(here.transport, there.transport, self._counts, partial(self._ended, ip))
        self._spliced(splice)
        log.info("proxy.passed_through address=%s broker=%s", ip, broker)
        splice.begin(b"", b"")
        return True

    def _ended(self, ip: str, splice: Splice) -> None:
        self._left(ip)
        self._splice_ended(splice)


class _Opened(asyncio.Protocol):
    """Holds a transport that is not to be read yet."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.pause_reading()


async def _first_record(client: socket.socket) -> bytes:
    """The record that a client's first bytes are, left in the socket. Raises OSError."""
    begin = await _peek(client, 5)
    size = size_of_record(begin)
    return await _peek(client, size) if size > len(begin) else begin


async def _peek(client: socket.socket, size: int) -> bytes:
    """So many bytes, once they are there; the kernel says when."""
    loop = asyncio.get_running_loop()
    there = asyncio.Event()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, min(size, RECORD_MAX))
    loop.add_reader(client, there.set)
    try:
        await there.wait()
        return client.recv(size, socket.MSG_PEEK)
    finally:
        loop.remove_reader(client)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
