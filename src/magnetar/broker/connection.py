"""One client's connection: bytes in to handlers. Loop 1; nothing in here waits.

Bytes arrive in one buffer that all connections share. Only a frame too big for it gets memory of
its own, which the decoder provides and the kernel fills. A read is decoded as a whole, and its
frames and runs of sends go to the command table one by one.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, cast

from magnetar.auth.certificates import common_name
from magnetar.clock import Clock
from magnetar.errors import NotAllowed, ProtocolError
from magnetar.late_dataclass import dataclass
from magnetar.loop_iteration import LoopIteration
from magnetar.message.send_run import SendRun
from magnetar.tasks import Tasks
from magnetar.wire import replies
from magnetar.wire.frames import FRAME_SIZE_MAX, MESSAGE_SIZE_MAX, FrameDecoder
from magnetar.wire.keepalive import KeepAlive

from .handlers.table import CommandTable
from .outbox import Outbox, OutboxBudget
from .pending_publishes import PendingPublishes, PublishBuffer
from .read_pause import PauseReason, ReadPause
from .session import Session
from .settings.connections import ConnectionSettings
from .shared_frames import SharedFrames

log = logging.getLogger(__name__)

SHARED_BUFFER_BYTES: Final = 256 * 1024
SMALL_READ_BYTES: Final = 4 * 1024  # For clients that send many commands, or more than they may.
COMMANDS_PER_READ_MAX: Final = 64  # After more, each loop iteration does one small read.
FRAME_PADDING: Final = FRAME_SIZE_MAX - MESSAGE_SIZE_MAX  # Room for command and metadata.
PING_SINCE: Final = 1  # The protocol version from which a client understands PING.


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """What every connection of a broker uses."""

    table: CommandTable
    settings: ConnectionSettings
    publish_buffer: PublishBuffer
    outbox_budget: OutboxBudget
    shared_frames: SharedFrames
    clock: Clock
    iteration: LoopIteration
    tasks: Tasks
    buffer: memoryview
    opened: Callable[["Connection"], bool]  # False: there are too many, it must close at once.
    closed: Callable[["Connection"], None]
    new_session: Callable[..., Session] = Session


class Connection(asyncio.BufferedProtocol):
    """A client's TCP connection."""

    __slots__ = (
        "_buffer",
        "_closing",
        "_context",
        "_decoder",
        "_into_own_memory",
        "_keep_alive",
        "_last_call",
        "_loop",
        "_outbox",
        "_read_pause",
        "_session",
        "_small_reads",
        "_transport",
    )

    # The loop calls connection_made first, which sets these.
    _transport: asyncio.Transport
    _read_pause: ReadPause
    _outbox: Outbox
    _session: Session

    def __init__(self, context: ConnectionContext, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        settings = context.settings
        self._decoder = FrameDecoder(settings.message_size_max + FRAME_PADDING, acks_in_runs=True)
        self._keep_alive = KeepAlive(settings.keep_alive_interval_s, context.clock.now())
        self._buffer = context.buffer
        self._into_own_memory = False  # The last get_buffer handed out a big frame's memory.
        self._small_reads = True  # Nobody knows yet what the client sends.
        self._closing = False
        self._last_call = False  # A tick came after closing began.

    @property
    def due(self) -> float:
        """When ``tick`` is to be called."""
        return self._keep_alive.due

    @property
    def throttled(self) -> bool:
        """The client is not read, because it publishes or asks too much."""
        return self._read_pause.caused_by_broker

    @property
    def session(self) -> Session:
        return self._session

    @property
    def address(self) -> str:
        return self._session.address

    # The event loop calls what follows.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, since the transports of uvloop do not inherit from those of asyncio.
        self._transport = cast(asyncio.Transport, transport)
        context, settings = self._context, self._context.settings
        self._read_pause = ReadPause(self._transport)
        self._outbox = Outbox(
            self._transport,
            self._loop,
            self._read_pause,
            context.iteration,
            context.outbox_budget,
        )
        self._session = context.new_session(
            hang_up_written=self.hang_up,
            cut_off=self.cut_off,
            address=_address(transport.get_extra_info("peername")),
            outbox=self._outbox,
            read_pause=self._read_pause,
            pending_publishes=PendingPublishes(
                context.publish_buffer,
                self._read_pause,
                count_max=settings.pending_publishes_max,
                bytes_max=settings.pending_publish_bytes_max,
            ),
            shared_frames=context.shared_frames,
            liveness_timeout_s=settings.liveness_timeout_ms / 1000,
            clock=context.clock,
            tasks=context.tasks,
            certificate=common_name(transport.get_extra_info("peercert")),
        )
        if not context.opened(self):
            error = NotAllowed("Reached the maximum number of connections")
            self._outbox.put(replies.error(replies.NO_REQUEST, error))
            self.hang_up("too many connections")

    def get_buffer(self, sizehint: int) -> memoryview:
        own = self._decoder.buffer(sizehint)
        self._into_own_memory = own is not None
        if own is not None:
            return own
        return self._buffer[:SMALL_READ_BYTES] if self._small_reads else self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        self._keep_alive.received()
        session, table = self._session, self._context.table
        session.heard()
        commands = 0
        try:
            if self._into_own_memory:
                arrived = self._decoder.filled(nbytes)
            else:
                arrived = self._decoder.feed(self._buffer[:nbytes])
            for item in arrived:
                if isinstance(item, SendRun):
                    table.on_sends(session, item)
                else:
                    table.on_frame(session, item)
                    commands += 1
                if self._is_closing():
                    return
            if self._decoder.failure is not None:
                raise self._decoder.failure
            self._small_reads = session.too_fast
            if commands > COMMANDS_PER_READ_MAX:
                self._small_reads = True
                self._read_pause.pause(PauseReason.MANY_COMMANDS)
                self._loop.call_soon(self._read_pause.resume, PauseReason.MANY_COMMANDS)
        except ProtocolError as error:
            reason = f"{type(error).__name__}: {error}"
            log.warning("connection.broke_the_protocol address=%s reason=%s", self.address, reason)
            self.hang_up(reason)

    def pause_writing(self) -> None:
        self._outbox.congested()

    def resume_writing(self) -> None:
        self._outbox.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            log.info("connection.lost address=%s error=%s", self.address, exc)
        elif not self._closing:
            log.info("connection.closed address=%s reason=by the client", self.address)
        self._close()
        self._decoder.drop()
        self._outbox.drop()
        self._context.closed(self)
        self._context.tasks.spawn("close", self._session.close())

    # The broker calls what follows.

    def tick(self) -> None:
        """A keep-alive interval is over: ask a silent client whether it is there, or give it up."""
        verdict = self._keep_alive.tick(self._context.clock.now())
        if self._closing:
            if self._last_call:
                self._transport.abort()  # The client had an interval to read what was left.
            self._last_call = True
        elif not self._session.connected:
            self.cut_off("no CONNECT in time")
        elif self._session.unwelcome:
            self.hang_up("it was told that it is not let in")
        elif self._session.protocol_version < PING_SINCE:
            return  # The client is too old to know PING.
        elif verdict == "ping":
            self._outbox.put(replies.ping())
        elif verdict == "close" and not self._read_pause.caused_by_broker:
            self.cut_off("nothing heard for too long")

    def hang_up(self, reason: str) -> None:
        """Close once everything put before is written. May be called again."""
        if self._closing:
            return
        self._close()
        log.info("connection.closed address=%s reason=%s", self.address, reason)
        self._outbox.close()
        self._transport.close()

    def cut_off(self, reason: str) -> None:
        """Close at once, without writing what is left."""
        if not self._closing:
            log.info("connection.cut_off address=%s reason=%s", self.address, reason)
        self._close()
        self._transport.abort()

    def _close(self) -> None:
        self._closing = True
        self._read_pause.close()

    def _is_closing(self) -> bool:
        """Handlers may have closed it, which a type checker would not expect of the field."""
        return self._closing


def _address(peer: object) -> str:
    """``host:port`` of a socket's peer name."""
    if isinstance(peer, tuple) and len(peer) >= 2:
        host, port = peer[:2]
        return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    return "unknown"
