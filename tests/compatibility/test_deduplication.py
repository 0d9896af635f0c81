"""What a producer sends again is stored once: the official client, ours, and the bare protocol."""

import asyncio
from itertools import count

import pulsar
import pytest
from compatibility.conftest import Receipts, nothing_more, open_client, receive_all
from support.admin import ask
from support.loop import until
from support.network import WireConnection

from magnetar import Client, OutgoingMessage
from magnetar.errors import TimedOut
from magnetar.message.entry import checksum, join
from magnetar.message.metadata import build
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker
from magnetar.testing.processes import BrokerProcess
from magnetar.wire import requests

pytestmark = pytest.mark.compatibility

SETTINGS = {
    "brokerDeduplicationEnabled": True,
    "brokerDeduplicationEntriesInterval": 5,
    "managedLedgerDefaultMarkDeleteRateLimit": 100,
}
NAMES = count()
COUNT = 4_000
STORED_BEFORE = (2**64 - 1, 2**64 - 1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("deduplication"), settings=SETTINGS) as process:
        yield process


def stats_of(broker, topic, kind="stats"):
    return ask(broker, "GET", f"{topic.replace('://', '/')}/{kind}")


def keep(broker, topic):
    """Have everything kept for ``everything_in``."""
    ask(broker, "PUT", f"{topic.replace('://', '/')}/subscription/all", "earliest")


def everything_in(client, topic, expected):
    """What is stored, which is so much and no more."""
    consumer = client.subscribe(topic, "all")
    found = [message.data() for message in receive_all(consumer, expected)]
    nothing_more(consumer)
    return found


async def until_stored(broker, topic, expected):
    for _ in range(1_000):
        if stats_of(broker, topic, "internalStats")["numberOfEntries"] == expected:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{expected} entries are not stored")


class Peer:
    """A producer that speaks the bare protocol."""

    def __init__(self, wire, topic):
        self._wire = wire
        self._topic = topic
        self._requests = count(1)

    @classmethod
    async def connect(cls, broker, topic):
        wire = await WireConnection.open("127.0.0.1", broker.port)
        peer = cls(wire, topic)
        wire.send(requests.connect("test", 21))
        await peer.hears("connected")
        wire.send(requests.lookup(0, topic))
        await peer.hears("lookupTopicResponse")
        return peer

    async def hears(self, what):
        command = pb.BaseCommand()
        frame = await self._wire.receive()
        command.ParseFromString(frame[8 : 8 + int.from_bytes(frame[4:8], "big")])
        return getattr(command, what)

    async def produce(self, name="p"):
        """Returns the last sequence id that the broker knows."""
        self._wire.send(requests.producer(1, next(self._requests), self._topic, name=name))
        return (await self.hears("producer_success")).last_sequence_id

    def send(self, *ids):
        """All in one write."""
        frames = []
        for sequence_id in ids:
            entry = join(build("p", sequence_id, 1), b"%d" % sequence_id)
            frames += requests.send(1, sequence_id, entry, checksum(entry))
        self._wire.send(b"".join(frames))

    async def receipts(self, number):
        """Of so many sends: sequence id, ledger and entry."""
        found = [await self.hears("send_receipt") for _ in range(number)]
        return [(r.sequence_id, (r.message_id.ledgerId, r.message_id.entryId)) for r in found]

    def hears_nothing_more(self):
        self._wire.pause_reading()

    def close(self):
        self._wire.close()


@pytest.fixture
async def connect():
    peers = []

    async def to(broker, topic):
        peers.append(await Peer.connect(broker, topic))
        return peers[-1]

    yield to
    for peer in peers:
        peer.close()


async def test_batches_by_key_are_no_duplicates_of_each_other_whoever_numbered_them(broker, topic):
    sent = [OutgoingMessage(b"%d" % n, key="aba"[n % 3], sequence_id=n) for n in range(30)]
    async with Client(broker.service_url) as client:
        consumer = await client.subscribe(topic, "all")
        producer = await client.create_producer(topic, name="keys", batch_by_key=True)
        await producer.send_many(sent)
        found = []
        while len(found) < len(sent) and (more := await consumer.receive_many(timeout_s=5)):
            found += more
        for key in "ab":
            wanted = [each.sequence_id for each in sent if each.key == key]
            assert [each.sequence_id for each in found if each.key == key] == wanted
        await producer.send_many(sent)
        with pytest.raises(TimedOut):
            await consumer.receive(timeout_s=0.5)


async def test_what_was_stored_is_in_no_batch_with_what_was_not(broker, topic):
    sent = [OutgoingMessage(b"%d" % n, sequence_id=n) for n in range(10)]
    async with Client(broker.service_url) as client:
        consumer = await client.subscribe(topic, "all")
        for first, end in ((0, 6), (3, 10)):  # It dies, and begins again with what was stored.
            producer = await client.create_producer(topic, name="again", batch_delay_s=5)
            await producer.send_many(sent[first:end])
            await producer.close()
        found = []
        while len(found) < len(sent) and (more := await consumer.receive_many(timeout_s=5)):
            found += more
        assert [each.sequence_id for each in found] == list(range(10))


def test_a_producer_publishes_effectively_once_while_the_broker_is_killed(broker, topic):
    keep(broker, topic)
    client = open_client(broker.service_url)
    options = {"max_pending_messages": 500, "block_if_queue_full": True}
    producer = client.create_producer(topic, "once", send_timeout_millis=0, **options)
    receipts = Receipts(COUNT)
    for number in range(COUNT):
        producer.send_async(b"%d" % number, receipts.callback)
        if number in (COUNT // 3, 2 * COUNT // 3):
            broker.kill()
            broker.start()
    receipts.wait()
    assert producer.last_sequence_id() == COUNT - 1
    assert everything_in(client, topic, COUNT) == [b"%d" % number for number in range(COUNT)]
    client.close()


async def test_what_was_stored_and_not_answered_is_known_after_a_crash(broker, topic, connect):
    peer = await connect(broker, topic)
    assert await peer.produce() == -1
    peer.send(0, 1)
    await peer.receipts(2)
    peer.hears_nothing_more()
    peer.send(2, 3, 7)
    await until_stored(broker, topic, 5)
    broker.kill()
    broker.start()
    peer = await connect(broker, topic)
    assert await peer.produce() == 7
    peer.send(2, 3, 7, 8)
    found = await peer.receipts(4)
    assert found[:3] == [(2, STORED_BEFORE), (3, STORED_BEFORE), (7, STORED_BEFORE)]
    assert found[3][1] != STORED_BEFORE


async def test_a_duplicate_of_what_is_on_its_way_is_answered_behind_it(broker, topic, connect):
    peer = await connect(broker, topic)
    await peer.produce()
    peer.send(23, 24, 25, 24)
    peer.send(23, 26)
    found = await peer.receipts(6)
    assert [sequence_id for sequence_id, _ in found] == [23, 24, 25, 24, 23, 26]
    stored = [place for _, place in found if place != STORED_BEFORE]
    assert [entry_id for _, entry_id in stored] == [0, 1, 2, 3]
    again = await connect(broker, topic)  # While the first one is still there.
    assert await again.produce("another") == -1


def test_sequence_ids_outlive_a_restart_and_their_cursor_is_no_subscription(broker, topic):
    keep(broker, topic)
    client = open_client(broker.service_url)
    producer = client.create_producer(topic, "p", initial_sequence_id=99)
    for number in range(12):
        producer.send(b"%d" % number)
    producer.send(b"again", sequence_id=105)
    client.close()
    broker.terminate()
    broker.start()
    client = open_client(broker.service_url)
    assert client.create_producer(topic, "p").last_sequence_id() == 111
    assert len(everything_in(client, topic, 12)) == 12
    cursors = stats_of(broker, topic, "internalStats")["cursors"]
    assert cursors["pulsar.dedup"]["properties"] == {"p": 111}
    stats = stats_of(broker, topic)
    assert list(stats["subscriptions"]) == ["all"]
    assert stats["deduplicationStatus"] == "Enabled"
    with pytest.raises(pulsar.PulsarException):
        client.subscribe(topic, "pulsar.dedup")
    client.close()


def test_it_is_switched_while_producers_send(broker, client):
    namespace = f"public/ns{next(NAMES)}"
    ask(broker, "PUT", f"namespaces/{namespace}", {"deduplicationEnabled": False})
    topic = f"persistent://{namespace}/t"
    keep(broker, topic)
    producer = client.create_producer(topic, "p")
    for _ in range(2):
        producer.send(b"twice", sequence_id=5)
    ask(broker, "POST", f"namespaces/{namespace}/deduplication", value=True)
    for _ in range(2):
        producer.send(b"once", sequence_id=6)
    ask(broker, "POST", f"namespaces/{namespace}/deduplication", value=False)
    producer.send(b"again", sequence_id=6)
    ask(broker, "POST", f"persistent/{namespace}/t/deduplicationEnabled", value=True)
    for _ in range(2):
        producer.send(b"by its own policy", sequence_id=7)
    ask(broker, "DELETE", f"persistent/{namespace}/t/deduplicationEnabled")
    assert everything_in(client, topic, 5) == [
        b"twice",
        b"twice",
        b"once",
        b"again",
        b"by its own policy",
    ]
    assert "pulsar.dedup" not in stats_of(broker, topic, "internalStats")["cursors"]


async def test_a_producer_that_is_gone_for_long_is_forgotten(connect):
    settings = {
        "brokerDeduplicationEnabled": True,
        "brokerDeduplicationProducerInactivityTimeoutMinutes": 0,
        "retentionCheckIntervalInSeconds": 1,
    }
    async with LocalBroker(settings=settings) as broker:
        topic = "persistent://public/default/forgets"
        peer = await connect(broker, topic)
        await peer.produce()
        peer.send(0)
        await peer.receipts(1)
        loaded = next(iter(broker.broker.registry.loaded.values()))
        peer.close()
        await until(lambda: not loaded._features.deduplication.ids, timeout_s=10)
        assert await (await connect(broker, topic)).produce() == -1
