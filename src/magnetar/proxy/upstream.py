"""Connections to brokers: one that becomes a client's own, with the proxy's CONNECT in front."""

import asyncio
import socket
from functools import partial
from typing import Final, NamedTuple, cast

from magnetar.client.config import ClientConfig
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.tls import Tls
from magnetar.client.connections.transport import open_transport
from magnetar.client.service_url import host_and_port
from magnetar.errors import ConnectionLost, MagnetarError, ProtocolError, TimedOut
from magnetar.version import __version__
from magnetar.wire import requests
from magnetar.wire.commands import BaseCommand, CommandConnect
from magnetar.wire.errors import from_code
from magnetar.wire.requests import OnBehalf

from .brokers import Brokers
from .frame_reader import FrameReader
from .targets import Targets

PROXY_VERSION: Final = f"Magnetar {__version__}"


class Greeted(NamedTuple):
    """A broker that has answered CONNECT, and is not read now."""

    transport: asyncio.Transport
    answer: bytes  # Its CONNECTED, and what came behind it.


class Upstream:
    """How brokers are reached, and what the proxy shows them of itself."""

    def __init__(
        self, config: ClientConfig, targets: Targets, brokers: Brokers, *, tls: bool
    ) -> None:
        """``config`` has who the proxy is and whom it trusts."""
        self._config = config
        self._targets = targets
        self._brokers = brokers
        self._tls = Tls(config) if tls else None

    async def greet(self, address: str, command: CommandConnect, on_behalf: OnBehalf) -> Greeted:
        """Connect to the broker that a client names, and say CONNECT for that client.

        Raises NotAllowed for an address that is not allowed, ConnectionLost, TimedOut, and the
        broker's own refusal.
        """
        self._targets.check(address, self._brokers.is_broker)
        credentials = Credentials(self._config.authentication)
        features = [field.name for field, value in command.feature_flags.ListFields() if value]
        shown = await credentials.data()
        hello = requests.connect(
            command.client_version,
            command.protocol_version,
            features=features,
            auth_method=credentials.method,
            auth_data=shown,
            on_behalf=on_behalf,
        )
        timeout_s = self._config.connection_timeout_s
        greeting = Greeting(hello, credentials, command.protocol_version)
        try:
            async with asyncio.timeout(timeout_s):
                await self._check_resolved(address)
                await self.connect(partial(_itself, greeting), address)
                return await greeting.done
        except TimeoutError:
            greeting.drop()
            raise TimedOut(f"{address} did not answer within {timeout_s:g} s") from None
        except BaseException:
            greeting.drop()
            raise

    async def connect(self, make: partial[asyncio.BaseProtocol], address: str) -> None:
        """Open a connection to ``host:port``. Raises ConnectionLost."""
        context = None if self._tls is None else self._tls.context()
        await open_transport(make, address, context, self._config.connection_timeout_s)

    async def _check_resolved(self, address: str) -> None:
        if self._targets.networks:
            host, port = host_and_port(address)
            loop = asyncio.get_running_loop()
            try:
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                raise ConnectionLost(f"the name {host} is not known ({error})") from error
            self._targets.check_resolved(address, [str(each[4][0]) for each in found])


def _itself(protocol: asyncio.BaseProtocol) -> asyncio.BaseProtocol:
    return protocol


class Greeting(asyncio.Protocol):
    """The proxy's side of a handshake with a broker."""

    def __init__(self, hello: bytes, credentials: Credentials, protocol_version: int) -> None:
        self.done: asyncio.Future[Greeted] = asyncio.get_running_loop().create_future()
        self._hello = hello
        self._credentials = credentials
        self._protocol_version = protocol_version
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None

    def drop(self) -> None:
        """It is of no use any more."""
        if self.done.done() and not self.done.cancelled():
            self.done.exception()  # Retrieved.
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._hello)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            found = self._reader.next()
            if found is not None:
                self._on_frame(found[0].command, found[1])
        except ProtocolError as error:
            self._fail(ConnectionLost(f"the broker broke the protocol: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionLost(f"the broker closed the connection: {exc or 'no answer'}"))

    def _on_frame(self, command: BaseCommand, whole: bytes) -> None:
        assert self._transport is not None
        if command.type == BaseCommand.CONNECTED and not self.done.done():
            self._transport.pause_reading()
            self.done.set_result(Greeted(self._transport, whole + self._reader.rest))
        elif command.type == BaseCommand.ERROR:
            self._fail(from_code(command.error.error, command.error.message))
        else:
            self._fail(ConnectionLost(f"the broker said {command.type} in place of CONNECTED"))

    def _fail(self, error: MagnetarError) -> None:
        if not self.done.done():
            self.done.set_exception(error)
