"""A client that behaves, beside those that do not: is it served as if it were alone?

Alone is a client like it on another broker, at the same time: what else the machine has to do
slows both, and a pace that was measured before says nothing about now.
"""

import asyncio
import time
from typing import Self

import psutil
from unit.broker.peer import Peer, send

ROUNDS = 60
PATIENCE_S = 30.0
REST_S = 0.02
WINDOWS = 3
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
        publisher, consumer = await well_behaved(port), await well_behaved(port)
        await consumer.consume(1, topic, subscription="bystander", permits=1_000_000)
        await publisher.produce(1, topic)
        return cls(publisher, consumer)

    async def round(self) -> None:
        self._publisher.wire.send(send(1, self._sequence, b"x" * 100))
        self._sequence += 1
        assert (await self._publisher.hear(PATIENCE_S)).HasField("send_receipt")
        delivered = await self._consumer.hear(PATIENCE_S)
        self._consumer.tell(
            "ack", consumer_id=1, ack_type=0, message_id=[delivered.message.message_id]
        )

    async def round_and_rest(self) -> None:
        """One in a while: whoever waits beside it for seconds leaves the machine to others."""
        await self.round()
        await asyncio.sleep(REST_S)

    async def pace(self) -> float:
        """Rounds per second, in the best of a few windows: what the broker is able to do."""
        return max([await self._window() for _ in range(WINDOWS)])

    async def check(self, alone: "Bystander") -> None:
        """It is served about as well as the one that is ``alone`` on its broker."""
        beside = undisturbed = 0.0
        give_up = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up:
            undisturbed = max(undisturbed, await alone._window())
            beside = max(beside, await self._window())
            if beside * SLOWER_AT_MOST > undisturbed:
                return
        raise AssertionError(f"{beside:.0f} rounds/s, {undisturbed:.0f} on a broker beside it")

    async def _window(self) -> float:
        began = time.perf_counter()
        for _ in range(ROUNDS):
            await self.round()
        return ROUNDS / (time.perf_counter() - began)

    def close(self) -> None:
        self._publisher.wire.close()
        self._consumer.wire.close()


async def well_behaved(port: int) -> Peer:
    """A connection that answers PINGs, whatever else it does."""
    peer = await Peer.open(port)
    peer.answer_pings()
    return peer


def memory(pid: int) -> int:
    """Bytes that are the process's own."""
    return int(psutil.Process(pid).memory_full_info().uss)
