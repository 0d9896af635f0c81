"""The network of a simulated cluster: connections between processes, each in order, none reliable.

What is sent arrives after a while, in pieces of any size, and what was sent over another connection
may overtake it. A link that is cut, one way or both, keeps what is sent until it is mended. A
process that is killed resets its connections; one whose machine lost power says nothing, and its
peers are told when they send to what begins again there. Who does not read keeps who sends waiting.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from random import Random
from typing import Final, TypeAlias

from .loop import WORLD, SimulatedLoop
from .processes import Process, process_of

Connected: TypeAlias = asyncio.Future[tuple[asyncio.Transport, asyncio.BaseProtocol]]
"""Has a connection and its protocol, where it was accepted."""
WINDOW: Final = 64 * 1024
"""Bytes that are under way in one direction, or were not taken by who should read them."""
UNANSWERED_S: Final = 60.0
"""A connection that nobody answers is given up, as an operating system does."""


class Network:
    """All connections of one simulated cluster."""

    def __init__(self, loop: SimulatedLoop, random: Random) -> None:
        self.loop = loop
        self.random = random
        self.latency_s = (0.0001, 0.001)
        self.slow: dict[tuple[str, str], float] = {}  # By link, how much later all arrives.
        self.torn = 0.0  # How often what is sent arrives in pieces.
        self.transports: dict[SimulatedTransport, None] = {}
        self._cut: set[tuple[str, str]] = set()
        self._listeners: dict[tuple[str, int], Listener] = {}
        self._silent: set[str] = set()  # Hosts without power.
        loop.network = self

    # Who is told what, by asyncio's names.

    async def serve(
        self, factory: Callable[[], asyncio.BaseProtocol], address: tuple[str, int]
    ) -> "Listener":
        listener = Listener(self, factory, address)
        self._silent.discard(address[0])
        self._listeners[address] = listener
        return listener

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], address: tuple[str, int]
    ) -> "tuple[asyncio.Transport, asyncio.BaseProtocol]":
        """Raises ConnectionRefusedError, TimeoutError."""
        attempt = _Attempt(self, factory, address)
        attempt.begin()
        try:
            return await attempt.made
        except BaseException:
            attempt.give_up()
            raise

    # Faults.

    def cut(self, here: str, there: str) -> None:
        """Let nothing that ``here`` sends arrive there."""
        self._cut.add((here, there))

    def mend(self, links: Iterable[tuple[str, str]] | None = None) -> None:
        """Let everything arrive again that is sent over these links; None: over all."""
        self._cut.difference_update(list(self._cut) if links is None else links)
        for transport in list(self.transports):
            transport.flow()

    def is_cut(self, here: str, there: str) -> bool:
        return bool(self._cut) and (here, there) in self._cut

    def reset(self, transport: "SimulatedTransport") -> None:
        """Tell both ends that the connection is gone."""
        peer = transport.peer
        for end in (transport, peer):
            end.lose(ConnectionResetError("the network reset the connection"))

    def died(self, process: Process, *, power: bool) -> None:
        """End what a process had; ``power``: nobody is told."""
        if power:
            self._silent.add(process.name)
        for address, listener in list(self._listeners.items()):
            if listener.process is process:
                del self._listeners[address]
        for transport in [each for each in self.transports if each.process is process]:
            transport.die(tell=not power)

    # Parts of it.

    def delay(self, here: str, there: str) -> float:
        low, high = self.latency_s
        late = low + (high - low) * self.random.random()  # ``uniform``, of which this is much.
        return late + self.slow.get((here, there), 0.0) if self.slow else late

    def listener(self, address: tuple[str, int]) -> "Listener | None":
        return self._listeners.get(address)

    def is_silent(self, host: str) -> bool:
        return host in self._silent

    def forget(self, listener: "Listener") -> None:
        if self._listeners.get(listener.address) is listener:
            del self._listeners[listener.address]


class Listener(asyncio.AbstractServer):
    """Takes connections at an address, in the process that made it."""

    def __init__(
        self,
        network: Network,
        factory: Callable[[], asyncio.BaseProtocol],
        address: tuple[str, int],
    ) -> None:
        self.address = address
        self.context = copy_context()
        self.process = process_of(self.context)
        self.factory = factory
        self.sockets: tuple[object, ...] = ()
        self._network = network

    def close(self) -> None:
        self._network.forget(self)

    async def wait_closed(self) -> None:
        pass

    async def start_serving(self) -> None:
        pass

    async def serve_forever(self) -> None:
        raise NotImplementedError

    def is_serving(self) -> bool:
        return self._network.listener(self.address) is self

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._network.loop


class _Attempt:
    """Somebody connects."""

    def __init__(
        self,
        network: Network,
        factory: Callable[[], asyncio.BaseProtocol],
        address: tuple[str, int],
    ) -> None:
        self.made: Connected = network.loop.create_future()
        self._network = network
        self._factory = factory
        self._address = address
        self._context = copy_context()
        process = process_of(self._context)
        self._host = process.name if process is not None else ""

    def begin(self) -> None:
        self._later(self._arrive)
        self._network.loop.call_later(UNANSWERED_S, self._unanswered, context=WORLD)

    def give_up(self) -> None:
        if self.made.done() and not self.made.cancelled() and self.made.exception() is None:
            self.made.result()[0].abort()

    def _later(self, work: Callable[..., None], *arguments: object) -> None:
        delay = self._network.delay(self._host, self._address[0])
        self._network.loop.call_later(delay, work, *arguments, context=WORLD)

    def _arrive(self) -> None:
        host, network = self._address[0], self._network
        if network.is_cut(self._host, host) or network.is_silent(host):
            return
        listener = network.listener(self._address)
        if listener is None:
            self._later(self._refused)
            return
        ours = SimulatedTransport(network, self._context, self._host, host)
        theirs = SimulatedTransport(network, listener.context, host, self._host)
        ours.peer, theirs.peer = theirs, ours
        theirs.accept(listener.factory)
        self._later(self._accepted, ours)

    def _refused(self) -> None:
        if not self._network.is_cut(self._address[0], self._host) and not self.made.done():
            self.made.set_exception(ConnectionRefusedError(f"nobody listens at {self._address}"))

    def _accepted(self, ours: "SimulatedTransport") -> None:
        gone = ours.process is not None and not ours.process.alive
        if gone or self.made.done() or self._network.is_cut(self._address[0], self._host):
            ours.die(tell=True)
            return
        ours.accept(self._factory, self.made)

    def _unanswered(self) -> None:
        if not self.made.done():
            self.made.set_exception(TimeoutError(f"{self._address} does not answer"))


class SimulatedTransport(asyncio.Transport):
    """One end of a connection."""

    peer: "SimulatedTransport"

    def __init__(self, network: Network, context: Context, here: str, there: str) -> None:
        super().__init__({"peername": (there, 0), "sockname": (here, 0)})
        self.context = context
        self.process = process_of(context)
        self.here, self.there = here, there
        self._network = network
        self._protocol: asyncio.BaseProtocol | None = None
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._under_way: deque[bytes] = deque()  # In the network: it arrives in this order.
        self._under_way_bytes = 0  # With what the peer has not read.
        self._arrives_at = 0.0  # The last of it.
        self._unread: deque[bytes] = deque()
        self._high, self._low = 64 * 1024, 16 * 1024
        self._full = False  # Its protocol was told to pause.
        self._reading = True
        self._closing = False
        self.over = False  # Nothing more is sent or told.
        self._ends = False  # The peer is told after all that was sent.
        self._loop = network.loop
        self._reads = self._loop.call_of(self._read, context)
        self._arrives = self._loop.call_of(self._arrive, WORLD)
        network.transports[self] = None

    # asyncio's side.

    def is_closing(self) -> bool:
        return self._closing

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._loop.again(self._reads)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = 64 * 1024 if high is None else high
        self._low = self._high // 4 if low is None else low
        self._look_at_buffer()

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._closing or self.over or not data:
            return
        self._unsent.append(bytes(data))
        self._unsent_bytes += len(data)
        self.flow()
        self._look_at_buffer()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        if self._closing:
            return
        self._closing = self._ends = True
        self._reading = False
        self.flow()

    def abort(self) -> None:
        self._closing = True
        if not self.over:
            self._under_way.clear()
            self._tell_peer(ConnectionResetError("the peer reset the connection"))
            self.lose(None)

    # The network's side.

    def accept(
        self,
        factory: Callable[[], asyncio.BaseProtocol],
        made: "Connected | None" = None,
    ) -> None:
        """Begin, in the process of this end."""
        self._loop.call_soon(self._begin, factory, made, context=self.context)

    def _begin(self, factory: Callable[[], asyncio.BaseProtocol], made: "Connected | None") -> None:
        self._protocol = factory()
        self._protocol.connection_made(self)
        if made is not None and not made.done():
            made.set_result((self, self._protocol))
        if not self.over:
            self._read()

    def flow(self) -> None:
        """Send what there is room for."""
        network = self._network
        if network.is_cut(self.here, self.there):
            return
        if self._under_way and self._arrives_at < self._loop.time():
            self._schedule(len(self._under_way))  # It was kept by a cut.
        if self.over:
            return
        while self._unsent and self._under_way_bytes < WINDOW:
            piece = self._unsent.popleft() if len(self._unsent) == 1 else b"".join(self._unsent)
            self._unsent.clear()
            room = WINDOW - self._under_way_bytes
            if network.torn and len(piece) > 1 and network.random.random() < network.torn:
                room = min(room, network.random.randrange(1, len(piece)))
            if len(piece) > room:
                self._unsent.append(piece[room:])
                piece = piece[:room]
            self._unsent_bytes -= len(piece)
            self._under_way.append(piece)
            self._under_way_bytes += len(piece)
            self._schedule(1)
        if not self._unsent and self._ends:
            self._ends = False
            self._under_way.append(b"")
            self._schedule(1)
            self.lose(None)

    def _schedule(self, pieces: int) -> None:
        loop = self._loop
        for _ in range(pieces):
            at = loop.time() + self._network.delay(self.here, self.there)
            self._arrives_at = max(at, self._arrives_at)
            loop.again_at(self._arrives_at, self._arrives)

    def _arrive(self) -> None:
        if not self._under_way or self._network.is_cut(self.here, self.there):
            return  # It is kept until the link is mended.
        peer = self.peer
        if peer.over:
            if not self._network.is_silent(self.there):
                self._under_way.clear()
                self._network.transports.pop(self, None)
                self.lose(ConnectionResetError("the peer knows no such connection"))
            return
        piece = self._under_way.popleft()
        if self.over and not self._under_way:
            self._network.transports.pop(self, None)
        peer.arrived(piece)

    def arrived(self, piece: bytes) -> None:
        """Let its process read a piece; an empty one is the end."""
        self._unread.append(piece)
        self._loop.again(self._reads)

    def _read(self) -> None:
        """Take what arrived, in the process of this end."""
        while self._unread and not self.over and self._protocol is not None:
            piece = self._unread[0]
            if not piece:
                self._unread.popleft()
                self._peer_ended()
                return
            if not self._reading:
                return
            self._unread.popleft()
            self.peer.taken(len(piece))
            protocol = self._protocol
            if isinstance(protocol, asyncio.BufferedProtocol):
                while piece:
                    buffer = memoryview(protocol.get_buffer(-1))
                    size = min(len(buffer), len(piece))
                    buffer[:size] = piece[:size]
                    protocol.buffer_updated(size)
                    piece = piece[size:]
            else:
                assert isinstance(protocol, asyncio.Protocol)
                protocol.data_received(piece)

    def _peer_ended(self) -> None:
        assert isinstance(self._protocol, asyncio.Protocol | asyncio.BufferedProtocol)
        if not self._protocol.eof_received():
            self.close()

    def taken(self, size: int) -> None:
        """Note that the peer has read some of what was sent."""
        self._under_way_bytes -= size
        if self._unsent or self._ends or self._under_way or self._full:
            self.flow()
            self._look_at_buffer()

    def _look_at_buffer(self) -> None:
        if self.over or self._protocol is None:
            return
        if self._full:
            if self._unsent_bytes <= self._low:
                self._full = False
                self._loop.call_soon(self._resume_writing, context=self.context)
        elif self._unsent_bytes > self._high:
            self._full = True
            self._protocol.pause_writing()

    def _resume_writing(self) -> None:
        if self._protocol is not None and not self.over:
            self._protocol.resume_writing()

    def _tell_peer(self, error: Exception) -> None:
        network = self._network
        if not network.is_cut(self.here, self.there):
            delay = network.delay(self.here, self.there)
            network.loop.call_later(delay, self.peer.lose, error, context=WORLD)

    def lose(self, error: Exception | None) -> None:
        """End this side: its process is told."""
        if self.over:
            return
        self.over = self._closing = True
        if not self._under_way:
            self._network.transports.pop(self, None)
        self._loop.call_soon(self._lost, error, context=self.context)

    def _lost(self, error: Exception | None) -> None:
        if self._protocol is not None:
            self._protocol.connection_lost(error)

    def die(self, *, tell: bool) -> None:
        """End this side, of which nobody is left to be told."""
        self.over = self._closing = True
        self._under_way.clear()
        self._network.transports.pop(self, None)
        if tell:
            self._tell_peer(ConnectionResetError("the peer is gone"))
