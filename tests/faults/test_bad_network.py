"""Connections that break anywhere, or fall silent: no effect on others, nothing left behind.

The broker runs in this process, so that what is left behind can be counted.
"""

import asyncio
import contextlib
import gc
import os
import random
import socket
import struct
from pathlib import Path

import pulsar
import pytest
from faults.folders import open_client
from pulsar import InitialPosition, MessageId
from support.loop import until
from support.network import Proxy, WireConnection
from unit.broker.peer import Peer, command, send

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]

TOPIC = "persistent://public/default/t"
OTHER = "persistent://public/default/other"
RESET = struct.pack("ii", 1, 0)  # Closing does not wait, and resets.
CONNECT = command("connect", client_version="test", protocol_version=21)
LOOKUP = command("lookupTopic", topic=TOPIC, request_id=1)
MESSAGE = send(1, 0, b"hello")
PRODUCE = [
    CONNECT,
    LOOKUP,
    command("producer", topic=TOPIC, producer_id=1, request_id=2),
    MESSAGE,
]
CONSUME = [
    CONNECT,
    LOOKUP,
    command(
        "subscribe",
        topic=TOPIC,
        subscription="s",
        consumer_id=1,
        request_id=2,
        subType=pb.CommandSubscribe.Shared,
    ),
    command("flow", consumer_id=1, messagePermits=100),
    command("ack", consumer_id=1, ack_type=pb.CommandAck.Cumulative),
]
STATM = Path("/proc/self/statm")
BIG = 4 * 1024 * 1024
CUTS = 200 if os.environ.get("FAULTS") == "all" else 25
SENDS = 40  # Between two cuts.


@pytest.fixture
async def broker(tmp_path):
    async with LocalBroker(tmp_path, settings={"webServicePort": -1}) as local:
        yield local


def attached(broker):
    """Producers and consumers of every topic."""
    return sum(topic.busy for topic in broker.broker.registry.loaded.values())


class Bystander:
    """Publishes to another topic all the while, and must not feel anything."""

    def __init__(self, peer):
        self._peer = peer
        self.answered = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def beside(cls, broker):
        peer = await Peer.open(broker.port)
        await peer.produce(1, OTHER)
        bystander = cls(peer)
        running = asyncio.ensure_future(bystander._run())
        yield bystander
        then = bystander.answered
        await until(lambda: running.done() or bystander.answered > then + 5)
        assert not running.done(), "it was disturbed"
        running.cancel()
        peer.wire.close()

    async def _run(self):
        while True:
            self._peer.wire.send(send(1, self.answered, b"x"))
            answer = await self._peer.hear()
            assert answer.send_receipt.sequence_id == self.answered, answer
            self.answered += 1
            await asyncio.sleep(0.001)  # It is to be there, not to use the machine up.


async def say(broker, data, *, reset):
    """Send some bytes and go, politely or not."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", broker.port))
        await loop.sock_sendall(client, data)
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("frames", [PRODUCE, CONSUME], ids=["producing", "consuming"])
async def test_a_connection_that_ends_at_any_byte_leaves_nothing_behind(broker, frames, reset):
    """All that was said before the cut is done, and then undone."""
    data = b"".join(frames)
    async with Bystander.beside(broker):
        for length in range(len(data)):
            await say(broker, data[:length], reset=reset)
        await until(lambda: broker.broker.connection_count == 1 and attached(broker) == 1)
    await until(lambda: not broker.broker.connection_count and not attached(broker))
    for topic in broker.broker.registry.loaded.values():
        if str(topic.name) == TOPIC:
            assert topic.ledger.entry_count == 0, "half a message was stored"


async def test_what_was_said_whole_is_done_whatever_follows(broker):
    """A message that is followed by half of the next is stored, answered or not."""
    peer = await Peer.open(broker.port)
    await peer.produce(1)
    half = send(1, 1, b"half of it")
    peer.wire.send(MESSAGE + half[: len(half) // 2])
    answer = await peer.hear()
    assert answer.HasField("send_receipt")
    peer.wire.abort()
    await until(lambda: not broker.broker.connection_count)
    (topic,) = broker.broker.registry.loaded.values()
    assert topic.ledger.entry_count == 1
    assert topic.busy == 0


def memory_of_this_process():
    return int(STATM.read_text(encoding="ascii").split()[1]) * 4096


@pytest.mark.skipif(not STATM.exists(), reason="counts memory as Linux does")
async def test_resets_within_big_frames_cost_no_memory(broker):
    frame = send(1, 0, bytes(BIG))
    start = b"".join(PRODUCE[:3])
    chance = random.Random(4)
    gc.collect()
    gc.disable()  # A broker makes little garbage, and so is hardly ever collected.
    try:
        async with Bystander.beside(broker):
            for round_ in range(60):
                await say(broker, start + frame[: chance.randrange(len(frame))], reset=True)
                await until(lambda: broker.broker.connection_count == 1)
                if round_ == 10:
                    before = memory_of_this_process()
            assert attached(broker) == 1
            grown = memory_of_this_process() - before
    finally:
        gc.enable()
    assert grown < 8 * BIG, f"{grown >> 20} MiB for 50 frames that never came whole"


async def answer_pings(peer):
    while True:
        assert (await peer.hear()).type == pb.BaseCommand.PING
        peer.tell("pong")


async def test_a_peer_that_vanished_makes_room_for_who_comes_back(tmp_path):
    """No FIN, no answer: its place is given away after one question, its connection after two."""
    settings = {
        "webServicePort": -1,
        "keepAliveIntervalSeconds": 1,
        "connectionLivenessCheckTimeoutMillis": 300,
    }
    async with (
        LocalBroker(tmp_path, settings=settings) as broker,
        Proxy("127.0.0.1", broker.port) as proxy,
        Bystander.beside(broker),
    ):
        lost = Peer(await WireConnection.open("127.0.0.1", proxy.port))
        await lost.ask("connect", client_version="test", protocol_version=21)
        await lost.produce(1, producer_name="only-one")
        await lost.consume(1, subscription="s")
        proxy.hold()
        back = await Peer.open(broker.port)
        assert await back.produce(1, producer_name="only-one") == "only-one"
        await back.consume(1, subscription="s", permits=10)
        back.wire.send(send(1, 0, b"again"))
        heard = [await back.hear(), await back.hear()]
        assert {one.type for one in heard} == {pb.BaseCommand.SEND_RECEIPT, pb.BaseCommand.MESSAGE}
        # The lost connection is closed; those that answer are not. We must answer, too.
        answering = asyncio.ensure_future(answer_pings(back))
        await until(lambda: broker.broker.connection_count <= 2)
        answering.cancel()
        assert attached(broker) == 3
        back.wire.close()
        lost.wire.abort()


class Talk:
    """An official client that publishes and consumes while its connections are cut."""

    def __init__(self, url, loop):
        self._loop = loop
        self._client = open_client(type("Broker", (), {"service_url": url}))
        self.answered, self.received, self.failed = [], [], []
        self._client.subscribe(
            TOPIC,
            "s",
            initial_position=InitialPosition.Earliest,
            message_listener=self._take,
        )
        self._producer = self._client.create_producer(TOPIC, block_if_queue_full=True)
        self.sent = 0

    def send(self, count):
        for _ in range(count):
            number, self.sent = self.sent, self.sent + 1
            self._producer.send_async(
                b"%d" % number, lambda result, _, number=number: self._hear(result, number)
            )

    def close(self):
        self._client.close()

    def read_back(self):
        reader = self._client.create_reader(TOPIC, MessageId.earliest)
        found = []
        while reader.has_message_available():
            found.append(int(reader.read_next(10_000).data()))
        reader.close()
        return found

    def _hear(self, result, number):
        (self.answered if result == pulsar.Result.Ok else self.failed).append(number)
        self._tell()

    def _take(self, consumer, message):
        self.received.append(int(message.data()))
        self._tell()
        with contextlib.suppress(pulsar.PulsarException):  # Cut: it comes again.
            consumer.acknowledge(message)

    def _tell(self):
        """Wake the loop that waits for something to have come to a thread of the client."""
        self._loop.call_soon_threadsafe(lambda: None)


async def test_an_official_client_loses_nothing_when_cut_within_any_frame(tmp_path):
    """The broker listens on another address of this machine, where its clients do not look."""
    settings = {"webServicePort": -1, "bindAddress": "127.0.0.2"}
    chance = random.Random(17)
    async with (
        LocalBroker(tmp_path, settings=settings) as broker,
        Proxy("127.0.0.2", broker.port, listen_port=broker.port) as proxy,
    ):
        talk = await asyncio.to_thread(
            Talk, f"pulsar://127.0.0.1:{proxy.port}", asyncio.get_running_loop()
        )
        for cut in range(CUTS):
            cutting = asyncio.ensure_future(proxy.cut_after(1 + cut * 7 + chance.randrange(40)))
            await asyncio.to_thread(talk.send, SENDS)
            async with asyncio.timeout(30):
                await cutting
            # The client waits longer after each attempt that failed, until one succeeds.
            answered = len(talk.answered)
            await until(lambda: len(talk.answered) > answered)  # noqa: B023 - awaited at once
        talk.send(1)
        await until(lambda: len(talk.answered) == talk.sent)
        await until(lambda: set(talk.received) == set(range(talk.sent)))
        assert not talk.failed
        assert talk.answered == list(range(talk.sent))
        found = await asyncio.to_thread(talk.read_back)
        assert list(dict.fromkeys(found)) == list(range(talk.sent))
        assert list(dict.fromkeys(talk.received)) == list(range(talk.sent))
        await until(lambda: attached(broker) == 2)
        assert broker.broker.connection_count <= 2
        await asyncio.to_thread(talk.close)
        await until(lambda: not attached(broker) and not broker.broker.connection_count)
