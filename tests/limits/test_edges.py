"""Limits that no test of their own file shows: one less, as many, one more."""

import google_crc32c
import pytest
from support.brokers import limited_broker
from unit.broker.peer import TOPIC, Peer, entry, framed, send
from unit.message.test_chunk import Receiver
from unit.storage.ledger.local.support import append

from magnetar.broker.broker import Broker
from magnetar.broker.connection import FRAME_PADDING
from magnetar.broker.plain_patterns import PATTERN_LENGTH_MAX, REPEATS_MAX, TopicPattern
from magnetar.client.client import Client
from magnetar.client.connections import lookup
from magnetar.client.consumers.acknowledgements import Acknowledgements
from magnetar.errors import InvalidValue
from magnetar.model.hashing import murmur3_32
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.storage.ledger.local.ledgers import READ_ENTRIES_MAX
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.managed_ledger.cursor_reader import CursorReader
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}
SHARED, KEY_SHARED = pb.CommandSubscribe.Shared, pb.CommandSubscribe.Key_Shared


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_a_frame_may_hold_a_message_of_the_largest_size_and_what_goes_with_it(over):
    size_max = 100_000
    async with LocalBroker(settings={**QUIET, "maxMessageSize": size_max}) as broker:
        peer = await Peer.open(broker.port)
        await peer.produce(1)
        head = len(send(1, 1, b""))
        frame = send(1, 1, b"x" * (size_max + FRAME_PADDING - head + over))
        assert len(frame) == size_max + FRAME_PADDING + over
        peer.wire.send(frame)
        if over <= 0:
            assert (await peer.hear()).HasField("send_receipt")
        else:
            assert await peer.hung_up_on()


@pytest.mark.parametrize(("over", "matched"), [(-1, True), (0, True), (1, False)])
def test_a_pattern_to_be_matched_here_is_short_and_repeats_little(over, matched):
    assert (TopicPattern.of("x" * (PATTERN_LENGTH_MAX + over)) is not None) is matched
    assert (TopicPattern.of("x*" * (REPEATS_MAX + over)) is not None) is matched


def test_chunked_messages_that_made_room_are_remembered_up_to_a_number():
    receiver = Receiver(messages_max=1, evicted_max=2)
    for number in range(4):  # Each makes the one before it go.
        receiver.add(f"m{number}", 0)
    receiver.add("m1", 1)
    receiver.add("m2", 1)
    assert receiver.dropped == []  # Known to be whole on the broker.
    receiver.add("m0", 1)
    assert receiver.dropped == [6]  # No more: it is taken for one without a beginning.


@pytest.mark.parametrize(("count", "known"), [(2, True), (3, True), (4, False)])
def test_acknowledgements_that_were_sent_are_remembered_up_to_a_number(count, known):
    """Two periods of so many: what is one more begins the next period early."""
    state = Acknowledgements(group_max=1000, batch_index=False, sent_max=2)
    state.entry(Position(1, 0))
    state.drain(100.0)
    for number in range(1, 3 * count - 4):
        state.entry(Position(1, number))
        state.drain(100.0)
    assert state.covers(Position(1, 0)) is known


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_one_read_returns_so_many_entries(tmp_path, over):
    store = await LocalLedgerStore.start(tmp_path / "ledgers")
    ledger = await store.create()
    count = READ_ENTRIES_MAX + over
    await append(ledger, [b"x"] * count, [google_crc32c.value(b"x")] * count)
    read = await ledger.read(0, 2 * count, 1 << 30)
    assert len(read.data) == min(count, READ_ENTRIES_MAX)
    await store.close()


def chunk_of(uuid: str, index: int, count: int, sequence: int) -> bytes:
    """A SEND of a part of a chunked message."""
    metadata = pb.MessageMetadata(
        producer_name="p",
        sequence_id=sequence,
        publish_time=1,
        uuid=uuid,
        chunk_id=index,
        num_chunks_from_msg=count,
        total_chunk_msg_size=count,
    ).SerializeToString()
    stored = len(metadata).to_bytes(4, "big") + metadata + b"x"
    base = pb.BaseCommand(
        type=pb.BaseCommand.SEND,
        send=pb.CommandSend(producer_id=1, sequence_id=sequence, is_chunk=True),
    )
    checksum = google_crc32c.value(stored).to_bytes(4, "big")
    return framed(base.SerializeToString(), b"\x0e\x01" + checksum + stored)


def strategy(broker: Broker):
    (topic,) = broker.registry.loaded.values()
    (subscription,) = topic.subscriptions.values()
    return subscription.dispatch.strategy


async def test_a_subscription_remembers_the_owners_of_so_many_chunked_messages():
    async with limited_broker(topics={"chunked_messages_max": 3}) as broker:
        peer, consumer = await Peer.open(broker.port), await Peer.open(broker.port)
        await consumer.consume(1, subType=SHARED, permits=100)
        await peer.produce(1)
        for number in range(5):
            peer.wire.send(chunk_of(f"m{number}", 0, 2, number))
            assert (await peer.hear()).HasField("send_receipt")
            assert (await consumer.hear()).HasField("message")
            assert len(strategy(broker).chunk_owners) == min(number + 1, 3)
        assert list(strategy(broker).chunk_owners) == ["m2", "m3", "m4"]


async def test_so_many_chunks_wait_for_their_owner_before_reading_on_stops():
    async with limited_broker(topics={"waiting_chunks_max": 2, "read_entries_max": 1}) as broker:
        peer, owner, other = [await Peer.open(broker.port) for _ in range(3)]
        await owner.consume(1, subType=SHARED, permits=1)
        await owner.nothing_more()
        await peer.produce(1)
        peer.wire.send(chunk_of("m", 0, 9, 0))
        assert (await peer.hear()).HasField("send_receipt")
        assert (await owner.hear()).HasField("message")  # And has no permit left.
        await other.consume(2, subType=SHARED, permits=100)
        for number, waits in ((1, False), (2, True)):  # One chunk aside, then two.
            peer.wire.send(chunk_of("m", number, 9, number))
            peer.wire.send(send(1, 10 + number, b"plain"))
            assert (await peer.hear()).HasField("send_receipt")
            assert (await peer.hear()).HasField("send_receipt")
            if not waits:
                assert (await other.hear()).HasField("message")
        await other.nothing_more()
        owner.tell("flow", consumer_id=1, messagePermits=1)
        assert (await owner.hear()).HasField("message")
        assert (await other.hear()).HasField("message")


async def test_a_subscription_remembers_the_slots_of_so_many_keys():
    async with limited_broker(topics={"keys_known_max": 3}) as broker:
        peer, consumer = await Peer.open(broker.port), await Peer.open(broker.port)
        await consumer.consume(1, subType=KEY_SHARED, permits=100)
        await peer.produce(1)
        for number, known in enumerate([1, 2, 3, 4, 1, 2]):
            peer.wire.send(keyed(f"k{number}", number))
            assert (await peer.hear()).HasField("send_receipt")
            assert (await consumer.hear()).HasField("message")
            assert len(strategy(broker).known_slots) == known


@pytest.mark.parametrize(
    ("key", "value", "entries"),
    [("dispatcherMaxReadBatchSize", 3, 3), ("dispatcherMaxReadSizeBytes", 3_000, 3)],
)
async def test_a_dispatcher_reads_so_much_at_once(monkeypatch, key, value, entries):
    """Of what is stored already, told by the frames that a consumer gets in a turn."""
    async with LocalBroker(settings={**QUIET, key: value}) as broker:
        peer, consumer = await Peer.open(broker.port), await Peer.open(broker.port)
        await peer.produce(1)
        await consumer.consume(1, initialPosition=pb.CommandSubscribe.Earliest)
        payload = b"x" * (1_000 - len(entry(b"")))
        for number in range(10):
            peer.wire.send(send(1, number, payload))
            assert (await peer.hear()).HasField("send_receipt")
        runs = []
        cached = CursorReader.cached

        def noted(reader, entries_max, bytes_max):
            found = cached(reader, entries_max, bytes_max)
            runs.append(sum(map(len, found or [])))
            return found

        monkeypatch.setattr(CursorReader, "cached", noted)
        consumer.tell("flow", consumer_id=1, messagePermits=10)
        for _ in range(10):
            assert (await consumer.hear()).HasField("message")
        assert runs[:3] == [entries] * 3


@pytest.mark.parametrize(
    ("key", "limit"),
    [
        ("keySharedLookAheadMsgInReplayThresholdPerConsumer", 2),  # Of two consumers: 4.
        ("keySharedLookAheadMsgInReplayThresholdPerSubscription", 4),
    ],
)
async def test_so_many_entries_wait_for_their_keys_before_reading_on_stops(key, limit):
    """What a consumer without permits is to get waits; the other is served until four do."""
    settings = {**QUIET, key: limit, "dispatcherMaxReadBatchSize": 1}
    async with LocalBroker(settings=settings) as broker:
        peer, full, free = [await Peer.open(broker.port) for _ in range(3)]
        for number, (one, permits, start) in enumerate([(full, 0, 0), (free, 100, 32_768)], 1):
            ranges = [pb.IntRange(start=start, end=start + 32_767)]
            meta = pb.KeySharedMeta(keySharedMode=pb.STICKY, hashRanges=ranges)
            await one.consume(number, subType=KEY_SHARED, permits=permits, keySharedMeta=meta)
        await free.nothing_more()
        await peer.produce(1)
        numbers = iter(range(100))
        for waiting in range(1, 5):
            for half in (0, 1):
                peer.wire.send(keyed(key_in(half), next(numbers)))
                assert (await peer.hear()).HasField("send_receipt")
            if waiting < 4:
                assert (await free.hear()).HasField("message")
        await free.nothing_more()
        full.tell("flow", consumer_id=1, messagePermits=1)
        assert (await full.hear()).HasField("message")
        assert (await free.hear()).HasField("message")


def key_in(half: int) -> str:
    """A key whose slot is in the first or the second half of all."""
    return next(
        key for key in map(str, range(1000)) if murmur3_32(key.encode()) % 65_536 // 32_768 == half
    )


def keyed(key: str, sequence: int) -> bytes:
    """A SEND with a key."""
    metadata = pb.MessageMetadata(
        producer_name="p", sequence_id=sequence, publish_time=1, partition_key=key
    ).SerializeToString()
    stored = len(metadata).to_bytes(4, "big") + metadata + b"x"
    base = pb.BaseCommand(
        type=pb.BaseCommand.SEND, send=pb.CommandSend(producer_id=1, sequence_id=sequence)
    )
    checksum = google_crc32c.value(stored).to_bytes(4, "big")
    return framed(base.SerializeToString(), b"\x0e\x01" + checksum + stored)


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_a_client_uses_topics_of_so_many_partitions_as_a_whole(over):
    """Made on a broker that allows more."""
    partitions = lookup.PARTITIONS_MAX + over
    settings = {
        **QUIET,
        "allowAutoTopicCreationType": "partitioned",
        "defaultNumPartitions": partitions,
        "maxNumPartitionsPerPartitionedTopic": partitions,
    }
    async with LocalBroker(settings=settings) as broker:
        name = f"{TOPIC}-{partitions}"
        peer = await Peer.open(broker.port)
        await peer.ask("partitionMetadata", topic=name, request_id=1)
        client = Client(broker.service_url)
        if over <= 0:
            assert await client.partitions(name) == partitions
        else:
            with pytest.raises(InvalidValue, match="this client goes up to 10000"):
                await client.partitions(name)
        peer.wire.close()
        await client.close()
