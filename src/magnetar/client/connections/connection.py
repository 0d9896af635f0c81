"""One TCP connection to one broker, shared by every producer and consumer that needs that broker.

Bytes become frames, and each frame becomes one call of the producer, the consumer or the request
that it concerns; no call waits. What is written in one loop iteration leaves in one write.

A connection tells the ``Callbacks`` of the producers, consumers, watchers and coordinators in its
four tables what the broker has sent them. They take themselves in before they ask the broker to
attach them, and are out again when it detaches them, which ``on_detached`` tells them.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeVar, cast

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
from magnetar.wire.commands import BaseCommand, MessageIdData
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame, FrameDecoder
from magnetar.wire.requests import ping, pong

from .credentials import Credentials
from .endpoint import Endpoint
from .liveness import Liveness, LivenessResult
from .requests import REQUEST_ID_OF, Requests
from .sign_in import SignIn
from .tls import Tls, refuses_certificate
from .transport import open_transport, stranger

log = logging.getLogger(__name__)

READ_SIZE: Final = 256 * 1024  # Bytes per read; frames that do not fit get a buffer of their own.
CLOSE_TIMEOUT_S: Final = 1.0
_EPOCHS_SINCE: Final = 20  # Newer than Apache Pulsar 2.10, which brought consumer epochs.
JOIN_SIZE_MAX: Final = 256 * 1024  # Up to this size one joined write is cheaper than many pieces.


class Callbacks(Protocol):
    """The callbacks of whatever is attached over a connection."""

    def on_detached(self, connection: "Connection", error: MagnetarError | None) -> None:
        """The broker closed it (``error`` is None), or the connection is gone."""


class MovingCallbacks(Callbacks, Protocol):
    """The callbacks of what is attached for one topic."""

    def on_detached(
        self, connection: "Connection", error: MagnetarError | None, *, moved: bool = False
    ) -> None:
        """As above; ``moved``: the broker has said which one serves the topic from now on."""


class ProducerCallbacks(MovingCallbacks, Protocol):
    """The callbacks of a producer."""

    def on_receipt(self, frame: Frame) -> None: ...

    def on_send_error(self, frame: Frame) -> None: ...


class ConsumerCallbacks(MovingCallbacks, Protocol):
    """The callbacks of a consumer."""

    def on_message(self, frame: Frame) -> None: ...

    def on_ack_response(self, request_id: int, error: MagnetarError | None) -> None: ...

    def on_active_change(self, frame: Frame) -> None: ...

    def on_end_of_topic(self) -> None: ...


class WatcherCallbacks(Callbacks, Protocol):
    """The callbacks of a watcher of topics."""

    def on_topics(self, frame: Frame) -> None: ...


C = TypeVar("C", ProducerCallbacks, ConsumerCallbacks, WatcherCallbacks)


class Connection(asyncio.BufferedProtocol):
    """Usable from ``open`` until ``closed``."""

    producers: dict[int, ProducerCallbacks]  # By producer id; they get receipts.
    consumers: dict[int, ConsumerCallbacks]  # By consumer id; they get messages.
    watchers: dict[int, WatcherCallbacks]  # By watcher id; they get the topics that come and go.
    coordinators: dict[int, Callbacks]  # By their number: those of transactions that are asked.
    on_lost: Callable[[MagnetarError], None]  # Called when it ends, but not by ``close``.

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
        self.watchers = {}
        self.coordinators = {}
        self.on_lost = _ignore
        self._tls = tls
        self._sign_in = SignIn(
            endpoint, credentials or Credentials(), write=self.write, abort=self.abort
        )
        self._handshake = self._sign_in.handshake
        self._hello = b""
        self._decoder = FrameDecoder(keeps_buffer=True)
        self._read_buffer = read_buffer
        self._reads_big = False
        self._requests = Requests(next_request_id)
        self._liveness = Liveness(
            keep_alive_interval_s,
            idle_max_s,
            clock,
            used=self._used,
            tell=self._on_liveness,
        )
        self.keep = self._liveness.keep  # The caller is about to use the connection.
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._cause: MagnetarError | None = None
        self._rare: Mapping[int, Callable[[Frame], None]] = {
            BaseCommand.ERROR: self._on_error,
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
            **self._sign_in.commands,
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
                self._hello = await self._sign_in.hello()
                asked = address
                context = None if self._tls is None else self._tls.context()
                await open_transport(lambda: self, address, context, timeout_s)
                await self._sign_in.done()
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

    @property
    def max_message_size(self) -> int:
        """The bytes of payload that the broker takes in one entry."""
        return self._handshake.max_message_size

    @property
    def supports_topic_watchers(self) -> bool:
        """Whether the broker takes WATCH_TOPIC_LIST."""
        return self._handshake.supports_topic_watchers

    @property
    def sends_consumer_epochs(self) -> bool:
        """Whether messages carry the epoch of a consumer that has asked for a redelivery."""
        return self._handshake.protocol_version >= _EPOCHS_SINCE

    @property
    def replicates_by_position(self) -> bool:
        """Whether the broker's receipts for a replicator name the places of what was copied."""
        return self._handshake.replicates_by_position

    def cut_receipts(self) -> None:
        """From now on all producers take receipts that came together as one frame."""
        self._decoder.cut_receipts()

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
        """Raise an error to the caller that awaits an answer, since none will come."""
        self._requests.failed(request_id, error)

    def post(self, build: Callable[[int], bytes]) -> None:
        """Send a request, and do not wait for the answer."""
        self.write(build(self._requests.next_id()))

    def detach(self, among: dict[int, C], owner_id: int, close: Callable[[int], bytes]) -> None:
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
        self.on_lost = _ignore
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

    async def wait_closed(self) -> None:
        """Return when the socket is closed, by whomever."""
        await asyncio.shield(self._lost)

    def leave(self, error: MagnetarError) -> None:
        """As ``abort``, for a reason of the client's own: the broker is not lost."""
        self.on_lost = _ignore
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
        self._liveness.watch()
        self.write(self._hello)
        self._hello = b""

    def get_buffer(self, sizehint: int) -> memoryview:
        big = self._decoder.buffer(sizehint)
        self._reads_big = big is not None
        return self._read_buffer if big is None else big

    def buffer_updated(self, nbytes: int) -> None:
        self._liveness.received()
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
            run = frame.receipts
            of = command.send_receipt.producer_id if run is None else run.producer_id
            producer = self.producers.get(of)
            if producer is not None:
                producer.on_receipt(frame)
        elif kind in REQUEST_ID_OF:
            self._requests.answered(REQUEST_ID_OF[kind](command), frame)
        elif kind in self._rare:
            self._rare[kind](frame)
        else:
            raise ProtocolError(f"command {kind} is not for a client")

    def _on_error(self, frame: Frame) -> None:
        refusal = frame.command.error
        error = from_code(refusal.error, refusal.message)
        refused = self._sign_in.refusal(error)
        if refused is None:
            self._requests.failed(refusal.request_id, error)
        else:
            self.abort(refused)

    def _on_ping(self, frame: Frame) -> None:
        self.write(pong())

    def _on_pong(self, frame: Frame) -> None:
        """Do nothing: ``buffer_updated`` has noted that the broker is alive."""

    def _on_producer_success(self, frame: Frame) -> None:
        success = frame.command.producer_success
        if success.producer_ready:
            self._requests.answered(success.request_id, frame)
        else:  # It is queued for its topic, and is answered again when it is its turn.
            self._requests.postponed(success.request_id)

    def _on_send_error(self, frame: Frame) -> None:
        producer = self.producers.get(frame.command.send_error.producer_id)
        if producer is not None:
            producer.on_send_error(frame)

    def _on_close_producer(self, frame: Frame) -> None:
        close = frame.command.close_producer
        producer = self.producers.pop(close.producer_id, None)
        if producer is not None:
            moved = bool(close.assignedBrokerServiceUrl or close.assignedBrokerServiceUrlTls)
            producer.on_detached(self, None, moved=moved)

    def _on_close_consumer(self, frame: Frame) -> None:
        close = frame.command.close_consumer
        consumer = self.consumers.pop(close.consumer_id, None)
        if consumer is not None:
            moved = bool(close.assignedBrokerServiceUrl or close.assignedBrokerServiceUrlTls)
            consumer.on_detached(self, None, moved=moved)

    def _on_ack_response(self, frame: Frame) -> None:
        response = frame.command.ackResponse
        refused = response.HasField("error")
        error = from_code(response.error, response.message) if refused else None
        consumer = self.consumers.get(response.consumer_id)
        if consumer is not None:
            consumer.on_ack_response(response.request_id, error)
        # That of an acknowledgement in a transaction, which is a request as any other.
        if error is None:
            self._requests.answered(response.request_id, frame)
        else:
            self._requests.failed(response.request_id, error)

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

    def _used(self) -> bool:
        attached = self.producers or self.consumers or self.watchers or self.coordinators
        return bool(attached or len(self._requests))

    def _on_liveness(self, verdict: LivenessResult) -> None:
        if verdict is LivenessResult.PING:
            self.write(ping())
        elif verdict is LivenessResult.DEAD:
            self.abort(ConnectionLost(f"{self.endpoint.physical} does not answer any more"))
        else:
            log.info("connection.idle broker=%s", self.endpoint.physical)
            self.leave(ConnectionLost("the connection was idle"))

    def _end(self, error: MagnetarError) -> None:
        if self._cause is not None:
            return
        self._cause = error
        self._out = []
        self._liveness.stop()
        self._sign_in.end(error)
        if self._handshake.connected:
            self.on_lost(error)
        self._requests.fail_all(error)
        tables = (self.producers, self.consumers, self.watchers, self.coordinators)
        for each in [one for table in tables for one in table.values()]:
            each.on_detached(self, error)
        for table in tables:
            table.clear()


def _ignore(_: MagnetarError) -> None:
    """Do nothing about the end of a connection."""


def position_of(message_id: MessageIdData) -> Position:
    """Read a position, whose numbers the wire writes as unsigned ones."""
    ledger_id, entry_id = message_id.ledgerId, message_id.entryId
    return Position(ledger_id - (ledger_id >> 63 << 64), entry_id - (entry_id >> 63 << 64))
