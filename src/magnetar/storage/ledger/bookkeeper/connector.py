"""Connects to bookies: plainly, or by TLS, which begins on the plain connection.

What is said before the first request of version 2 is said one by one, by a protocol of its own;
then the connection is given the one that it is for.
"""

import asyncio
import ssl
from typing import cast

from magnetar.errors import ConnectionLost, CorruptEntry, MagnetarError

from . import v3
from .addresses import Address
from .client_tls import ClientTls, trouble


class Connector:
    """Makes connections to the bookies of one cluster."""

    def __init__(self, tls: ClientTls | None = None) -> None:
        self._tls = tls

    async def connect(self, address: Address, protocol: asyncio.Protocol) -> None:
        """Connect, and hand the connection to ``protocol``. Raises OSError, MagnetarError."""
        if self._tls is None:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: protocol, *address)
        else:
            (await self.ask(address)).hand_over(protocol)

    async def ask(self, address: Address) -> "Questions":
        """A connection for questions of version 3. Raises OSError, MagnetarError."""
        loop = asyncio.get_running_loop()
        _, questions = await loop.create_connection(Questions, *address)
        if self._tls is not None:
            try:
                await questions.start_tls(self._tls.context(), address.host)
            except BaseException:
                questions.close()
                raise
        return questions


class Questions(asyncio.Protocol):
    """A connection that is asked one thing at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._arrived = b""
        self._answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def ask(self, frame: bytes) -> bytes:
        """The frame that answers another. Raises ConnectionLost, CorruptEntry."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        return await self._answer

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Go on by TLS. Raises ConnectionLost."""
        assert self._transport is not None
        try:
            v3.check_started(await self.ask(v3.start_tls_frame()))
        except v3.Refused as error:
            raise ConnectionLost(
                f"it does not speak TLS ({error}): set tlsProviderFactoryClass there, or "
                "bookkeeperTLSClientAuthentication=false here"
            ) from error
        loop = asyncio.get_running_loop()
        try:
            transport = await loop.start_tls(self._transport, self, context, server_hostname=host)
        except OSError as error:
            raise ConnectionLost(trouble(error)) from error
        if transport is None:
            raise ConnectionLost(trouble(ConnectionResetError()))
        self._transport = transport

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """Let ``protocol`` have the connection from now on. Raises ConnectionLost."""
        assert self._transport is not None
        if self._transport.is_closing():
            raise ConnectionLost(trouble(ConnectionResetError()))
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class.

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        try:
            end = v3.frame_end(self._arrived)
        except CorruptEntry as error:
            self._fail(error)
            return
        if end is not None and not self._answer.done():
            frame, self._arrived = self._arrived[:end], self._arrived[end:]
            self._answer.set_result(frame)

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(ConnectionLost(f"it closed the connection{f': {error}' if error else ''}"))

    def _fail(self, error: MagnetarError) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)
            self._answer.exception()  # Nobody may wait for it.
