"""Target: a broker process. Hostile conversations beside a client that must not notice them.

Most conversations begin as they should, with producers and consumers, so that what follows reaches
the handlers, the topics and the dispatchers. They go in bursts: behind each, a PING; its PONG
proves that the broker has read everything before. Where the broker hangs up, the next one begins.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from fuzz import corpus
from fuzz.commands import IDS, STAY, SUBSCRIPTIONS, TOPICS, Commands
from fuzz.mutate import Mutator
from golden.frames import join, split

from magnetar.errors import ProtocolError
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import requests
from magnetar.wire.frames import Frame, FrameDecoder

ANSWER_TIMEOUT_S = 20.0  # For a PONG, on a busy machine.
BURSTS_MAX = 20
BURST_FRAMES_MAX = 40
RUDE_BURSTS = 0.3
PERMITS = 50


@dataclass(slots=True)
class Tally:
    """What happened so far, over all conversations."""

    frames: int = 0  # That the broker has surely read.
    behind: int = 0  # Written behind one upon which the broker hung up, or that was never whole.
    conversations: int = 0
    hung_up: int = 0  # Conversations that the broker ended.
    answers: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


class Line(asyncio.Protocol):
    """A connection that reads all it gets, and checks that it is the protocol."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._decoder = FrameDecoder()
        self._changed = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self.pongs = 0
        self.replies = 0  # To requests.
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            items = self._decoder.feed(data)
        except ProtocolError as error:
            self._tally.findings.append(f"the broker sent what is no frame: {error}")
            self.end()
            return
        for item in items:
            assert isinstance(item, Frame), "a broker does not send SEND"
            kind = item.command.type
            self._tally.answers[_NAMES[kind]] += 1
            if not item.checksum_ok:
                self._tally.findings.append("the broker sent a message with a wrong checksum")
            self.pongs += kind == pb.BaseCommand.PONG
            self.replies += kind in _REPLIES
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._changed.set()

    def write(self, data: bytes) -> None:
        if not self.lost:
            assert self._transport is not None
            self._transport.write(data)

    def end(self, *, at_once: bool = False) -> None:
        if self._transport is not None:
            if at_once:
                self._transport.abort()
            else:
                self._transport.close()

    async def answered(self, *, pongs: int = 0, replies: int = 0) -> bool:
        """Wait until so many have come; False when the broker hung up before."""
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            while (self.pongs < pongs or self.replies < replies) and not self.lost:
                self._changed.clear()
                await self._changed.wait()
        return self.pongs >= pongs and self.replies >= replies


_REPLIES = (pb.BaseCommand.PRODUCER_SUCCESS, pb.BaseCommand.SUCCESS, pb.BaseCommand.ERROR)
_NAMES = {number: name for name, number in pb.BaseCommand.Type.items()}


class Attacker:
    """One conversation after another, all decided by ``seed``."""

    def __init__(self, port: int, seed: int, tally: Tally) -> None:
        self.chance = Random(seed)
        self._port = port
        self._tally = tally
        self._mutator = Mutator(self.chance, corpus.to_broker())
        self._commands = Commands(self.chance, self._mutator)

    async def attack(self, frames: int) -> None:
        """Converse until all attackers together have got ``frames`` read."""
        while self._tally.frames < frames and not self._tally.findings:
            line = await self._connect()
            try:
                await self._converse(line)
            except TimeoutError:
                self._tally.findings.append(f"no PONG within {ANSWER_TIMEOUT_S:g} s")
            finally:
                line.end(at_once=self.chance.random() < 0.3)
            self._tally.conversations += 1

    async def _connect(self) -> Line:
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(lambda: Line(self._tally), "127.0.0.1", self._port)
        return line

    async def _converse(self, line: Line) -> None:
        burst, replies = (self._opening(), 2 * IDS) if self.chance.random() < 0.98 else ([], 0)
        for _ in range(self.chance.randint(1, BURSTS_MAX)):
            line.write(b"".join(burst) + requests.ping())
            if not await line.answered(pongs=line.pongs + 1, replies=replies):
                # One of them was too much. That one was read, and perhaps some before it.
                self._tally.hung_up += 1
                self._tally.frames += min(len(burst), 1)
                self._tally.behind += max(len(burst) - 1, 0)
                return
            self._tally.frames += len(burst) + 1
            burst = self._burst()
        line.write(self._last())
        self._tally.behind += 1

    def _opening(self) -> list[bytes]:
        """CONNECT, producers, consumers of all types, permits."""
        frames = [requests.connect("fuzz", self.chance.choice((21, 21, 21, 21, 12, 4, 0)))]
        for number in range(IDS):
            frames.append(self._producer(number))
            frames.append(self._subscribe(number))
        frames += [requests.flow(number, PERMITS) for number in range(IDS)]
        return frames

    def _producer(self, number: int) -> bytes:
        return requests.producer(number, number, self.chance.choice(TOPICS))

    def _subscribe(self, number: int) -> bytes:
        # Each subscription has a type of its own, so that most of them agree.
        which = self.chance.randrange(len(SUBSCRIPTIONS))
        return requests.subscribe(
            number,
            IDS + number,
            self.chance.choice(TOPICS),
            SUBSCRIPTIONS[which],
            _TYPES[which % len(_TYPES)],
            consumer_name=f"c{self.chance.randrange(9)}",
            initial_position=self.chance.choice(list(InitialPosition)),
        )

    def _burst(self) -> list[bytes]:
        """Frames of the size that they say; the last one may be what ends the conversation."""
        burst = [self._polite() for _ in range(self.chance.randint(1, BURST_FRAMES_MAX))]
        if self.chance.random() < RUDE_BURSTS:
            burst.append(self._rude())
        return burst

    def _polite(self) -> bytes:
        way = self.chance.random()
        if way < 0.4:
            return self._commands.send(self.chance.randrange(STAY))
        if way < 0.45:
            return self._subscribe(self.chance.randrange(IDS))
        if way < 0.5:
            return self._producer(self.chance.randrange(IDS))
        return self._commands.polite()

    def _rude(self) -> bytes:
        way = self.chance.random()
        if way < 0.3:
            return self._commands.any()
        if way < 0.6:
            return self._commands.altered(self.chance.choice(corpus.recorded(">")))
        command, payload = split(self.chance.choice(corpus.recorded(">")))
        return join(self._mutator.mutate(command), payload)

    def _last(self) -> bytes:
        """Bytes of any kind: perhaps a frame that is never complete, perhaps none at all."""
        if self.chance.random() < 0.2:
            return self._mutator.garbage()
        return self._mutator.mutate(self.chance.choice(corpus.to_broker()))


_TYPES = (
    SubscriptionType.SHARED,
    SubscriptionType.KEY_SHARED,
    SubscriptionType.FAILOVER,
    SubscriptionType.EXCLUSIVE,
)
