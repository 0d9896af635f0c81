"""What a consumer asks for again: refused, or not acknowledged in time."""

import pytest
from support.clock import LoopClock
from support.loop import pass_time

from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.consumers.redeliveries import Redeliveries
from magnetar.client.consumers.redelivery_backoff import RedeliveryBackoff
from magnetar.client.message import Delivery, Message
from magnetar.message.entry import join
from magnetar.message.metadata import build, parse
from magnetar.model.position import ChunkedMessageId, MessageId, Position
from magnetar.model.subscriptions import SubscriptionType

SHARED, EXCLUSIVE = SubscriptionType.SHARED, SubscriptionType.EXCLUSIVE
METADATA = parse(join(build("p", 0, 0), b""))


class Desk:
    """Keeps what is asked for, each with the seconds since the desk was made."""

    def __init__(self, *, acknowledges=True, counted_max=10, **options):
        self.asked = []
        clock = LoopClock()
        self.start = clock.now()
        self.redeliveries = Redeliveries(
            ConsumerConfig(**options),
            clock,
            lambda places: self.asked.append(sorted(place.entry_id for place in places)),
            acknowledges=acknowledges,
            counted_max=counted_max,
        )


def message(entry_id, chunks=(), count=0):
    delivery = Delivery("t", Position(1, entry_id), -1, 0, METADATA, count, redelivered=False)
    delivery.chunks = tuple(Position(1, each) for each in chunks)
    return Message(delivery, -1, b"", b"")


async def test_what_is_refused_is_asked_for_after_the_delay():
    desk = Desk(negative_ack_delay_s=60)
    desk.redeliveries.refuse([message(1), MessageId(1, 2)])
    await pass_time(59.9)
    assert desk.asked == []
    await pass_time(1.1)
    assert desk.asked == [[1, 2]]
    desk.redeliveries.refuse([message(1)])
    await pass_time(61)
    assert desk.asked == [[1, 2], [1]]


async def test_what_is_due_within_one_tick_goes_together():
    desk = Desk(negative_ack_delay_s=0.1)
    for entry_id in range(100):
        desk.redeliveries.refuse([message(entry_id)])
        await pass_time(0.01)
    await pass_time(1)
    assert 20 < len(desk.asked) < 50  # A second has 30 ticks of 33 ms.
    assert sorted(entry_id for asked in desk.asked for entry_id in asked) == list(range(100))


async def test_every_chunk_of_a_message_is_asked_for():
    desk = Desk(negative_ack_delay_s=1)
    chunks = Position(1, 4), Position(1, 6)
    named = ChunkedMessageId.of(1, 6, -1, first_chunk=chunks[0], chunks=chunks)
    desk.redeliveries.refuse([message(3, chunks=(1, 3)), named])
    await pass_time(1.4)
    assert desk.asked == [[1, 3, 4, 6]]


async def test_what_is_not_acknowledged_in_time_is_asked_for():
    desk = Desk(ack_timeout_s=30, negative_ack_delay_s=60)
    desk.redeliveries.taken(list(map(message, range(4))))
    desk.redeliveries.wheel.discard(Position(1, 0))  # Acknowledged.
    desk.redeliveries.refuse([message(1)])
    await pass_time(29.9)
    assert desk.asked == []
    await pass_time(1.1)
    assert desk.asked == [[2, 3]]
    await pass_time(30)
    assert desk.asked == [[2, 3], [1]]


async def test_the_rest_of_a_batch_does_not_put_off_what_was_refused_of_it():
    desk = Desk(ack_timeout_s=30, negative_ack_delay_s=1)
    desk.redeliveries.taken([message(1)])
    desk.redeliveries.refuse([message(1)])
    desk.redeliveries.taken([message(1)])
    await pass_time(2)
    assert desk.asked == [[1]]


async def test_what_was_asked_for_is_not_asked_for_again():
    desk = Desk(negative_ack_delay_s=1)
    desk.redeliveries.refuse([message(1), message(2)])
    desk.redeliveries.asked([Position(1, 1)])
    await pass_time(2)
    assert desk.asked == [[2]]


@pytest.mark.parametrize("kind", [SHARED, EXCLUSIVE])
async def test_each_refusal_waits_longer(kind):
    desk = Desk(type=kind, negative_ack_backoff=RedeliveryBackoff())
    for count, wait_s in enumerate([1, 2, 4, 8, 16, 32, 60, 60]):
        # Only Shared consumers are told the count.
        desk.redeliveries.refuse([message(1, count=count if kind is SHARED else 0)])
        await pass_time(wait_s - 0.01)
        assert len(desk.asked) == count
        await pass_time(0.35)
        assert len(desk.asked) == count + 1


@pytest.mark.parametrize("kind", [SHARED, EXCLUSIVE])
async def test_each_timeout_waits_longer(kind):
    desk = Desk(type=kind, ack_timeout_s=10, ack_timeout_backoff=RedeliveryBackoff())
    for count, wait_s in enumerate([11, 12, 14, 18, 26, 42, 70, 70]):
        desk.redeliveries.taken([message(1, count=count if kind is SHARED else 0)])
        await pass_time(wait_s - 0.01)
        assert len(desk.asked) == count
        await pass_time(1.01)
        assert len(desk.asked) == count + 1


async def test_a_count_that_finds_no_room_begins_again():
    desk = Desk(counted_max=1, negative_ack_backoff=RedeliveryBackoff(multiplier=30))
    desk.redeliveries.refuse([message(1)])
    await pass_time(2)
    desk.redeliveries.refuse([message(2)])  # The only one that is counted from now on.
    await pass_time(2)
    desk.redeliveries.refuse([message(1), message(2)])
    await pass_time(2)
    assert desk.asked == [[1], [2], [1]]
    await pass_time(30)
    assert desk.asked == [[1], [2], [1], [2]]


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
    assert not desk.redeliveries.times_out
    desk.redeliveries.refuse([message(2)])
    await pass_time(100)
    assert desk.asked == []
