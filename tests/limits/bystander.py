"""A client that behaves, beside those that do not: is it served as if it were alone?"""

import time
from typing import Self

import psutil
from unit.broker.peer import Peer, send

from magnetar.proto import PulsarApi_pb2 as pb

ROUNDS = 60
WINDOWS = 3
ATTEMPTS = 15
SLOWER_AT_MOST = 5.0
"""Beside a bad peer, which costs CPU of its own, on a machine that others use too."""


class Bystander:
    """Sends an entry, waits for its receipt and for the entry itself, acknowledges, sends on."""

    def __init__(self, publisher: Peer, consumer: Peer) -> None:
        self._publisher = publisher
        self._consumer = consumer
        self._sequence = 0

    @classmethod
    async def open(cls, port: int, topic: str) -> Self:
        publisher, consumer = await Peer.open(port), await Peer.open(port)
        await consumer.consume(1, topic, subscription="bystander", permits=1_000_000)
        await publisher.produce(1, topic)
        return cls(publisher, consumer)

    async def round(self) -> None:
        self._publisher.wire.send(send(1, self._sequence, b"x" * 100))
        self._sequence += 1
        assert (await hear(self._publisher)).HasField("send_receipt")
        delivered = await hear(self._consumer)
        self._consumer.tell(
            "ack", consumer_id=1, ack_type=0, message_id=[delivered.message.message_id]
        )

    async def pace(self) -> float:
        """Rounds per second, in the best of a few windows: what the broker is able to do."""
        return max([await self._window() for _ in range(WINDOWS)])

    async def check(self, alone: float) -> None:
        """It is served about as well as it was ``alone``; others may use the machine meanwhile."""
        best = 0.0
        for _ in range(ATTEMPTS):
            best = max(best, await self._window())
            if best * SLOWER_AT_MOST > alone:
                return
        raise AssertionError(f"{best:.0f} rounds/s instead of {alone:.0f}")

    async def _window(self) -> float:
        began = time.perf_counter()
        for _ in range(ROUNDS):
            await self.round()
        return ROUNDS / (time.perf_counter() - began)

    def close(self) -> None:
        self._publisher.wire.close()
        self._consumer.wire.close()


async def hear(peer: Peer, timeout_s: float = 30.0) -> pb.BaseCommand:
    """The next command that is not a PING; a PING is answered."""
    while True:
        frame = await peer.wire.receive(timeout_s)
        assert frame is not None, "the broker closed the connection"
        answer = parsed(frame)
        if answer.HasField("ping"):
            peer.tell("pong")
        else:
            return answer


def parsed(frame: bytes) -> pb.BaseCommand:
    return pb.BaseCommand.FromString(frame[8 : 8 + int.from_bytes(frame[4:8], "big")])


def memory(pid: int) -> int:
    """Bytes that are the process's own."""
    return int(psutil.Process(pid).memory_full_info().uss)
