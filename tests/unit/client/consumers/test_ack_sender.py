import pytest
from support.loop import pass_time

from magnetar.client.consumers.ack_sender import AckSender
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import Delivery, Message
from magnetar.clock import SystemClock
from magnetar.message.entry import join
from magnetar.message.metadata import build, parse
from magnetar.model.position import MessageId, Position
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import FrameDecoder

METADATA = parse(join(build("p", 0, 0), b""))


class Desk:
    """Stands in for the connection: keeps what is written, as commands."""

    def __init__(self, *, kept=True, **options):
        self.acks = []
        self.here = True
        self.sender = AckSender(
            5,
            ConsumerConfig(**{"ack_group_time_s": 60.0, **options}),
            SystemClock(),
            lambda: self if self.here else None,
            kept=kept,
        )

    def write(self, data):
        for frame in FrameDecoder().feed(data):
            assert frame.command.type == BaseCommand.ACK
            self.acks.append(frame.command.ack)

    @property
    def entries(self):
        return [[place.entryId for place in ack.message_id] for ack in self.acks]


def batch(entry, size):
    delivery = Delivery("t", Position(7, entry), -1, size, METADATA, 0, redelivered=False)
    return [Message(delivery, index if size else -1, b"", b"") for index in range(max(size, 1))]


@pytest.fixture
async def desk():
    return Desk()


async def test_acknowledgements_leave_together(desk):
    desk.sender.acknowledge([*batch(1, 3), *batch(2, 0), *batch(3, 2)[:1]])
    desk.sender.acknowledge_one(MessageId(7, 4))
    assert desk.acks == []
    desk.sender.send()
    assert desk.entries == [[1, 2, 4]]
    assert desk.acks[0].consumer_id == 5
    desk.sender.send()
    assert len(desk.acks) == 1


async def test_messages_of_a_batch_in_any_order_are_the_whole_entry(desk):
    first, second = batch(1, 3), batch(2, 2)
    desk.sender.acknowledge([first[2], first[0], second[1], second[0], first[1]])
    desk.sender.send()
    assert desk.entries == [[2, 1]]


async def test_the_same_message_twice_is_not_two(desk):
    first = batch(1, 3)
    desk.sender.acknowledge([first[0], first[0], first[2]])
    desk.sender.send()
    assert desk.acks == []
    desk.sender.acknowledge_one(first[1])
    desk.sender.send()
    assert desk.entries == [[1]]


async def test_ids_alone_do(desk):
    desk.sender.acknowledge([MessageId(7, 1, -1, 0, 2), batch(2, 0)[0], MessageId(7, 1, -1, 1, 2)])
    desk.sender.send()
    assert desk.entries == [[2, 1]]


async def test_every_chunk_of_a_message_is_acknowledged(desk):
    [message] = batch(9, 0)
    message.delivery.chunks = (Position(7, 3), Position(7, 5), Position(7, 9))
    desk.sender.acknowledge_one(message)
    desk.sender.send()
    assert desk.entries == [[3, 5, 9]]


async def test_the_id_of_a_chunked_message_stands_for_all_its_chunks(desk):
    [message] = batch(9, 0)
    message.delivery.chunks = (Position(7, 3), Position(7, 5), Position(7, 9))
    desk.sender.acknowledge_one(message.message_id)
    desk.sender.send()
    assert desk.entries == [[3, 5, 9]]


async def test_they_leave_by_themselves_after_a_while():
    desk = Desk(ack_group_time_s=0.01)
    desk.sender.acknowledge(batch(1, 0))
    assert desk.acks == []
    await pass_time(0.01)
    assert desk.entries == [[1]]


async def test_without_a_group_time_they_leave_at_once():
    desk = Desk(ack_group_time_s=0.0)
    desk.sender.acknowledge(batch(1, 0))
    desk.sender.acknowledge_cumulative(batch(2, 0)[0])
    assert desk.entries == [[1], [2]]


async def test_a_full_group_leaves_at_once():
    desk = Desk(ack_group_max=2)
    desk.sender.acknowledge(batch(1, 0))
    assert desk.acks == []
    desk.sender.acknowledge(batch(2, 0))
    assert desk.entries == [[1, 2]]


async def test_cumulative_ones_are_told_as_such(desk):
    desk.sender.acknowledge_cumulative(batch(1, 0)[0])
    desk.sender.acknowledge_cumulative(MessageId(7, 4))
    desk.sender.send()
    assert desk.entries == [[4]]
    assert desk.acks[0].ack_type == 1  # Cumulative.


async def test_with_batch_index_the_broker_is_told_of_single_messages():
    desk = Desk(batch_index_ack=True)
    first, second = batch(1, 3), batch(2, 3)
    desk.sender.acknowledge([first[0]])
    desk.sender.send()
    desk.sender.acknowledge_cumulative(second[1])
    desk.sender.send()
    assert [list(ack.message_id[0].ack_set) for ack in desk.acks] == [[0b110], [0b100]]


async def test_without_a_connection_they_wait(desk):
    desk.here = False
    desk.sender.acknowledge(batch(1, 0))
    desk.sender.send()
    desk.here = True
    desk.sender.send_to(desk)
    assert desk.entries == [[1]]


async def test_a_rejected_entry_is_told_with_the_reason(desk):
    desk.sender.reject(Position(7, 1), 2)
    assert desk.entries == [[1]]
    assert desk.acks[0].validation_error == 2
    desk.here = False
    desk.sender.reject(Position(7, 2), 2)
    assert len(desk.acks) == 1


async def test_closed_it_sends_nothing_by_itself():
    desk = Desk(ack_group_time_s=0.01)
    desk.sender.acknowledge(batch(1, 0))
    desk.sender.close()
    await pass_time(60)
    assert desk.acks == []


async def test_where_nothing_is_kept_nothing_is_acknowledged():
    desk = Desk(kept=False, ack_group_time_s=0.0)
    [message] = batch(1, 0)
    desk.sender.acknowledge([message])
    desk.sender.acknowledge_one(message)
    desk.sender.acknowledge_cumulative(message)
    desk.sender.reject(Position(7, 1), 2)
    assert not desk.acks
    assert not desk.sender.state.covers(Position(7, 1))
