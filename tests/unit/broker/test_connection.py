import asyncio

import pytest
from support.clock import ManualClock
from unit.broker.peer import Peer, command, entry, framed, send

from magnetar.broker.connection import (
    COMMANDS_PER_READ_MAX,
    SHARED_BUFFER_BYTES,
    SMALL_READ_BYTES,
    Connection,
    ConnectionContext,
)
from magnetar.broker.handlers.connect import ConnectHandler
from magnetar.broker.handlers.consume import ConsumeHandler
from magnetar.broker.handlers.lookup import LookupHandler
from magnetar.broker.handlers.produce import ProduceHandler
from magnetar.broker.handlers.schema import SchemaHandler
from magnetar.broker.handlers.table import CommandTable
from magnetar.broker.handlers.topic_watch import TopicWatchHandler
from magnetar.broker.outbox import OutboxBudget
from magnetar.broker.pending_publishes import PublishBuffer
from magnetar.broker.settings.connections import ConnectionSettings
from magnetar.broker.shared_frames import SharedFrames
from magnetar.loop_iteration import LoopIteration
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.tasks import Tasks
from magnetar.testing.local_broker import LocalBroker

QUIET = {"webServicePort": -1}
MIB = 1024 * 1024


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def timed(clock):
    """A broker whose time is in the test's hands."""
    async with LocalBroker(settings=QUIET, clock=clock) as broker:
        yield broker


async def test_a_silent_client_is_pinged_and_then_cut_off(timed, clock):
    peer = await Peer.open(timed.port)
    await clock.advance(29)
    await peer.nothing_more()
    await clock.advance(2)
    assert (await peer.hear()).type == pb.BaseCommand.PING
    await clock.advance(28)
    assert not peer.wire.closed
    await clock.advance(4)
    assert await peer.hung_up_on()


async def test_a_client_that_answers_is_pinged_for_ever(timed, clock):
    peer = await Peer.open(timed.port)
    for _ in range(4):
        await clock.advance(31)
        assert (await peer.hear()).type == pb.BaseCommand.PING
        peer.tell("pong")
        await peer.nothing_more()
    peer.wire.close()


async def test_who_does_not_say_connect_is_cut_off(timed, clock):
    peer = await Peer.open(timed.port, protocol_version=None)
    await peer.nothing_more()
    await clock.advance(32)
    assert await peer.hung_up_on()


async def test_a_client_too_old_for_ping_is_left_alone(timed, clock):
    peer = await Peer.open(timed.port, protocol_version=0)
    await clock.advance(120)
    await peer.nothing_more()
    peer.wire.close()


MALFORMED = {
    "unknown command": framed(b"\x08\x63"),
    "a command of brokers": command("success", request_id=5),
    "type and field differ": framed(
        b"\x08\x15" + pb.BaseCommand(type=23, ping=pb.CommandPing()).SerializeToString()[2:]
    ),
    "not protobuf": framed(b"\xff\xff\xff\xff"),
    "required fields missing": framed(b"\x08\x17\xba\x01\x00"),
    "command longer than its frame": b"\x00\x00\x00\x06\x00\x00\x00\x99\x08\x12",
    "total size 0": b"\x00\x00\x00\x00\x00\x00\x00\x00",
    "total size 2": b"\x00\x00\x00\x02\x00\x00\x00\x00",
    "negative size": b"\xff\xff\xff\xff",
    "a size beyond the limit": (5253117).to_bytes(4, "big"),
    "something else than the protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a SEND with nothing behind it": framed(
        pb.BaseCommand(
            type=pb.BaseCommand.SEND, send=pb.CommandSend(producer_id=1, sequence_id=1)
        ).SerializeToString()
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
async def test_what_is_no_frame_ends_the_connection(peer, what):
    peer.wire.send(MALFORMED[what])
    assert await peer.hung_up_on()


async def test_frames_before_a_malformed_one_are_answered(peer):
    peer.wire.send(command("ping") + command("ping") + b"\xff\xff\xff\xff")
    assert len(await peer.wire.receive_end()) == 2


async def test_the_reason_for_ending_a_connection_is_logged_and_others_go_on(peer, other, caplog):
    peer.wire.send(b"\xff\xff\xff\xff")
    assert await peer.hung_up_on()
    assert "connection.broke_the_protocol" in caplog.text
    assert "FrameTooLarge" in caplog.text
    other.tell("ping")
    assert (await other.hear()).HasField("pong")


async def test_bytes_behind_a_command_without_payload_are_ignored(peer):
    peer.wire.send(framed(command("ping")[8:], b"xyz"))
    assert (await peer.hear()).type == pb.BaseCommand.PONG
    await peer.nothing_more()


async def test_nothing_is_heard_after_the_connection_was_ended(peer):
    peer.wire.send(command("connect", client_version="again") + command("ping"))
    assert await peer.hung_up_on()


@pytest.mark.parametrize("size", [10, 40_000, 300_000, 5 * MIB])
async def test_entries_of_any_size_arrive_whole(peer, size):
    await peer.produce(1)
    payload = bytes(range(256)) * (size // 256 + 1)
    peer.wire.send(send(1, 0, payload[:size]) + send(1, 1, b"after"))
    receipts = [(await peer.hear()).send_receipt.sequence_id for _ in range(2)]
    assert receipts == [0, 1]
    await peer.consume(1, subscription="s", initialPosition=pb.CommandSubscribe.Earliest)
    peer.tell("flow", consumer_id=1, messagePermits=2)
    stored = [await peer.wire.receive() for _ in range(2)]
    assert stored[0].endswith(entry(payload[:size]))
    assert stored[1].endswith(b"after")


async def test_frames_cut_anywhere_are_put_together(peer):
    await peer.produce(1)
    data = b"".join(send(1, number, b"x" * number * 50) for number in range(20))
    for start in range(0, len(data), 333):
        peer.wire.send(data[start : start + 333])
        await asyncio.sleep(0)
    receipts = [(await peer.hear()).send_receipt.sequence_id for _ in range(20)]
    assert receipts == list(range(20))


async def test_more_sends_than_may_wait_are_all_stored():
    settings = {**QUIET, "maxPendingPublishRequestsPerConnection": 8}
    async with LocalBroker(settings=settings) as broker:
        peer = await Peer.open(broker.port)
        await peer.produce(1)
        peer.wire.send(b"".join(send(1, number, b"x" * 2000) for number in range(2000)))
        receipts = [(await peer.hear()).send_receipt.sequence_id for _ in range(2000)]
        assert receipts == list(range(2000))
        peer.wire.close()


async def test_a_broker_that_is_full_says_so():
    async with LocalBroker(settings={**QUIET, "brokerMaxConnections": 1}) as broker:
        first = await Peer.open(broker.port)
        second = await Peer.open(broker.port, protocol_version=None)
        error = (await second.hear()).error
        assert (error.request_id, error.error) == (2**64 - 1, pb.NotAllowedError)
        assert error.message == "Reached the maximum number of connections"
        assert await second.hung_up_on()
        first.wire.close()
        await first.wire.receive_end()
        third = await Peer.open(broker.port)
        third.wire.close()


async def test_a_stopping_broker_closes_everything_in_order():
    async with LocalBroker(settings=QUIET) as broker:
        peer = await Peer.open(broker.port)
        await peer.produce(1)
        await peer.consume(2)
        peer.wire.send(b"".join(send(1, number, b"x") for number in range(3)))
        await peer.hear()
    rest = [
        pb.BaseCommand.FromString(f[8 : 8 + int.from_bytes(f[4:8], "big")])
        for f in await peer.wire.receive_end()
    ]
    assert [one.send_receipt.sequence_id for one in rest if one.HasField("send_receipt")] == [1, 2]
    assert {one.type for one in rest[2:]} == {
        pb.BaseCommand.CLOSE_PRODUCER,
        pb.BaseCommand.CLOSE_CONSUMER,
    }


class Wire(asyncio.Transport):
    """A transport that is written to and read by hand."""

    def __init__(self):
        super().__init__()
        self.reading = True

    def pause_reading(self):
        self.reading = False

    def resume_reading(self):
        self.reading = True

    def set_write_buffer_limits(self, high=None, low=None): ...

    def write(self, data): ...


@pytest.fixture
async def context():
    """A context for one connection, to which only CONNECT and PING may be said."""
    loop, tasks = asyncio.get_running_loop(), Tasks("test")
    yield ConnectionContext(
        table=CommandTable(
            connect=ConnectHandler(message_size_max=MIB),
            produce=ProduceHandler(None, None, tasks=tasks, producers_max=0),
            consume=ConsumeHandler(None, None, None, consumers_max=0, message_ids_at_once_max=1),
            lookup=LookupHandler(None, None, None, None),
            schema=SchemaHandler(None, None, None),
            topic_watch=TopicWatchHandler(None),
            transaction=None,
            tasks=tasks,
            requests_running_max=1,
        ),
        settings=ConnectionSettings(),
        publish_buffer=PublishBuffer(MIB),
        outbox_budget=OutboxBudget(MIB),
        shared_frames=SharedFrames(loop),
        clock=ManualClock(),
        iteration=LoopIteration(loop),
        tasks=tasks,
        buffer=memoryview(bytearray(SHARED_BUFFER_BYTES)),
        opened=lambda _: True,
        closed=lambda _: None,
    )
    await tasks.close()


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_who_sends_many_commands_is_read_in_small_parts_a_turn_each(context, over):
    wire, connection = Wire(), Connection(context, asyncio.get_running_loop())
    connection.connection_made(wire)

    def take(data):
        """As if it had been read at once."""
        size = len(connection.get_buffer(-1))
        context.buffer[: len(data)] = data
        connection.buffer_updated(len(data))
        return size

    connect = command("connect", client_version="test", protocol_version=21)
    assert take(connect) == SMALL_READ_BYTES, "a newcomer is read in small parts"
    assert take(command("ping") * (COMMANDS_PER_READ_MAX + over)) == SHARED_BUFFER_BYTES
    small = over > 0
    assert wire.reading is not small
    await asyncio.sleep(0)
    assert wire.reading
    assert take(command("ping")) == (SMALL_READ_BYTES if small else SHARED_BUFFER_BYTES)
    assert take(command("ping")) == SHARED_BUFFER_BYTES


async def test_who_published_too_fast_is_read_again_in_small_parts(context):
    wire, connection = Wire(), Connection(context, asyncio.get_running_loop())
    connection.connection_made(wire)

    def take(data):
        context.buffer[: len(data)] = data
        connection.buffer_updated(len(data))
        return len(connection.get_buffer(-1))

    connect = command("connect", client_version="test", protocol_version=21)
    assert take(connect) == SHARED_BUFFER_BYTES
    connection._session.read_later(lambda: 1.0 if context.clock.now() < 1001 else 0.0)
    assert take(command("ping")) == SMALL_READ_BYTES
    assert not wire.reading
    await context.clock.advance(1.0)
    assert wire.reading
    assert take(command("ping")) == SHARED_BUFFER_BYTES
