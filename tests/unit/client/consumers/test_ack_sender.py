import asyncio

import pytest
from support.loop import pass_time, until

from magnetar.client.consumers.ack_receipts import ACKNOWLEDGED, all_of
from magnetar.client.consumers.ack_sender import IDS_MAX, AckSender
from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import Delivery, Message
from magnetar.clock import SystemClock
from magnetar.errors import NotAllowed, TimedOut
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
        self.sender = AckSender(
            5,
            ConsumerConfig(**{"ack_group_time_s": 60.0, **options}),
            SystemClock(),
            topic="t",
            timeout_s=5.0,
            kept=kept,
        )
        self.sender.attached(self)

    def write(self, data):
        for frame in FrameDecoder().feed(data):
            assert frame.command.type == BaseCommand.ACK
            self.acks.append(frame.command.ack)

    def post(self, build):
        self.write(build(len(self.acks)))

    def answer(self, *request_ids, error=None):
        for request_id in request_ids:
            self.sender.answered(request_id, error)

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
    desk.sender.detached(lost=True)
    desk.sender.acknowledge(batch(1, 0))
    desk.sender.send()
    assert desk.entries == []
    desk.sender.attached(desk)
    assert desk.entries == [[1]]


async def test_a_rejected_entry_is_told_with_the_reason(desk):
    desk.sender.reject(Position(7, 1), 2)
    assert desk.entries == [[1]]
    assert desk.acks[0].validation_error == 2
    desk.sender.detached(lost=True)
    desk.sender.reject(Position(7, 2), 2)
    assert len(desk.acks) == 1


async def test_closed_it_sends_nothing_by_itself():
    desk = Desk(ack_group_time_s=0.01)
    desk.sender.acknowledge(batch(1, 0))
    desk.sender.close(NotAllowed("closed"))
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


async def test_no_command_grows_too_large(desk):
    desk.sender.acknowledge([MessageId(7, entry) for entry in range(2 * IDS_MAX + 1)])
    desk.sender.send()
    assert [len(entries) for entries in desk.entries] == [IDS_MAX, IDS_MAX, 1]


async def test_without_receipts_nothing_is_waited_for_and_nothing_is_made(desk):
    [message] = batch(1, 0)
    for awaitable in (
        desk.sender.acknowledge([message]),
        desk.sender.acknowledge_one(message),
        desk.sender.acknowledge_cumulative(message),
        Desk(kept=False, ack_receipts=True).sender.acknowledge_one(message),
    ):
        assert awaitable is ACKNOWLEDGED
        await awaitable
    desk.sender.send()
    assert not desk.acks[0].HasField("request_id")


async def test_waiting_for_the_answer_sends_the_group():
    desk = Desk(ack_receipts=True)
    first = desk.sender.acknowledge_one(batch(1, 0)[0])
    assert desk.sender.acknowledge(batch(2, 0)) is first
    waiting = asyncio.ensure_future(first)
    await until(lambda: desk.acks)
    assert (desk.entries, desk.acks[0].request_id) == ([[1, 2]], 0)
    assert not waiting.done()
    desk.answer(0)
    await waiting
    await first  # Again, at once.


async def test_what_is_in_several_commands_is_answered_with_the_last():
    desk = Desk(ack_receipts=True)
    desk.sender.acknowledge_one(batch(9, 0)[0])
    receipt = desk.sender.acknowledge_cumulative(batch(3, 0)[0])
    desk.sender.send()
    assert desk.entries == [[9], [3]]
    desk.answer(1)
    assert not receipt.answer.done()
    desk.answer(0)
    await receipt


async def test_the_brokers_error_is_raised_and_logged(caplog):
    desk = Desk(ack_receipts=True)
    refused = desk.sender.acknowledge(batch(1, 0))
    desk.sender.send()
    fine = desk.sender.acknowledge(batch(2, 0))
    desk.sender.send()
    desk.answer(0, error=NotAllowed("not you"))
    desk.answer(1)
    with pytest.raises(NotAllowed, match="not you"):
        await refused
    await fine
    assert "consumer.not_acknowledged topic=t error=not you" in caplog.text


@pytest.mark.parametrize("lost", [True, False])
async def test_what_was_not_answered_is_sent_again_with_what_came_since(lost):
    desk = Desk(ack_receipts=True, batch_index_ack=True)
    partly = batch(2, 2)[0]
    receipts = [desk.sender.acknowledge([*batch(1, 0), partly])]
    desk.sender.send()
    receipts.append(desk.sender.acknowledge_cumulative(batch(0, 0)[0]))
    desk.sender.send()
    desk.sender.detached(lost=lost)
    receipts.append(desk.sender.acknowledge(batch(3, 0)))
    desk.answer(0, 1)  # It comes too late.
    desk.sender.attached(desk)
    desk.sender.send()
    assert desk.entries == [[1, 2], [0], [1, 3, 2], [0]]
    assert list(desk.acks[2].message_id[2].ack_set) == [0b10]
    desk.answer(2)
    assert not any(receipt.answer.done() for receipt in receipts)
    desk.answer(3)
    await all_of(receipts)


async def test_with_too_many_unanswered_commands_the_next_waits():
    desk = Desk(ack_receipts=True, ack_group_time_s=0.0)
    desk.sender._receipts._commands_max = 2
    for entry in range(4):
        last = desk.sender.acknowledge(batch(entry, 0))
    assert desk.entries == [[0], [1]]
    desk.answer(0)
    assert desk.entries == [[0], [1], [2, 3]]
    desk.answer(2)
    await last


async def test_an_answer_that_does_not_come_times_out():
    desk = Desk(ack_receipts=True)
    waiting = asyncio.ensure_future(desk.sender.acknowledge_one(batch(1, 0)[0]))
    closing = asyncio.ensure_future(desk.sender.settled())
    await until(lambda: desk.acks)
    await pass_time(5.1)
    with pytest.raises(TimedOut, match="not answered within 5 s"):
        await waiting
    await closing


async def test_cancelling_one_who_waits_does_not_cancel_the_others():
    desk = Desk(ack_receipts=True)
    receipt = desk.sender.acknowledge_one(batch(1, 0)[0])
    first, second = asyncio.ensure_future(receipt), asyncio.ensure_future(receipt)
    await until(lambda: desk.acks)
    first.cancel()
    await asyncio.wait([first])
    desk.answer(0)
    await second


async def test_closing_and_seeking_end_what_is_waited_for():
    desk = Desk(ack_receipts=True)
    sent = desk.sender.acknowledge(batch(1, 0))
    desk.sender.send()
    unsent = desk.sender.acknowledge(batch(2, 0))
    desk.sender.clear()
    await asyncio.gather(sent, unsent)
    closed = desk.sender.acknowledge(batch(3, 0))
    desk.sender.close(NotAllowed("closed"))
    with pytest.raises(NotAllowed, match="closed"):
        await closed
    with pytest.raises(NotAllowed, match="closed"):
        await desk.sender.acknowledge(batch(4, 0))
