"""A client's connection, until it is passed on: CONNECT, who it is, and what it asks the proxy.

A client that names a broker in its CONNECT is connected to that broker, and this is over. Any other
asks about topics, and is answered here.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from magnetar.auth.certificates import common_name
from magnetar.broker.handlers.sign_in import SignIn, failure
from magnetar.client.service_url import ServiceUrl
from magnetar.clock import Clock
from magnetar.errors import (
    ConnectionLost,
    InvalidValue,
    MagnetarError,
    NotAllowed,
    NotReady,
    ProtocolError,
    TimedOut,
    UnexpectedCommand,
)
from magnetar.tasks import Tasks
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand, CommandConnect
from magnetar.wire.handshake import PROTOCOL_VERSION_MAX, SERVER_VERSION
from magnetar.wire.keepalive import KeepAlive
from magnetar.wire.requests import OnBehalf

from .counts import ProxyCounts
from .frame_reader import FrameReader
from .lookups import Lookups
from .splice import Splice
from .upstream import PROXY_VERSION, Upstream

log = logging.getLogger(__name__)

PING_SINCE: Final = 1  # The protocol version from which a client understands PING.
UNREAD_MAX: Final = 1024 * 1024
"""A client that leaves more answers than this unread is not read until it has read them."""
_FEATURES: Final = ("supports_get_partitioned_metadata_without_auto_creation",)


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """What every connection of a proxy uses."""

    upstream: Upstream
    lookups: Lookups
    sign_in: SignIn | None  # None: nobody is asked who it is.
    forwards: bool  # Brokers are shown what clients show.
    keep_alive_interval_s: float
    counts: ProxyCounts
    clock: Clock
    tasks: Tasks
    opened: Callable[["ClientConnection"], bool]  # False: there are too many, it must close.
    closed: Callable[["ClientConnection"], None]
    spliced: Callable[["ClientConnection", Splice], None]
    splice_ended: Callable[[Splice], None]


class ClientConnection(asyncio.Protocol):
    """A connection that asks the proxy itself, or does not yet say where it wants to go."""

    __slots__ = (
        "_context",
        "_keep_alive",
        "_on_behalf",
        "_reader",
        "_signed_in",
        "_transport",
        "address",
        "certificate",
        "closed",
        "ip",
        "protocol_version",
        "proxy_role",
        "role",
        "splice",
        "when_closed",
    )

    _transport: asyncio.Transport
    certificate: str | None

    def __init__(self, context: ConnectionContext) -> None:
        self._context = context
        self._reader = FrameReader()
        self._keep_alive = KeepAlive(context.keep_alive_interval_s, context.clock.now())
        self._on_behalf = OnBehalf(PROXY_VERSION)
        self._signed_in = False
        self.address = self.ip = "unknown"
        self.certificate = None
        self.role: str | None = None
        self.proxy_role: str | None = None
        self.protocol_version = -1  # Until CONNECTED.
        self.closed = False
        self.when_closed: Callable[[], None] | None = None
        self.splice: Splice | None = None

    @property
    def due(self) -> float:
        """When ``tick`` is to be called."""
        return self._keep_alive.due

    # The event loop calls what follows.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it.
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.ip, self.address = peer[0], f"{peer[0]}:{peer[1]}"
        self.certificate = common_name(transport.get_extra_info("peercert"))
        if not self._context.opened(self):
            error = NotAllowed("Reached the maximum number of connections")
            self.reply(replies.error(replies.NO_REQUEST, error))
            self.hang_up("too many connections")

    def data_received(self, data: bytes) -> None:
        if self.closed:
            return
        self._keep_alive.received()
        self._reader.feed(data)
        try:
            while not self._is_away() and (found := self._reader.next()) is not None:
                self._on_command(found[0].command)
        except ProtocolError as error:
            log.warning("proxy.broke_the_protocol address=%s error=%s", self.address, error)
            self.hang_up(f"{type(error).__name__}: {error}")
        if self._transport.get_write_buffer_size() > UNREAD_MAX:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if not self._is_away():
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._over()
        self._context.closed(self)

    # The proxy calls what follows.

    def tick(self) -> None:
        """A keep-alive interval is over: ask a silent client whether it is there, or give it up."""
        verdict = self._keep_alive.tick(self._context.clock.now())
        if not self._signed_in and verdict == "close":
            self.cut_off("no CONNECT in time")
        elif self.protocol_version < PING_SINCE:
            return
        elif verdict == "ping":
            self.reply(replies.ping())
        elif verdict == "close":
            self.cut_off("nothing heard for too long")

    def reply(self, data: bytes) -> None:
        self._transport.write(data)

    def hang_up(self, reason: str) -> None:
        """Close once everything is written; a connection that was passed on, with its broker's."""
        log.info("proxy.closed address=%s reason=%s", self.address, reason)
        self.closed = True
        if self.splice is None:
            self._transport.close()
        else:
            self.splice.end()

    def cut_off(self, reason: str) -> None:
        """Close at once."""
        log.info("proxy.cut_off address=%s reason=%s", self.address, reason)
        self.closed = True
        self._transport.abort()

    def _over(self) -> None:
        if self.when_closed is not None:
            self.when_closed()
            self.when_closed = None

    def _is_away(self) -> bool:
        """Whether what comes is not to be taken now: it is closed, or it is being passed on."""
        return self.closed or (self._signed_in and self.protocol_version < 0)

    def _on_command(self, command: BaseCommand) -> None:
        context = self._context
        if not self._signed_in:
            if command.type != BaseCommand.CONNECT:
                raise UnexpectedCommand(f"command {command.type} in place of CONNECT")
            self._signed_in = True  # Nothing more is taken until it is connected.
            self._transport.pause_reading()
            context.tasks.spawn("connect", self._connect(command.connect))
        elif command.type == BaseCommand.PING:
            self.reply(replies.pong())
        elif command.type == BaseCommand.AUTH_RESPONSE:
            data = command.authResponse.response.auth_data
            context.tasks.spawn("authenticate", self._check_answer(data))
        elif command.type != BaseCommand.PONG:
            refused = context.lookups.refuses(command)
            if refused is None:
                context.tasks.spawn("ask", self._ask(command))
            else:
                self.reply(refused)

    async def _ask(self, command: BaseCommand) -> None:
        answer = await self._context.lookups.answer(command, self._on_behalf)
        if not self.closed:
            self.reply(answer)

    async def _connect(self, command: CommandConnect) -> None:
        """Find out who it is, and go on with it."""
        sign_in, context = self._context.sign_in, self._context
        there = command.proxy_to_broker_url
        # What is passed on cannot be asked by the proxy for new credentials: the broker can.
        asks_again = command.feature_flags.supports_auth_refresh
        if there:
            command.feature_flags.supports_auth_refresh = False
        try:
            if sign_in is not None:
                await sign_in.connect(self, command)
            self._on_behalf = self._behalf(command)
            if there:
                command.feature_flags.supports_auth_refresh = asks_again and context.forwards
                await self._pass_on(_address(there), command)
                return
        except MagnetarError as error:
            if sign_in is not None:
                sign_in.note_refused(self, command.auth_method_name, error)
            self._refuse(error)
            return
        if self.closed:
            return
        self.protocol_version = min(command.protocol_version, PROTOCOL_VERSION_MAX)
        self.reply(
            replies.connected(SERVER_VERSION, self.protocol_version, None, features=_FEATURES)
        )
        self._transport.resume_reading()
        self.data_received(b"")  # It may have asked already.

    def _behalf(self, command: CommandConnect) -> OnBehalf:
        if self.role is None:
            return OnBehalf(PROXY_VERSION)
        if not self._context.forwards:
            return OnBehalf(PROXY_VERSION, self.role)
        shown = command.auth_data.decode("utf-8", "replace")
        return OnBehalf(PROXY_VERSION, self.role, shown, command.auth_method_name or None)

    async def _pass_on(self, address: str, command: CommandConnect) -> None:
        """Connect it to a broker. Raises what ``Upstream.greet`` does."""
        context = self._context
        broker, answer = await context.upstream.greet(address, command, self._on_behalf)
        if self.closed:
            broker.abort()
            return
        if context.forwards:
            self._over()  # The broker looks after its credentials.
        log.info("proxy.passed_on address=%s role=%s broker=%s", self.address, self.role, address)
        self.splice = Splice(self._transport, broker, context.counts, self._spliced_over)
        context.spliced(self, self.splice)
        rest, self._reader.rest = self._reader.rest, b""
        self.splice.begin(answer, rest)

    def _spliced_over(self, splice: Splice) -> None:
        self.closed = True
        self._over()
        self._context.splice_ended(splice)
        self._context.closed(self)

    def _refuse(self, error: MagnetarError) -> None:
        log.info("proxy.refused address=%s error=%s", self.address, error)
        if self.closed:
            return
        told = NotReady(str(error)) if isinstance(error, ConnectionLost | TimedOut) else error
        self.reply(replies.error(replies.NO_REQUEST, failure(told)))
        self.hang_up("it is not let in")

    async def _check_answer(self, data: bytes) -> None:
        sign_in = self._context.sign_in
        try:
            if sign_in is None:
                raise UnexpectedCommand("AUTH_RESPONSE without a challenge")
            await sign_in.answered(self, data)
        except MagnetarError as error:
            self._refuse(error)


def _address(there: str) -> str:
    """The ``host:port`` of what a client names. Raises NotAllowed."""
    try:
        return ServiceUrl.parse(there if "://" in there else f"pulsar://{there}").addresses[0]
    except InvalidValue as error:
        raise NotAllowed(
            f"the proxy is to connect to what is no broker's address: {error}"
        ) from None
