import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until, until_idle
from unit.broker.peer import TOPIC, Peer, send

from magnetar.broker.outbox import Outbox, OutboxBudget
from magnetar.broker.pending_publishes import PendingPublishes, PublishBuffer
from magnetar.broker.read_pause import ReadPause
from magnetar.broker.session import LATE_SENDS_S, RATE_PAUSE_S_MAX, REQUESTS_PENDING_MAX, Session
from magnetar.broker.shared_frames import SharedFrames
from magnetar.loop_iteration import LoopIteration
from magnetar.model.names import TopicName
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.tasks import Tasks
from magnetar.testing.local_broker import LocalBroker
from magnetar.wire.frames import FrameDecoder


class Paper(asyncio.WriteTransport):
    """A transport that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def write(self, data):
        self.data += data


class Client:
    """A session, and how its connection ended."""

    def __init__(self, *, version: int = 21) -> None:
        self.paper = Paper()
        self.clock = ManualClock()
        self.ended: list[str] = []
        self.turns: list[str] = []
        read_pause = ReadPause(self)
        loop = asyncio.get_running_loop()
        self.tasks = Tasks("test")
        self.session = Session(
            hang_up_written=lambda reason: self.ended.append(f"hang up: {reason}"),
            cut_off=lambda reason: self.ended.append(f"cut off: {reason}"),
            address="127.0.0.1:1",
            outbox=Outbox(self.paper, loop, read_pause, LoopIteration(loop), OutboxBudget(1 << 30)),
            read_pause=read_pause,
            pending_publishes=PendingPublishes(
                PublishBuffer(1000), read_pause, count_max=10, bytes_max=100
            ),
            shared_frames=SharedFrames(loop),
            liveness_timeout_s=5,
            clock=self.clock,
            tasks=self.tasks,
        )
        self.session.greet("test", version)

    def pause_reading(self) -> None:
        self.turns.append("pause")

    def resume_reading(self) -> None:
        self.turns.append("resume")

    async def heard(self) -> list[str]:
        """The commands that were sent, by field."""
        await until_idle()
        frames = FrameDecoder().feed(self.paper.data)
        return [frame.command.ListFields()[1][0].name for frame in frames]


@pytest.fixture
async def client():
    made = Client()
    yield made
    await made.tasks.close()


@pytest.fixture
async def old_client():
    made = Client(version=4)
    yield made
    await made.tasks.close()


async def test_a_sign_of_life_is_enough(client):
    asking = asyncio.create_task(client.session.alive())
    assert await client.heard() == ["ping"]
    client.session.heard()
    assert await asking
    assert client.ended == []


async def test_who_gives_no_sign_of_life_is_cut_off(client):
    asking = asyncio.create_task(client.session.alive())
    also = asyncio.create_task(client.session.alive())
    await client.clock.advance(4.5)
    assert client.ended == []
    await client.clock.advance(1)
    assert client.ended[0] == "cut off: no sign of life when asked"
    await client.session.close()
    assert not await asking
    assert not await also
    assert not await client.session.alive()


async def test_who_is_kept_waiting_by_us_counts_as_alive(client):
    for _ in range(REQUESTS_PENDING_MAX):
        client.session.request_began()
    assert await client.session.alive()
    assert await client.heard() == []


async def test_a_client_with_too_many_requests_is_not_listened_to_until_half_are_answered(client):
    for _ in range(REQUESTS_PENDING_MAX):
        client.session.request_began()
    assert client.turns == ["pause"]
    for _ in range(REQUESTS_PENDING_MAX // 2):
        client.session.request_ended()
    assert client.turns == ["pause", "resume"]


async def test_closing_by_us_is_told_to_those_who_understand(client, old_client):
    for one in (client, old_client):
        one.session.close_producer(1)
        one.session.close_consumer(2)
        one.session.send_active_change(3, active=True)
    assert await client.heard() == ["close_producer", "close_consumer", "active_consumer_change"]
    assert client.ended == []
    assert await old_client.heard() == []
    assert old_client.ended[0] == "hang up: its topic closed, and it is too old to be told"


async def test_late_sends_are_excused_for_a_while(client):
    client.session.close_producer(1)
    assert client.session.may_be_late(1)
    assert not client.session.may_be_late(2)
    await client.clock.advance(LATE_SENDS_S + 1)
    assert not client.session.may_be_late(1)


async def test_a_lost_connection_leaves_nothing_attached(broker, peer):
    await peer.produce(1)
    await peer.consume(2)
    await peer.consume(3, subscription="reader", durable=False)
    topic = broker.broker.registry.loaded[TopicName.parse(TOPIC)]
    assert topic.busy == 3
    peer.wire.abort()
    await until(lambda: not topic.busy and "reader" not in topic.subscriptions)
    assert list(topic.subscriptions) == ["s"]


async def test_sends_that_arrived_with_the_end_of_a_connection_are_stored(broker, other):
    peer = await Peer.open(broker.port)
    await peer.produce(1)
    await other.consume(1, permits=100)
    peer.wire.send(b"".join(send(1, number, b"x") for number in range(50)))
    peer.wire.close()
    entries = [(await other.hear()).message.message_id.entryId for _ in range(50)]
    assert entries == list(range(50))


async def test_an_attachment_that_comes_too_late_is_undone():
    """Its connection is gone by the time another one gave way."""
    settings = {"webServicePort": -1, "connectionLivenessCheckTimeoutMillis": 100}
    async with LocalBroker(settings=settings) as broker:
        owner, late = await Peer.open(broker.port), await Peer.open(broker.port)
        await owner.produce(1, producer_name="p")
        late.tell("producer", topic=TOPIC, producer_id=1, request_id=1, producer_name="p")
        assert (await owner.hear()).type == pb.BaseCommand.PING
        late.wire.abort()
        await owner.hung_up_on()
        third = await Peer.open(broker.port)
        topic = broker.broker.registry.loaded[TopicName.parse(TOPIC)]
        await until(lambda: not topic.producers)
        assert await third.produce(1, producer_name="p") == "p"
        third.wire.close()


async def test_a_client_that_publishes_too_fast_is_read_again_when_every_rate_allows_it(client):
    waits = {"a": 1.0, "b": 0.5}

    def rate_of(name):
        return lambda: waits[name]

    a, b = rate_of("a"), rate_of("b")
    for rate in (a, b, a):
        client.session.read_later(rate)
    await client.clock.until_asleep()
    assert client.turns == ["pause"]
    assert await client.session.alive(), "it cannot answer while it is not read"
    waits.update(a=0.0, b=0.25)
    await client.clock.advance(1.0)
    assert client.turns == ["pause"]
    waits.update(b=0.0)
    await client.clock.advance(0.25)
    assert client.turns == ["pause", "resume"]
    waits.update(a=1.0)
    client.session.read_later(a)
    await client.clock.until_asleep()
    assert client.turns == ["pause", "resume", "pause"]


async def test_nobody_waits_for_the_rate_of_a_client_that_is_gone(client):
    client.session.read_later(lambda: 1.0)
    await client.clock.until_asleep()
    await client.session.close()
    await client.clock.advance(1.0)
    assert not client.clock.sleepers


async def test_a_client_that_was_much_too_fast_is_read_now_and_then_since_it_may_be_gone(client):
    client.session.read_later(lambda: 1.0)
    await client.clock.advance(RATE_PAUSE_S_MAX - 0.5)
    assert client.turns == ["pause"]
    await client.clock.advance(0.5)
    assert client.turns == ["pause", "resume"]
