"""Clients that read slowly, or never: they get no more than fits, and hold nobody else up.

Each test starts a broker process and lets a client that behaves go round beside the others: its
pace is compared with that before they came. Files of some 100 MB are written: a second each.
"""

import asyncio
import contextlib
import threading

import pytest
from limits.bystander import PATIENCE_S, Bystander, memory, well_behaved
from limits.rude import Rude
from unit.broker.peer import command, send

from magnetar.broker.outbox import HIGH_WATER_BYTES
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.timeout(120)

TOPIC = "persistent://public/default/loud"
ENTRY = b"x" * 60_000
MIB = 1024 * 1024
READ_BYTES_MAX = 5 * MIB
SLACK = 24 * MIB  # What else a broker at work allocates: buffers, arenas, its cache.
SHARED, KEY_SHARED, EXCLUSIVE = (
    pb.CommandSubscribe.Shared,
    pb.CommandSubscribe.Key_Shared,
    pb.CommandSubscribe.Exclusive,
)


async def publish(port: int, topic: str, count: int, payload: bytes = ENTRY) -> None:
    """So many entries, all answered."""
    peer = await well_behaved(port)
    await peer.produce(1, topic)
    for start in range(0, count, 100):
        numbers = range(start, min(start + 100, count))
        peer.wire.send(b"".join(send(1, number, payload) for number in numbers))
        for _ in numbers:
            answer = await peer.hear(PATIENCE_S)
            assert answer.HasField("send_receipt"), answer
    peer.wire.close()


def subscribed(broker, peers, count, topic=TOPIC, **values) -> list[Rude]:
    found = []
    for number in range(count):
        deaf = peers.enter_context(Rude(broker.port)).connect()
        found.append(deaf.consume(topic, f"deaf-{number}", **values))
    return found


async def test_consumers_that_never_read_get_what_fits_and_no_more(broker, bystander, alone, peers):
    """Ten of them, entries coming in: fan-out to nobody. They are cut off when they miss a PING."""
    deaf = subscribed(broker, peers, 10)
    before = memory(broker.pid)
    publishing = asyncio.create_task(publish(broker.port, TOPIC, 2000))
    await bystander.check(alone)
    await publishing
    await bystander.check(alone)
    assert memory(broker.pid) - before < 10 * (HIGH_WATER_BYTES + READ_BYTES_MAX) + SLACK
    for one in deaf:
        assert await asyncio.to_thread(one.closed)


async def test_a_backlog_is_kept_from_consumers_that_never_read(broker, bystander, alone, peers):
    """Twice: the first time the subscriptions are made, and left again."""
    for one in subscribed(broker, peers, 5):
        one.ask("close_consumer", consumer_id=1, request_id=9)
    await publish(broker.port, TOPIC, 1500)
    before = memory(broker.pid)
    subscribed(broker, peers, 5)
    await bystander.check(alone)
    assert memory(broker.pid) - before < 5 * (HIGH_WATER_BYTES + READ_BYTES_MAX) + SLACK


async def test_clients_that_never_read_hold_so_much_together_and_no_more(tmp_path, peers):
    """Each could hold more than 1 MiB; one of them reads in the end, and gets everything."""
    entry, count, deaf_count, budget_mb = b"x" * 1000, 6000, 40, 8
    settings = {
        "webServicePort": -1,
        "managedLedgerCacheSizeMB": 8,
        "maxMessageDeliveryBufferSizeInMB": budget_mb,
    }
    with BrokerProcess(tmp_path / "data", settings=settings) as process:
        deaf = [peers.enter_context(Rude(process.port)).connect() for _ in range(deaf_count)]
        for number, one in enumerate(deaf):  # With an id each, or they would share their frames.
            one.consume(TOPIC, f"deaf-{number}", consumer_id=number)
        before = memory(process.pid)
        await publish(process.port, TOPIC, count, entry)
        assert memory(process.pid) - before < budget_mb * MIB + SLACK
        last = await asyncio.to_thread(read_to, deaf[-1], count)
        assert last.message.message_id.entryId == count - 1


def read_to(deaf: Rude, count: int) -> pb.BaseCommand:
    """The last of so many messages."""
    while True:
        heard = deaf.hear()
        if heard.HasField("ping"):
            deaf.tell("pong")
        count -= heard.HasField("message")
        if not count:
            return heard


async def test_a_deaf_consumer_holds_up_nobody_on_its_own_subscription(broker, peers):
    """Shared: what it cannot take goes to the other."""
    deaf = peers.enter_context(Rude(broker.port)).connect()
    deaf.consume(TOPIC, "both", subType=SHARED)
    good = await well_behaved(broker.port)
    await good.consume(1, TOPIC, subscription="both", subType=SHARED, permits=1_000_000)
    publishing = asyncio.create_task(publish(broker.port, TOPIC, 1000))
    got = 0
    fits = (HIGH_WATER_BYTES + READ_BYTES_MAX) // len(ENTRY) + 60  # And what the kernel holds.
    while got < 1000 - fits:
        got += (await good.hear(PATIENCE_S)).HasField("message")
    await publishing
    good.wire.close()


async def test_a_reader_of_one_byte_a_moment_is_served_and_holds_nobody_up(
    broker, bystander, alone, peers
):
    """It is alive, so it is not cut off at once; and it gets in order what it reads."""
    (slow,) = subscribed(broker, peers, 1)
    stop = threading.Event()

    def read() -> int:
        taken = 0
        with contextlib.suppress(OSError):
            while not stop.wait(0.01):
                taken += len(slow.socket.recv(1))
        return taken

    reading = asyncio.create_task(asyncio.to_thread(read))
    before = memory(broker.pid)
    await publish(broker.port, TOPIC, 1000)
    await bystander.check(alone)
    assert memory(broker.pid) - before < HIGH_WATER_BYTES + READ_BYTES_MAX + SLACK
    stop.set()
    assert await reading > 10


@pytest.mark.parametrize(
    "question",
    [
        command("lookupTopic", topic=TOPIC, request_id=7),
        command("getTopicsOfNamespace", namespace="public/default", request_id=7),
    ],
    ids=["lookups", "lists of topics"],
)
async def test_who_asks_much_and_never_reads_the_answers_holds_nobody_up(
    broker, bystander, alone, peers, question
):
    """Thousands of questions in a few reads; the lists are some 80 MB in all."""
    names = await well_behaved(broker.port)
    for number in range(80):
        await names.produce(number, f"{TOPIC}-{'x' * 200}-{number}")
    before = memory(broker.pid)
    rude = peers.enter_context(Rude(broker.port)).connect()
    rude.socket.sendall(question * 4000)
    await bystander.check(alone)
    assert memory(broker.pid) - before < 2 * HIGH_WATER_BYTES + SLACK
    names.wire.close()


@pytest.mark.parametrize("kind", [SHARED, KEY_SHARED])
async def test_who_never_acknowledges_gets_so_much_and_no_more(tmp_path, alone, kind):
    settings = {"webServicePort": -1, "maxUnackedMessagesPerConsumer": 500}
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        bystander = await Bystander.open(broker.port, f"{TOPIC}-other")
        hoarder, other = await well_behaved(broker.port), await well_behaved(broker.port)
        await hoarder.consume(1, TOPIC, subType=kind, permits=1_000_000)
        await publish(broker.port, TOPIC, 2000, b"x" * 100)
        await bystander.check(alone)
        for _ in range(500):
            assert (await hoarder.hear(PATIENCE_S)).HasField("message")
        await hoarder.nothing_more()
        if kind == SHARED:  # By key the other would have to wait for what the first one holds.
            await other.consume(1, TOPIC, subType=kind, permits=1_000_000)
            held = [(await other.hear(PATIENCE_S)).message.message_id for _ in range(500)]
            for message_id in held:
                other.tell("ack", consumer_id=1, ack_type=0, message_id=[message_id])
            for _ in range(500):
                assert (await other.hear(PATIENCE_S)).HasField("message")
            other.wire.close()
        hoarder.wire.close()
        bystander.close()


async def test_an_exclusive_consumer_that_never_acknowledges_costs_no_memory(broker):
    """It may have all there is; nothing is kept for it, for the cursor knows what is missing."""
    hoarder = await well_behaved(broker.port)
    await hoarder.consume(1, TOPIC, permits=1_000_000)
    await publish(broker.port, TOPIC, 1000, b"x" * 100)
    for _ in range(1000):
        assert (await hoarder.hear(PATIENCE_S)).HasField("message")
    before = memory(broker.pid)
    for _ in range(20):
        await publish(broker.port, TOPIC, 1000, b"x" * 100)
        for _ in range(1000):
            assert (await hoarder.hear(PATIENCE_S)).HasField("message")
    assert memory(broker.pid) - before < 20 * MIB  # The cache's 8, and what it is cut from.
    hoarder.wire.close()
