"""One TCP connection to one broker, shared by every producer and consumer that needs that broker.

Bytes become frames, and each frame becomes one call of the producer, the consumer or the request
that it concerns; no call waits. What is written in one loop iteration leaves in one write.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, cast

from magnetar.client.own_loop import check_loop
from magnetar.clock import Clock
from magnetar.errors import (
    ConnectionLost,
    MagnetarError,
    NotAuthenticated,
    ProtocolError,
    TimedOut,
)
from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.tasks import Tasks
from magnetar.wire.commands import BaseCommand, MessageIdData
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame, FrameDecoder
from magnetar.wire.handshake import ClientHandshake
from magnetar.wire.keepalive import KeepAlive
from magnetar.wire.requests import ping, pong

from .credentials import Credentials
from .requests import Requests
from .sides import ConsumerSide, Detachable, ProducerSide, S, WatcherSide
from .tls import Tls, refuses_certificate
from .transport import open_transport, stranger

log = logging.getLogger(__name__)

READ_SIZE: Final = 256 * 1024  # Bytes per read; frames that do not fit get a buffer of their own.
CLOSE_TIMEOUT_S: Final = 1.0
JOIN_SIZE_MAX: Final = 256 * 1024  # Up to this size one joined write is cheaper than many pieces.

_request_id_of: Final[Mapping[int, Callable[[object], int]]] = {
    BaseCommand.SUCCESS: attrgetter("success.request_id"),
    BaseCommand.LOOKUP_RESPONSE: attrgetter("lookupTopicResponse.request_id"),
    BaseCommand.PARTITIONED_METADATA_RESPONSE: attrgetter("partitionMetadataResponse.request_id"),
    BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE: attrgetter("getLastMessageIdResponse.request_id"),
    BaseCommand.CONSUMER_STATS_RESPONSE: attrgetter("consumerStatsResponse.request_id"),
    BaseCommand.GET_SCHEMA_RESPONSE: attrgetter("getSchemaResponse.request_id"),
    BaseCommand.GET_OR_CREATE_SCHEMA_RESPONSE: attrgetter("getOrCreateSchemaResponse.request_id"),
    BaseCommand.GET_TOPICS_OF_NAMESPACE_RESPONSE: attrgetter(
        "getTopicsOfNamespaceResponse.request_id"
    ),
    BaseCommand.WATCH_TOPIC_LIST_SUCCESS: attrgetter("watchTopicListSuccess.request_id"),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a broker, and the address to connect to."""

    logical: str  # host:port under which the broker is known.
    physical: str  # host:port to connect to; a proxy has one of its own.


class Connection(asyncio.BufferedProtocol):
    """Usable from ``open`` until ``closed``."""

    producers: dict[int, ProducerSide]  # By producer id; they get receipts.
    consumers: dict[int, ConsumerSide]  # By consumer id; they get messages.
    on_lost: Callable[[MagnetarError], None]  # Called when it ends, but not by ``close``.
    watchers: dict[int, WatcherSide]  # By watcher id; they get the topics that come and go.

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        keep_alive_interval_s: float,
        read_buffer: memoryview,
        next_request_id: Callable[[], int],
        clock: Clock,
        idle_max_s: float = 0.0,
        tls: Tls | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.producers = {}
        self.consumers = {}
        self.on_lost = _nobody
        self.watchers = {}
        proxied = endpoint.logical if endpoint.logical != endpoint.physical else None
        self._tls = tls
        self._credentials = credentials or Credentials()
        self._handshake = ClientHandshake(
            proxy_to_broker_url=proxied, auth_method=self._credentials.method
        )
        self._hello = b""
        self._answering: asyncio.Task[None] | None = None  # To an AUTH_CHALLENGE.
        self._decoder = FrameDecoder(keeps_buffer=True)
        self._read_buffer = read_buffer
        self._reads_big = False
        self._requests = Requests(next_request_id)
        self._clock = clock
        self._idle_max_s = idle_max_s  # Nobody has used it so long: it is closed. 0: never.
        self._idle_since: float | None = None
        self._loop = asyncio.get_running_loop()
        self._keep_alive = KeepAlive(keep_alive_interval_s, clock.now())
        self._keep_alive_timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._connected: asyncio.Future[None] = self._loop.create_future()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._cause: MagnetarError | None = None
        self._rare: Mapping[int, Callable[[Frame], None]] = {
            BaseCommand.CONNECTED: self._on_connected,
            BaseCommand.ERROR: self._on_error,
            BaseCommand.AUTH_CHALLENGE: self._on_challenge,
            BaseCommand.PING: self._on_ping,
            BaseCommand.PONG: self._on_pong,
            BaseCommand.PRODUCER_SUCCESS: self._on_producer_success,
            BaseCommand.SEND_ERROR: self._on_send_error,
            BaseCommand.CLOSE_PRODUCER: self._on_close_producer,
            BaseCommand.CLOSE_CONSUMER: self._on_close_consumer,
            BaseCommand.ACK_RESPONSE: self._on_ack_response,
            BaseCommand.ACTIVE_CONSUMER_CHANGE: self._on_active_change,
            BaseCommand.REACHED_END_OF_TOPIC: self._on_end_of_topic,
            BaseCommand.WATCH_TOPIC_UPDATE: self._on_topics,
        }

    async def open(self, timeout_s: float) -> None:
        """Connect and shake hands.

        Raises ConnectionLost, NotAuthenticated, TimedOut after ``timeout_s`` seconds, InvalidValue
        for files of TLS that cannot be used, or the broker's own error. Nothing stays open when it
        fails or is cancelled.
        """
        address = self.endpoint.physical
        opened, asked = False, f"the source of credentials for {address}"
        try:
            async with asyncio.timeout(timeout_s):
                self._hello = self._handshake.hello(await self._credentials.data())
                asked = address
                context = None if self._tls is None else self._tls.context()
                await open_transport(lambda: self, address, context, timeout_s)
                await self._connected
            opened = True
        except MagnetarError:
            raise
        except TimeoutError:
            raise TimedOut(f"{asked} did not answer within {timeout_s:g} s") from None
        finally:
            if not opened:
                self.abort(ConnectionLost("the connection was not completed"))

    @property
    def closed(self) -> bool:
        """Whether nothing can be sent or received any more."""
        return self._cause is not None

    def keep(self) -> None:
        """Do not take it for idle yet: somebody is about to use it."""
        self._idle_since = None

    @property
    def max_message_size(self) -> int:
        """The bytes of payload that the broker takes in one entry."""
        return self._handshake.max_message_size

    @property
    def supports_topic_watchers(self) -> bool:
        """Whether the broker takes WATCH_TOPIC_LIST."""
        return self._handshake.supports_topic_watchers

    async def request(
        self,
        build: Callable[[int], bytes],
        timeout_s: float,
        postponed: Callable[[], None] | None = None,
    ) -> Frame:
        """Send the request ``build(request_id)``; return the broker's answer, or raise its error.

        ``postponed`` is called when the broker says that it will answer later, which takes the time
        limit away. Raises TimedOut, ConnectionLost.
        """
        if self._cause is not None:
            raise ConnectionLost(str(self._cause))
        return await self._requests.ask(build, self.write, timeout_s, postponed)

    def fail(self, request_id: int, error: MagnetarError) -> None:
        """Raise an error to who waits for an answer, since none will come."""
        self._requests.failed(request_id, error)

    def post(self, build: Callable[[int], bytes]) -> None:
        """Send a request, and do not wait for the answer."""
        self.write(build(self._requests.next_id()))

    def detach(self, among: dict[int, S], owner_id: int, close: Callable[[int], bytes]) -> None:
        """Take a producer or consumer out; send ``close`` unless the broker has closed it."""
        if among.pop(owner_id, None) is not None:
            self.post(close)

    def write(self, frame: bytes) -> None:
        """Send a frame at the end of this loop iteration. A closed connection drops it."""
        if not self._out:
            check_loop(self._loop)
            self._loop.call_soon(self.flush)
        self._out.append(frame)

    def write_pieces(self, pieces: list[bytes]) -> None:
        """Send the pieces of a frame, as ``write``."""
        if not self._out:
            check_loop(self._loop)
            self._loop.call_soon(self.flush)
        self._out += pieces

    def flush(self) -> None:
        """Hand what was written to the socket now."""
        pieces, self._out = self._out, []
        if not pieces or self._cause is not None or self._transport is None:
            return
        if len(pieces) == 1:
            self._transport.write(pieces[0])
        elif sum(map(len, pieces)) <= JOIN_SIZE_MAX:
            self._transport.write(b"".join(pieces))
        else:
            self._transport.writelines(pieces)

    async def close(self) -> None:
        """Send what was written, then close the socket, after a second at the latest."""
        self.flush()
        self.on_lost = _nobody
        self._end(ConnectionLost("the client closed the connection"))
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.shield(self._lost)
        except TimeoutError:
            self._transport.abort()
            await asyncio.shield(self._lost)

    def leave(self, error: MagnetarError) -> None:
        """As ``abort``, for a reason of the client's own: the broker is not lost."""
        self.on_lost = _nobody
        self.abort(error)

    def abort(self, error: MagnetarError) -> None:
        """Close the socket at once, and tell ``error`` to all producers, consumers and requests."""
        self._end(error)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it.
        if self._cause is not None:
            self._transport.abort()
            return
        self._watch_peer()
        self.write(self._hello)
        self._hello = b""

    def get_buffer(self, sizehint: int) -> memoryview:
        big = self._decoder.buffer(sizehint)
        self._reads_big = big is not None
        return self._read_buffer if big is None else big

    def buffer_updated(self, nbytes: int) -> None:
        self._keep_alive.received()
        try:
            if self._reads_big:
                frames = self._decoder.filled(nbytes)
            else:
                frames = self._decoder.feed(self._read_buffer[:nbytes])
            for frame in frames:
                self._on_frame(frame)
            if self._decoder.failure is not None:
                raise self._decoder.failure
        except ProtocolError as error:
            address = self.endpoint.physical
            if self._handshake.connected:
                self.abort(ConnectionLost(f"{address} broke the protocol: {error}"))
                return
            first = bytes(self._read_buffer[:16])
            why = stranger(first) or f"it is no Pulsar broker, its first bytes are {first!r}"
            self.abort(ConnectionLost(f"cannot connect to {address}: {why}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(self._why_closed(exc))
        if not self._lost.done():
            self._lost.set_result(None)

    def _why_closed(self, exc: Exception | None) -> MagnetarError:
        address = self.endpoint.physical
        reason = f": {exc}" if exc else ""
        if refuses_certificate(exc):
            return NotAuthenticated(
                f"{address} refused the client's certificate, method tls{reason}"
            )
        if not self._handshake.connected:
            hint = self._tls.hint if self._tls else "is it for pulsar+ssl://"
            return ConnectionLost(
                f"{address} closed the connection in place of an answer{reason}; {hint}?"
            )
        return ConnectionLost(f"{address} closed the connection{reason}")

    def _on_frame(self, frame: Frame | SendRun) -> None:
        if isinstance(frame, SendRun):
            raise ProtocolError("a broker does not send SEND")
        command = frame.command
        kind = command.type
        if kind == BaseCommand.MESSAGE:
            consumer = self.consumers.get(command.message.consumer_id)
            if consumer is not None:
                consumer.on_message(frame)
        elif kind == BaseCommand.SEND_RECEIPT:
            producer = self.producers.get(command.send_receipt.producer_id)
            if producer is not None:
                producer.on_receipt(frame)
        elif kind in _request_id_of:
            self._requests.answered(_request_id_of[kind](command), frame)
        elif kind in self._rare:
            self._rare[kind](frame)
        else:
            raise ProtocolError(f"command {kind} is not for a client")

    def _on_connected(self, frame: Frame) -> None:
        self._handshake.received(frame)
        if not self._connected.done():
            self._connected.set_result(None)

    def _on_error(self, frame: Frame) -> None:
        refusal = frame.command.error
        error = from_code(refusal.error, refusal.message)
        if self._connected.done():
            self._requests.failed(refusal.request_id, error)
        elif isinstance(error, NotAuthenticated):
            self.abort(self._credentials.refusal(self.endpoint.physical, error))
        else:
            self.abort(error)

    def _on_challenge(self, frame: Frame) -> None:
        """Show who the client is, as it is now: the broker asks when what it was shown expires."""
        if self._answering is None or self._answering.done():
            self._answering = Tasks("connection").spawn("authenticate", self._answer_challenge())

    async def _answer_challenge(self) -> None:
        try:
            self.write(self._handshake.answer(await self._credentials.data()))
        except MagnetarError as error:
            self.abort(ConnectionLost(f"{self.endpoint.physical} wants new credentials: {error}"))

    def _on_ping(self, frame: Frame) -> None:
        self.write(pong())

    def _on_pong(self, frame: Frame) -> None:
        """Do nothing: ``buffer_updated`` has noted that the broker is alive."""

    def _on_producer_success(self, frame: Frame) -> None:
        success = frame.command.producer_success
        if success.producer_ready:
            self._requests.answered(success.request_id, frame)
        else:  # It waits in line for its topic, and is answered again when it is its turn.
            self._requests.postponed(success.request_id)

    def _on_send_error(self, frame: Frame) -> None:
        producer = self.producers.get(frame.command.send_error.producer_id)
        if producer is not None:
            producer.on_send_error(frame)

    def _on_close_producer(self, frame: Frame) -> None:
        producer = self.producers.pop(frame.command.close_producer.producer_id, None)
        if producer is not None:
            producer.on_detached(self, None)

    def _on_close_consumer(self, frame: Frame) -> None:
        consumer = self.consumers.pop(frame.command.close_consumer.consumer_id, None)
        if consumer is not None:
            consumer.on_detached(self, None)

    def _on_ack_response(self, frame: Frame) -> None:
        response = frame.command.ackResponse
        refused = response.HasField("error")
        error = from_code(response.error, response.message) if refused else None
        consumer = self.consumers.get(response.consumer_id)
        if consumer is not None:
            consumer.on_ack_response(response.request_id, error)

    def _on_active_change(self, frame: Frame) -> None:
        consumer = self.consumers.get(frame.command.active_consumer_change.consumer_id)
        if consumer is not None:
            consumer.on_active_change(frame)

    def _on_end_of_topic(self, frame: Frame) -> None:
        consumer = self.consumers.get(frame.command.reachedEndOfTopic.consumer_id)
        if consumer is not None:
            consumer.on_end_of_topic()

    def _on_topics(self, frame: Frame) -> None:
        watcher = self.watchers.get(frame.command.watchTopicUpdate.watcher_id)
        if watcher is not None:
            watcher.on_topics(frame)

    def _keep_alive_tick(self) -> None:
        verdict = self._keep_alive.tick(self._clock.now())
        if verdict == "close":
            self.abort(ConnectionLost(f"{self.endpoint.physical} does not answer any more"))
            return
        if self._idle_too_long():
            log.info("connection.idle broker=%s", self.endpoint.physical)
            self.leave(ConnectionLost("the connection was idle"))
            return
        if verdict == "ping":
            self.write(ping())
        self._watch_peer()

    def _idle_too_long(self) -> bool:
        """Looked at as often as the broker's keep-alive is."""
        used = self.producers or self.consumers or self.watchers or len(self._requests)
        if used or not self._idle_max_s:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = self._clock.now()
        else:
            return self._clock.now() - self._idle_since >= self._idle_max_s
        return False

    def _watch_peer(self) -> None:
        wait_s = max(self._keep_alive.due - self._clock.now(), 0.0)
        self._keep_alive_timer = self._loop.call_later(wait_s, self._keep_alive_tick)

    def _end(self, error: MagnetarError) -> None:
        if self._cause is not None:
            return
        self._cause = error
        self._out = []
        if self._keep_alive_timer is not None:
            self._keep_alive_timer.cancel()
        if not self._connected.done():
            self._connected.set_exception(error)
            self._connected.exception()  # Retrieved, even when nobody waits for it any more.
        if self._answering is not None:
            self._answering.cancel()
        if self._handshake.connected:
            self.on_lost(error)
        self._requests.fail_all(error)
        attached: list[Detachable] = [
            *self.producers.values(),
            *self.consumers.values(),
            *self.watchers.values(),
        ]
        for each in attached:
            each.on_detached(self, error)
        self.producers.clear()
        self.consumers.clear()
        self.watchers.clear()


def _nobody(_: MagnetarError) -> None:
    """Nobody wants to know that the connection ended."""


def position_of(message_id: MessageIdData) -> Position:
    """Read a position, whose numbers the wire writes as unsigned ones."""
    ledger_id, entry_id = message_id.ledgerId, message_id.entryId
    return Position(ledger_id - (ledger_id >> 63 << 64), entry_id - (entry_id >> 63 << 64))
