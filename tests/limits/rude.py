"""Peers that do not do their part: plain sockets with a small window, read when told to."""

import socket
from typing import Self

from unit.broker.peer import command, send

from magnetar.proto import PulsarApi_pb2 as pb

WINDOW_BYTES = 4096
TIMEOUT_S = 30.0


class Rude:
    """A connection that has said CONNECT and then reads only what it is told to read."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(("127.0.0.1", port))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def connect(self) -> Self:
        assert self.ask("connect", client_version="rude", protocol_version=21).HasField("connected")
        return self

    def tell(self, field: str, **values: object) -> None:
        self.socket.sendall(command(field, **values))

    def ask(self, field: str, **values: object) -> pb.BaseCommand:
        self.tell(field, **values)
        return self.hear()

    def hear(self) -> pb.BaseCommand:
        size = int.from_bytes(self._exactly(4), "big")
        body = self._exactly(size)
        return pb.BaseCommand.FromString(body[4 : 4 + int.from_bytes(body[:4], "big")])

    def consume(self, topic: str, subscription: str, **values: object) -> Self:
        """A consumer with more permits than there will ever be messages."""
        self.ask("lookupTopic", topic=topic, request_id=1)
        asked = {"subType": pb.CommandSubscribe.Exclusive, "consumer_id": 1, "request_id": 2}
        asked.update(values)
        answer = self.ask("subscribe", topic=topic, subscription=subscription, **asked)
        assert answer.HasField("success"), answer
        self.tell("flow", consumer_id=asked["consumer_id"], messagePermits=1_000_000_000)
        return self

    def produce(self, topic: str) -> Self:
        self.ask("lookupTopic", topic=topic, request_id=1)
        answer = self.ask("producer", topic=topic, producer_id=1, request_id=2)
        assert answer.HasField("producer_success"), answer
        return self

    def send_until_stuck(self, payload: bytes, *, bytes_max: int) -> int:
        """Send without reading until nothing is taken for a while, or so much was taken."""
        frames = memoryview(b"".join(send(1, number, payload) for number in range(100)))
        self.socket.settimeout(1.0)  # Long beside a turn of the broker's loop; it ends the test.
        sent = 0
        try:
            while sent < bytes_max:
                rest = frames
                while rest:
                    size = self.socket.send(rest)
                    sent += size
                    rest = rest[size:]
        except TimeoutError:
            pass
        self.socket.settimeout(TIMEOUT_S)
        return sent

    def closed(self) -> bool:
        """Read on until the broker ends the connection."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        return True

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the broker closed the connection"
            data += more
        return data
