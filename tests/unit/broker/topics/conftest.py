"""A topic on memory stores, and a client's end that writes down what it is sent."""

import asyncio
from dataclasses import replace

import pytest
from support.loop import until

from magnetar.broker.settings.policies import PolicySettings
from magnetar.broker.topics.non_persistent_topic import NonPersistentTopic
from magnetar.broker.topics.persistent_topic import PersistentTopic
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscriptions.consumer import Consumer, SubscribeRequest
from magnetar.broker.topics.topic_context import TopicContext
from magnetar.clock import SystemClock
from magnetar.loop_iteration import LoopIteration
from magnetar.message.entry import checksum, join
from magnetar.message.send_run import SendRun
from magnetar.model.names import TopicName
from magnetar.model.policies import ROWS
from magnetar.model.position import EARLIEST, Position
from magnetar.model.subscriptions import InitialPosition
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.record_log import open_record_log
from magnetar.tasks import Tasks


class HeldSearch:
    """In the place of ``ManagedLedger.first_where``: finds the first entry, once it may."""

    def __init__(self):
        self.arrived, self.release = asyncio.Event(), asyncio.Event()

    async def __call__(self, *_):
        self.arrived.set()
        await self.release.wait()
        return EARLIEST


@pytest.fixture
def held_search(monkeypatch):
    search = HeldSearch()
    monkeypatch.setattr(ManagedLedger, "first_where", search)
    return search


class ClientEnd:
    """A client's connection that keeps everything it is asked to send, in order."""

    def __init__(self, address="127.0.0.1:1"):
        self.address = address
        self.client_version = "test"
        self.writable = True
        self.lives = True
        self.asked = asyncio.Event()  # For a sign of life;
        self.answers = asyncio.Event()  # it gives one only while this is set.
        self.answers.set()
        self.sent = []
        self.waiting = []
        self.held_back_by = []  # Who wants nothing to be read of it for a while.

    def read_later(self, wait_s):
        self.held_back_by.append(wait_s)

    def _note(self, *what):
        self.sent.append(what)

    def when_writable(self, wake):
        self.waiting.append(wake)

    def reads_again(self):
        self.writable = True
        waiting, self.waiting = self.waiting, []
        for wake in waiting:
            wake()

    async def alive(self):
        self.asked.set()
        await self.answers.wait()
        return self.lives

    def send_receipts(self, run, ledger_id, first_entry_id):
        self._note("receipts", run.producer_id, len(run), ledger_id, first_entry_id)

    def send_unstored_receipts(self, run, *, delivered):
        self._note("unstored", run.producer_id, len(run), delivered)

    def send_errors(self, run, error):
        self._note("errors", run.producer_id, len(run), error)

    def drop_sends(self, run):
        self._note("dropped", run)

    def send_entries(
        self,
        consumer_id,
        run,
        *,
        picked=None,
        partition,
        redelivery_counts=None,
        ack_sets=None,
        consumer_epoch=None,
    ):
        indexes = range(len(run)) if picked is None else picked
        counts = redelivery_counts or [0] * len(indexes)
        sets = ack_sets or [[]] * len(indexes)
        for index, count, words in zip(indexes, counts, sets, strict=True):
            position = Position(run.ledger_id, run.first_entry_id + index * run.id_step)
            self._note("entry", consumer_id, position, payload(run.data[index]), count, words)

    def send_active_change(self, consumer_id, *, active):
        self._note("active", consumer_id, active)

    def send_end_of_topic(self, consumer_id):
        self._note("end", consumer_id)

    def close_producer(self, producer_id, to=None):
        self._note("close_producer", producer_id)

    def close_consumer(self, consumer_id, to=None):
        self._note("close_consumer", consumer_id)

    def got(self, consumer_id=None):
        """Payloads delivered so far, to one consumer or to all."""
        return [s[3] for s in self.sent if s[0] == "entry" and consumer_id in (None, s[1])]

    def positions(self, consumer_id=None):
        return [s[2] for s in self.sent if s[0] == "entry" and consumer_id in (None, s[1])]

    async def until(self, condition):
        """Wait until something is sent that makes ``condition(self)`` true."""
        await until(lambda: condition(self))


def entry(text, *, key=None, batch=None, **fields):
    """An entry holding ``text``; ``batch`` is its number of messages, where it is a batch."""
    said = {"producer_name": "p", "sequence_id": 0, "publish_time": 1, **fields}
    metadata = pb.MessageMetadata(**said)
    if key is not None:
        metadata.partition_key = key
    if batch is not None:
        metadata.num_messages_in_batch = batch
    return join(metadata.SerializeToString(), text.encode())


def payload(data):
    size = int.from_bytes(data[:4], "big")
    return data[4 + size :].decode()


def run_of(*entries, counts=None, producer_id=1, transaction=None):
    return SendRun.of(
        producer_id=producer_id,
        sequences=[0] * len(entries),
        data=list(entries),
        checksums=[checksum(e) for e in entries],
        message_counts=counts or [1] * len(entries),
        highest=[0] * len(entries),
        transaction=transaction,
    )


def attached(kind, name="c", *, end=None, unacked_max=0):
    """A consumer without a topic."""
    request = SubscribeRequest(subscription="s", type=kind, consumer_id=1, consumer_name=name)
    return Consumer(
        request,
        topic=TopicName.parse("t"),
        connection=end or ClientEnd(),
        unacked_max=unacked_max,
        connected_at_ms=0,
    )


class Bench:
    """A topic, and short words for what tests do to it."""

    def __init__(self, topic, tasks):
        self.topic = topic
        self.failed = []
        self.tasks = tasks
        self.ends = []
        self._producer = None
        self._end = ClientEnd()

    async def publish(self, *entries, counts=None, transaction=None):
        """Publish and wait for the receipt; strings become plain entries."""
        if self._producer is None:
            self._producer = await self.topic.attach_producer(self._end, 1, "bench")
        before = len(self._end.sent)
        fields = {}
        if transaction is not None:
            fields = {"txnid_most_bits": transaction[0], "txnid_least_bits": transaction[1]}
        made = [e if isinstance(e, bytes) else entry(e, **fields) for e in entries]
        self._producer.publish(run_of(*made, counts=counts, transaction=transaction))
        await self._end.until(lambda end: len(end.sent) > before)
        return self._end.sent[-1]

    async def consumer(self, kind, name="c", *, permits=1000, consumer_id=1, end=None, **fields):
        """Subscribe ``name`` to subscription ``s`` and give it permits."""
        end = end or ClientEnd()
        request = SubscribeRequest(
            subscription=fields.pop("subscription", "s"),
            type=kind,
            consumer_id=consumer_id,
            consumer_name=name,
            initial_position=fields.pop("initial_position", InitialPosition.EARLIEST),
            **fields,
        )
        subscription, consumer = await self.topic.subscribe(request, end)
        if permits:
            subscription.flow(consumer, permits)
        return end, subscription, consumer


async def opened(
    *,
    cache_bytes=1024 * 1024,
    clock=None,
    metadata=None,
    ledgers=None,
    offloader=None,
    ledger_settings=None,
    shared_rates=None,
    **asked,
):
    """A bench with the settings asked for."""
    limits = {name: value for name, value in asked.items() if name in ROWS}
    settings = {name: value for name, value in asked.items() if name not in limits}
    tasks = Tasks("bench")
    clock = clock or SystemClock()
    metadata = metadata or MemoryMetadataStore()
    factory = ManagedLedgerFactory(
        codec=JsonCodec(),
        metadata=metadata,
        ledgers=ledgers or MemoryLedgerStore(),
        cache=EntryCache(cache_bytes),
        clock=clock,
        tasks=tasks,
        settings=ledger_settings or ManagedLedgerSettings(),
        offloader=offloader,
    )
    ledger = await factory.open("public/default/persistent/t")
    bench = None
    settings = TopicSettings(**{"failover_delay_ms": 10, "compactions_at_once_max": 1, **settings})
    topic = PersistentTopic(
        TopicName.parse("persistent://public/default/t"),
        ledger,
        context=TopicContext(
            settings,
            clock,
            LoopIteration(asyncio.get_running_loop()),
            producer_name=iter(f"standalone-0-{n}" for n in range(1000)).__next__,
            shared_rates=shared_rates,
            new_uid=iter(map(str, range(1000))).__next__,
            open_records=lambda name, cursor: open_record_log(
                factory, paths.managed_ledger_name(name), cursor_name=cursor
            ),
        ),
        policies=replace(PolicySettings().policies(), **limits),
        failed=lambda topic: bench.failed.append(topic),  # noqa: PLW0108 - bench comes later
    )
    bench = Bench(topic, tasks)
    return bench


@pytest.fixture
async def open_bench():
    """Opens benches with the settings asked for; all are closed after the test."""
    benches = []

    async def open_one(**asked):
        benches.append(await opened(**asked))
        return benches[-1]

    yield open_one
    for bench in benches:
        await bench.topic.close()
        await bench.tasks.close()


@pytest.fixture
async def open_passing():
    """Opens benches with a non-persistent topic; all are closed after the test."""
    topics = []

    def open_one(clock=None, shared_rates=None, **asked):
        limits = {name: value for name, value in asked.items() if name in ROWS}
        settings = {name: value for name, value in asked.items() if name not in limits}
        topic = NonPersistentTopic(
            TopicName.parse("non-persistent://public/default/t"),
            context=TopicContext(
                TopicSettings(**settings),
                clock or SystemClock(),
                LoopIteration(asyncio.get_running_loop()),
                producer_name=iter(f"standalone-0-{n}" for n in range(1000)).__next__,
                shared_rates=shared_rates,
            ),
            policies=replace(PolicySettings().policies(), **limits),
        )
        topics.append(topic)
        return Bench(topic, None)

    yield open_one
    for topic in topics:
        await topic.close()


@pytest.fixture
async def bench(open_bench):
    return await open_bench()


@pytest.fixture(scope="session")
def make_entry():
    return entry


@pytest.fixture(scope="session")
def client_end():
    return ClientEnd


@pytest.fixture(scope="session")
def make_run():
    return run_of
