"""What a consumer asks for again: refused, or not acknowledged in time."""

from support.clock import LoopClock
from support.loop import pass_time

from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.consumers.redeliveries import Redeliveries
from magnetar.client.message import ChunkedMessageId, Delivery, Message
from magnetar.message.entry import join
from magnetar.message.metadata import build, parse
from magnetar.model.position import MessageId, Position

METADATA = parse(join(build("p", 0, 0), b""))


class Desk:
    def __init__(self, *, acknowledges=True, **options):
        self.asked = []
        self.redeliveries = Redeliveries(
            ConsumerConfig(**options),
            LoopClock(),
            lambda positions: self.asked.append([place.entry_id for place in positions]),
            acknowledges=acknowledges,
        )


def message(entry_id, chunks=()):
    delivery = Delivery("t", Position(1, entry_id), -1, 0, METADATA, 0, redelivered=False)
    delivery.chunks = tuple(Position(1, each) for each in chunks)
    return Message(delivery, -1, b"", b"")


async def test_what_is_refused_is_asked_for_after_the_delay():
    desk = Desk(negative_ack_delay_s=60)
    desk.redeliveries.refuse([message(1), MessageId(1, 2)])
    await pass_time(59)
    assert desk.asked == []
    await pass_time(1)
    assert desk.asked == [[1, 2]]
    desk.redeliveries.refuse([message(1)])
    await pass_time(60)
    assert desk.asked == [[1, 2], [1]]


async def test_what_is_due_soon_after_goes_together():
    desk = Desk(negative_ack_delay_s=60)
    for entry_id in range(5):
        desk.redeliveries.refuse([message(entry_id)])
        await pass_time(4)
    await pass_time(60)
    assert desk.asked == [[0], [1, 2, 3, 4]]


async def test_every_chunk_of_a_message_is_asked_for():
    desk = Desk(negative_ack_delay_s=1)
    chunks = Position(1, 4), Position(1, 6)
    named = ChunkedMessageId.of(1, 6, -1, first_chunk=chunks[0], chunks=chunks)
    desk.redeliveries.refuse([message(3, chunks=(1, 3)), named])
    await pass_time(1)
    assert desk.asked == [[1, 3, 4, 6]]


async def test_what_is_not_acknowledged_in_time_is_asked_for():
    desk = Desk(ack_timeout_s=30, negative_ack_delay_s=60)
    desk.redeliveries.taken(map(message, range(4)))
    desk.redeliveries.unacked.discard(Position(1, 0))  # Acknowledged.
    desk.redeliveries.refuse([message(1)])
    await pass_time(30)
    assert desk.asked == [[2, 3]]
    await pass_time(30)
    assert desk.asked == [[2, 3], [1]]


async def test_nothing_is_asked_for_that_comes_again_anyway():
    desk = Desk(ack_timeout_s=30)
    desk.redeliveries.taken([message(1)])
    desk.redeliveries.refuse([message(2)])
    desk.redeliveries.clear()
    await pass_time(100)
    desk.redeliveries.taken([message(1)])
    desk.redeliveries.close()
    await pass_time(100)
    assert desk.asked == []


async def test_a_reader_asks_for_nothing():
    desk = Desk(acknowledges=False, ack_timeout_s=30)
    assert desk.redeliveries.unacked is None
    desk.redeliveries.taken([message(1)])
    desk.redeliveries.refuse([message(2)])
    await pass_time(100)
    assert desk.asked == []
