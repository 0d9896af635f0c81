"""Clients that say nothing, or half of something; publishers that outrun the disk or never listen.

Whoever is too fast is slowed: not read, so that TCP holds it up. Nothing is dropped.
"""

import asyncio

import pytest
from limits.bystander import PATIENCE_S, Bystander, memory, well_behaved
from limits.rude import Rude
from support.faults import FaultyFiles
from support.loop import until, until_idle
from unit.broker.peer import command, send

from magnetar.broker.connection import SHARED_BUFFER_BYTES
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker
from magnetar.testing.processes import BrokerProcess

pytestmark = pytest.mark.timeout(120)

TOPIC = "persistent://public/default/loud"
MIB = 1024 * 1024
ENTRY = b"x" * 10_000


async def test_who_falls_silent_is_asked_and_then_given_up(broker, bystander, alone, peers):
    """The interval is 5 s here: asked after one, cut off after two, also in the middle of a frame.

    Those who answer stay.
    """
    silent = [peers.enter_context(Rude(broker.port)).connect() for _ in range(50)]
    for one in silent[25:]:
        one.socket.sendall(send(1, 1, ENTRY)[:5000])
    await bystander.check(alone)
    closing = asyncio.gather(*(asyncio.to_thread(one.closed) for one in silent))
    while not closing.done():
        await bystander.round_and_rest()
    assert all(closing.result())
    await bystander.check(alone)


async def test_a_publisher_that_never_reads_its_receipts_is_slowed(broker, bystander, alone, peers):
    rude = peers.enter_context(Rude(broker.port)).connect().produce(TOPIC)
    before = memory(broker.pid)
    sending = asyncio.create_task(
        asyncio.to_thread(rude.send_until_stuck, b"x" * 1000, bytes_max=100 * MIB)
    )
    await bystander.check(alone)
    sent = await sending
    assert memory(broker.pid) - before < 80 * MIB
    assert sent > MIB


async def test_who_opens_producers_without_end_is_stopped(tmp_path, alone):
    settings = {"webServicePort": -1, "maxProducersPerConnection": 500}
    with BrokerProcess(tmp_path / "data", settings=settings) as broker:
        bystander = await Bystander.open(broker.port, f"{TOPIC}-other")
        greedy = await well_behaved(broker.port)
        await greedy.ask("lookupTopic", topic=TOPIC, request_id=1)
        greedy.wire.send(
            b"".join(
                command("producer", topic=TOPIC, producer_id=number, request_id=number)
                for number in range(3000)
            )
        )
        await bystander.check(alone)
        answers = [await greedy.hear(PATIENCE_S) for _ in range(3000)]
        assert sum(answer.HasField("producer_success") for answer in answers) == 500
        greedy.wire.close()
        bystander.close()


@pytest.fixture
def files():
    """A disk that stands still when told to."""
    return FaultyFiles()


SLOW_DISK = {
    "webServicePort": -1,
    "maxMessagePublishBufferSizeInMB": 4,
    "maxPendingPublishRequestsPerConnection": 100_000,
}


async def test_publishers_faster_than_the_disk_are_slowed_not_dropped(tmp_path, files):
    """The disk stands still: all together wait at the buffer's size, and then all is stored."""
    async with LocalBroker(tmp_path / "data", settings=SLOW_DISK, files=files) as broker:
        peers = [await well_behaved(broker.port) for _ in range(4)]
        for number, peer in enumerate(peers):
            await peer.produce(1, f"{TOPIC}-{number}")
        with files.hold_syncs():
            count = 1000  # 10 MB each.
            for peer in peers:
                peer.wire.send(b"".join(send(1, number, ENTRY) for number in range(count)))
            await until_idle()  # Nobody is read any more.
            waiting = broker.broker.publish_buffer.used_bytes
            # Each may have had one read under way when the buffer was full.
            assert 4 * MIB <= waiting <= 4 * MIB + len(peers) * SHARED_BUFFER_BYTES
            assert all(peer.wire.waiting == 0 for peer in peers)
            late = await well_behaved(broker.port)  # Who asks for something else is served.
            await late.ask("lookupTopic", topic=TOPIC, request_id=1)
        for peer in peers:
            for number in range(count):
                answer = await peer.hear(PATIENCE_S)
                assert answer.send_receipt.sequence_id == number


async def test_what_came_from_connections_that_are_gone_counts_until_it_is_stored(tmp_path, files):
    """Connecting again does not make room: each newcomer gets in what it has in one read."""
    connections = 15
    async with LocalBroker(tmp_path / "data", settings=SLOW_DISK, files=files) as broker:
        stays = await well_behaved(broker.port)
        await stays.produce(1, TOPIC)
        buffer = broker.broker.publish_buffer
        with files.hold_syncs():
            for _ in range(connections):
                peer = await well_behaved(broker.port)
                await peer.produce(1, TOPIC)
                before = buffer.used_bytes
                peer.wire.send(b"".join(send(1, number, ENTRY) for number in range(100)))
                await until(lambda before=before: buffer.used_bytes > before)
                await stays.nothing_more()
                peer.wire.abort()
            assert buffer.used_bytes < 4 * MIB + connections * SHARED_BUFFER_BYTES
        await until(lambda: not buffer.used_bytes)


@pytest.mark.parametrize(
    ("key", "limit"),
    [
        ("maxPendingPublishRequestsPerConnection", 20),
        ("maxPendingPublishBytesPerConnection", 200_000),
    ],
)
async def test_one_connection_may_have_so_much_under_way(tmp_path, files, key, limit):
    """Listened to with one less, not with so many. What comes with the last in one read counts."""
    settings = {**SLOW_DISK, key: limit}
    size = len(send(1, 1, b"x" * 9_930)) - 50
    async with LocalBroker(tmp_path / "data", settings=settings, files=files) as broker:
        peer = await well_behaved(broker.port)
        await peer.produce(1, TOPIC)
        with files.hold_syncs():
            entry = b"x" * (9_930 + 10_000 - size)
            for number in range(19):
                peer.wire.send(send(1, number, entry))
            await peer.nothing_more()  # It is listened to.
            peer.wire.send(send(1, 19, entry * 2))
            await until_idle()
            peer.tell("ping")
            await until_idle()
            assert not peer.wire.waiting, "it is still listened to"
        answers = [await peer.hear() for _ in range(21)]
        receipts = [answer.send_receipt for answer in answers if answer.HasField("send_receipt")]
        assert [receipt.sequence_id for receipt in receipts] == list(range(20))
        assert pb.BaseCommand.PONG in {answer.type for answer in answers}
