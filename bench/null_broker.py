"""A broker that stores nothing: it counts bytes and sends receipts it has made beforehand.

What the generator reaches against it is the most it could show of any broker in Python, and what it
uses per entry is what receiving and answering cost at the least. A process of its own.
"""

import json
import os
import socket
import subprocess
import sys
from bisect import bisect_right
from typing import Self

from magnetar.message.send_run import SendRun
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import replies
from magnetar.wire.frames import Frame, decode

from .broker import Broker
from .cases import Case
from .frames import FIRST_SEQUENCE, HEAD_SIZE, ring
from .poller import READ, WRITE, Poller

READ_SIZE = 256 * 1024
RECEIPTS = 2000
SEND = 6
LEDGER_ID, FIRST_ENTRY_ID = 1000, 20_000


class NullBroker(Broker):
    """Answers the one case it is made for."""

    def __init__(self, case: Case) -> None:
        super().__init__("no broker")
        self._ends = ring(case).ends
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.null_broker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._process.stdin as ends:
            json.dump(self._ends, ends)
        self.url = f"pulsar://127.0.0.1:{int(self._process.stdout.readline())}"
        self.pid = self._process.pid
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


class _Client:
    """One connection: requests are answered; from the first send on there are only sends."""

    def __init__(self, connection: socket.socket, ends: list[int]) -> None:
        self.socket = connection
        self._ends = ends  # Of the sends of one round.
        self._requests: bytes | None = b""  # What is not answered; None once sends come.
        self._bytes = 0  # Of all sends.
        self._answered = 0
        self.unsent = b""

    def arrived(self, data: memoryview, receipts: memoryview, receipt_size: int) -> None:
        size = len(data) if self._requests is None else self._answer_requests(bytes(data))
        self._bytes += size
        rounds, left = divmod(self._bytes, self._ends[-1])
        due = rounds * len(self._ends) + bisect_right(self._ends, left)
        count, self._answered = due - self._answered, due
        while count:
            now = min(count, RECEIPTS)
            self.send(receipts[: now * receipt_size])
            count -= now

    def send(self, data: memoryview | bytes) -> None:
        if self.unsent:
            self.unsent += data
            return
        try:
            sent = self.socket.send(data)
        except BlockingIOError:
            sent = 0
        self.unsent = bytes(data[sent:])

    def _answer_requests(self, data: bytes) -> int:
        """Returns how many bytes of sends lie behind them."""
        data = (self._requests or b"") + data
        while len(data) >= HEAD_SIZE:
            if data[9] == SEND:
                self._requests = None
                return len(data)
            size = 4 + int.from_bytes(data[:4], "big")
            if len(data) < size:
                break
            request = decode(data, 0, size)
            assert isinstance(request, Frame)
            self.send(_answer(request.command))
            data = data[size:]
        self._requests = data
        return 0


def _answer(command: pb.BaseCommand) -> bytes:
    kind = command.type
    if kind == pb.BaseCommand.CONNECT:
        return replies.connected("nothing", 21, 5 * 1024 * 1024)
    if kind == pb.BaseCommand.LOOKUP:
        return replies.lookup_connect(command.lookupTopic.request_id, "pulsar://127.0.0.1:1")
    if kind == pb.BaseCommand.PRODUCER:
        return replies.producer_success(command.producer.request_id, "null-0")
    return b""


def serve(ends: list[int]) -> None:
    """Until it is killed. ``ends`` are where the frames of each connection's ring end."""
    sequences = list(range(FIRST_SEQUENCE, FIRST_SEQUENCE + RECEIPTS))
    zeros = [0] * RECEIPTS
    sends = SendRun.of(1, sequences, [b""] * RECEIPTS, zeros, [1] * RECEIPTS, zeros)
    receipts = memoryview(replies.send_receipts(sends, LEDGER_ID, FIRST_ENTRY_ID))
    receipt_size = len(receipts) // RECEIPTS
    buffer = memoryview(bytearray(READ_SIZE))
    clients: dict[int, _Client] = {}
    poller = Poller()
    with socket.create_server(("127.0.0.1", 0), backlog=1000) as server:
        print(server.getsockname()[1], flush=True)
        poller.register(server.fileno(), READ)
        while True:
            for fileno, event in poller.ready(1.0):
                client = clients.get(fileno)
                if client is None:
                    connection, _ = server.accept()
                    connection.setblocking(False)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    clients[connection.fileno()] = _Client(connection, ends)
                    poller.register(connection.fileno(), READ)
                    continue
                if event & WRITE:
                    data, client.unsent = client.unsent, b""
                    client.send(data)
                try:
                    size = client.socket.recv_into(buffer) if event & ~WRITE else -1
                except BlockingIOError:
                    size = -1
                except ConnectionError:
                    size = 0
                if size > 0:
                    client.arrived(buffer[:size], receipts, receipt_size)
                elif not size:
                    poller.unregister(fileno)
                    clients.pop(fileno).socket.close()
                    continue
                poller.modify(fileno, READ | (WRITE if client.unsent else 0))


if __name__ == "__main__":
    serve(json.load(sys.stdin))
