"""Target: our client, against a broker that is not quite right.

The scripted broker of the client's own tests answers everything, and what it writes is changed now
and then. Whatever a client was asked for must succeed or fail with an error of ours, and soon.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from fuzz import corpus
from fuzz.commands import Commands
from fuzz.mutate import Mutator
from golden.frames import join, split
from unit.client.peer import Peer

from magnetar.client.client import Client
from magnetar.errors import MagnetarError
from magnetar.message.compression import CompressionType
from magnetar.message.entry import checksum
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.model.subscriptions import InitialPosition, SubscriptionType

HANG_S = 20.0  # Far beyond all the timeouts below.
OPTIONS: Any = {
    "operation_timeout_s": 0.3,
    "connection_timeout_s": 0.3,
    "backoff_first_s": 0.005,
    "backoff_max_s": 0.02,
    "lookup_redirects_max": 3,
}
STORED = 30
SPOILED_SHARE = 0.15  # Of the frames a broker sends.


@dataclass(slots=True)
class ClientTally:
    """How what was asked for ended, and what should not have happened."""

    frames: int = 0
    spoiled: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


class HostilePeer(Peer):
    """Writes what a broker would, and now and then something else."""

    def __init__(self, chance: Random, tally: ClientTally) -> None:
        super().__init__()
        self._chance = chance
        self._tally = tally
        self._mutator = Mutator(chance, corpus.to_client())
        self._commands = Commands(chance, self._mutator)
        stored = [self._commands.entry() for _ in range(STORED)]  # By other producers, so to say.
        self.entries = [(entry, checksum(entry)) for entry in stored]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await super()._serve(reader, _Spoiler(writer, self))

    def spoil(self, data: bytes) -> Iterable[bytes]:
        """Frame by frame, as they are or not."""
        while data:
            end = 4 + int.from_bytes(data[:4])
            frame, data = data[:end], data[end:]
            self._tally.frames += 1
            if self._chance.random() < SPOILED_SHARE:
                self._tally.spoiled += 1
                yield self._other(frame)
            else:
                yield frame

    def _other(self, frame: bytes) -> bytes:
        way = self._chance.random()
        if way < 0.5:
            return self._commands.altered(frame)
        if way < 0.6:
            return frame + self._chance.choice(corpus.to_client())
        if way < 0.65:
            return b""
        if way < 0.75:
            return self._commands.any() + frame
        if way < 0.9:
            command, payload = split(frame)
            return join(self._mutator.mutate(command), payload)
        return self._mutator.mutate(frame)


class _Spoiler:
    """The writer of a connection: what of it the peer uses."""

    def __init__(self, writer: asyncio.StreamWriter, peer: HostilePeer) -> None:
        self._writer = writer
        self._peer = peer
        self.transport = writer.transport

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self._writer.write(b"".join(self._peer.spoil(data)))

    def close(self) -> None:
        self._writer.close()


class ErrorLog(logging.Handler):
    """Collects what is logged as an error: a client that copes has none."""

    def __init__(self, findings: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._findings = findings

    def emit(self, record: logging.LogRecord) -> None:
        self._findings.append(logging.Formatter().format(record))


async def torment(seed: int, tally: ClientTally) -> None:
    """One client's life: produce, consume, and all the rest, against one such broker."""
    chance = Random(seed)
    peer = HostilePeer(chance, tally)
    await peer.start()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: tally.findings.append(f"seed {seed}: {context}"))
    log = ErrorLog(tally.findings)
    logging.getLogger("magnetar").addHandler(log)
    try:
        async with asyncio.timeout(HANG_S):
            client = Client(peer.url, **OPTIONS)
            try:
                await asyncio.gather(
                    _produce(client, chance, tally), _consume(client, chance, tally)
                )
            finally:
                await _tried("close", client.close(), tally)
    except TimeoutError:
        tally.findings.append(f"seed {seed}: a client hangs")
    finally:
        logging.getLogger("magnetar").removeHandler(log)
        await peer.stop()


async def _produce(client: Client, chance: Random, tally: ClientTally) -> None:
    topic = chance.choice(("a", "b"))
    options: Any = {
        "send_timeout_s": 0.3,
        "chunking": chance.random() < 0.3,
        "compression": chance.choice(list(CompressionType)),
    }
    if chance.random() < 0.5 and not options["chunking"]:
        options["batch_messages_max"] = 5
    else:
        options["batching"] = False
    producer = await _tried("create_producer", client.create_producer(topic, **options), tally)
    if producer is None:
        return
    for number in range(6):
        data = [b"%d" % number * chance.choice((0, 1, 400))] * chance.choice((1, 7))
        await _tried("send", producer.send_many(data), tally)
    await _tried("flush", producer.flush(), tally)
    await _tried("close producer", producer.close(), tally)


async def _consume(client: Client, chance: Random, tally: ClientTally) -> None:
    await _tried("partitions", client.partitions("a"), tally)
    await _tried("topics", client.topics("public/default"), tally)
    consumer = await _tried(
        "subscribe",
        client.subscribe(
            chance.choice(("a", "b")),
            "s",
            type=chance.choice(list(SubscriptionType)),
            initial_position=InitialPosition.EARLIEST,
            receiver_queue_size=chance.choice((1, 3, 100)),
            batch_index_ack=chance.random() < 0.5,
            message_size_max=1 << 20,
        ),
        tally,
    )
    if consumer is None:
        return
    for _ in range(4):
        messages = await _tried("receive", consumer.receive_many(10, 0.05), tally)
        for message in messages or []:
            with suppress(MagnetarError):
                consumer.acknowledge(message)
    await _tried("flush acks", consumer.flush(), tally)
    await _tried("last_message_id", consumer.last_message_id(), tally)
    await _tried("redeliver", consumer.redeliver_unacknowledged(), tally)
    await _tried("seek", consumer.seek(EARLIEST_MESSAGE), tally)
    await _tried("receive", consumer.receive_many(10, 0.05), tally)
    await _tried("unsubscribe", consumer.unsubscribe(), tally)
    await _tried("close consumer", consumer.close(), tally)


async def _tried(what: str, work: Awaitable[Any], tally: ClientTally) -> Any:
    """The result, or None and a note of the error."""
    try:
        result = await work
    except MagnetarError as error:
        tally.outcomes[f"{what}: {type(error).__name__}"] += 1
        return None
    except Exception as error:
        tally.findings.append(f"{what}: {error!r}")
        logging.getLogger("magnetar.fuzz").exception("%s", what)
        return None
    tally.outcomes[f"{what}: done"] += 1
    return result
