"""A connection of the load generator: a plain socket, requests one by one, then counting.

No event loop and no parsing: reading is one ``recv_into`` and a count, sending is one ``send`` of a
slice. Linux can even drop what arrives without copying it (MSG_TRUNC): consumers of a fan-out but
the first do that, and count bytes.
"""

import socket
import struct
import sys

from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import requests
from magnetar.wire.handshake import ClientHandshake

from .frames import Counter, Ring

REQUEST_TIMEOUT_S = 30
READ_SIZE = 1024 * 1024
PERMITS = 1_000_000_000

_buffer = bytearray(READ_SIZE)  # One for all: nothing is kept in it between reads.
_view = memoryview(_buffer)


Address = tuple[str, int] | tuple[str, int, str]
"""Host and port; of a proxy, with the ``host:port`` of the broker behind it."""


class BrokerRefused(Exception):
    """The broker answered with an error, or hung up."""


class Peer:
    """One connection. Blocking until ``go``."""

    def __init__(self, address: Address) -> None:
        host, port, *behind = address
        self.socket = socket.create_connection((host, port), REQUEST_TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fileno = self.socket.fileno()
        self.counter = self.make_counter()
        self.bytes_read = 0
        broker = behind[0] if behind else None
        self.request(ClientHandshake(proxy_to_broker_url=broker).hello())

    def make_counter(self) -> Counter:
        """What takes the bytes that arrive."""
        return Counter()

    def request(self, frame: bytes) -> pb.BaseCommand:
        """Send it and return what comes next. Raises BrokerRefused."""
        self.socket.sendall(frame)
        counter = self.counter
        while not counter.others:
            self._receive()
        answer = _command(counter.others.pop(0))
        if answer.type == pb.BaseCommand.PING:
            return self.request(requests.pong())
        refused = {pb.BaseCommand.ERROR: answer.error, pb.BaseCommand.SEND_ERROR: answer.send_error}
        if answer.type in refused:
            raise BrokerRefused(f"the broker answered {refused[answer.type]}")
        return answer

    def go(self) -> None:
        """From now on nothing waits."""
        self.socket.setblocking(False)

    def read(self) -> None:
        """Count what has arrived."""
        self._receive()
        if self.counter.others:
            self._other()

    def _receive(self) -> None:
        counter = self.counter
        kept = len(counter.rest)
        if kept:
            _view[:kept] = counter.rest
        try:
            size = self.socket.recv_into(_view[kept:])
        except BlockingIOError:
            return
        if not size:
            raise BrokerRefused("the broker hung up")
        self.bytes_read += size
        counter.take(_buffer, kept + size)

    def _other(self) -> None:
        """A PING is answered; what else comes unasked ends the run."""
        others, self.counter.others = self.counter.others, []
        for frame in others:
            command = _command(frame)
            if command.type != pb.BaseCommand.PING:
                raise BrokerRefused(f"the broker said {command}")
            self._alive()

    def _alive(self) -> None:
        """Answer a PING."""
        self.socket.send(requests.pong())

    def close(self) -> None:
        self.socket.close()


class Publisher(Peer):
    """Sends frames of a ring, as many as there is room for."""

    def __init__(self, address: Address, topics: list[str], ring: Ring) -> None:
        super().__init__(address)
        for number, (producer, topic) in enumerate(zip(ring.producers, topics, strict=True)):
            if topic not in topics[:number]:
                self.request(requests.lookup(2 * number, topic))
            self.request(requests.producer(producer, 2 * number + 1, topic))
        self._ring = ring
        self._frames = memoryview(ring.data)
        self._next = 0  # The frame of the ring that there is no room for yet.
        self._at = 0  # Where in the ring the next byte is.
        self.owed = 0  # Bytes that there is room for, and the socket did not take yet.
        self._owes_pong = False  # To be sent between two frames: where the ring ends.

    def send(self, frames: int) -> bool:
        """Send so many more. False: the socket is full, call again with 0 when it is not."""
        if frames:
            self.owed += self._ring.size_of(self._next, frames)
            self._next = (self._next + frames) % len(self._ring)
        while self.owed:
            stop = min(self._at + self.owed, len(self._frames))
            try:
                if self._owes_pong and not self._at:
                    self.socket.send(requests.pong())
                    self._owes_pong = False
                sent = self.socket.send(self._frames[self._at : stop])
            except BlockingIOError:
                return False
            self.owed -= sent
            self._at += sent
            if self._at < stop:
                return False
            if self._at == len(self._frames):
                self._at = 0
        return True

    def _alive(self) -> None:
        if self.owed:
            self._owes_pong = True
        else:
            super()._alive()

    @property
    def unsent(self) -> int:
        """Frames that there is room for, and that the socket did not take whole yet."""
        rounds, left = divmod(self.owed, len(self._frames))
        frames = (self._next - self._ring.whole_before(self._at)) % len(self._ring)
        return rounds * len(self._ring) + (frames or len(self._ring) if left else 0)


class Subscriber(Peer):
    """Reads a topic; with a subscription of its own and more permits than it will use, mostly."""

    def __init__(
        self,
        address: Address,
        topic: str,
        subscription: str,
        kind: SubscriptionType = SubscriptionType.EXCLUSIVE,
        permits: int = PERMITS,
    ) -> None:
        super().__init__(address)
        self.request(requests.lookup(1, topic))
        self.request(
            requests.subscribe(
                1,
                2,
                topic,
                subscription,
                kind,
                initial_position=InitialPosition.LATEST,
            )
        )
        self.socket.sendall(requests.flow(1, permits))

    @property
    def delivered(self) -> int:
        return self.counter.messages


class Drain(Subscriber):
    """A subscriber whose messages the kernel drops as they come; ``delivered`` goes by bytes."""

    message_size = 0.0  # To be told: in bytes, on the average.

    def read(self) -> None:
        try:
            size = self.socket.recv_into(_view, READ_SIZE, socket.MSG_TRUNC)
        except BlockingIOError:
            return
        if not size:
            raise BrokerRefused("the broker hung up")
        self.bytes_read += size

    @property
    def delivered(self) -> int:
        return round(self.bytes_read / self.message_size) if self.message_size else 0


CAN_DRAIN = sys.platform == "linux"


def _command(frame: bytes) -> pb.BaseCommand:
    (size,) = struct.unpack_from(">I", frame, 4)
    return pb.BaseCommand.FromString(frame[8 : 8 + size])
