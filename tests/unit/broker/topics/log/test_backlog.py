"""What a subscription has not acknowledged, counted by reading it."""

from support.clock import ManualClock

from magnetar.broker.topics.log.backlog import BacklogCount, count_backlog
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType


async def subscribed(bench):
    """The cursor of a subscription that nobody is connected to."""
    _, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, permits=0)
    await bench.topic.leave(subscription, consumer)
    return subscription.cursor


async def count(bench, cursor, start=None, *, entries_max=1000, time_s_max=60.0, clock=None):
    return await count_backlog(
        bench.topic.ledger,
        cursor,
        start,
        entries_max=entries_max,
        time_s_max=time_s_max,
        clock=clock or ManualClock(),
    )


async def test_messages_that_are_not_acknowledged_count_those_within_batches_too(bench, make_entry):
    cursor = await subscribed(bench)
    assert await count(bench, cursor) == BacklogCount()
    entries = [make_entry("a"), make_entry("b", batch=4), make_entry("c"), make_entry("d", batch=3)]
    _, _, _, ledger, _ = await bench.publish(*entries, counts=[1, 4, 1, 3])
    at = [Position(ledger, index) for index in range(4)]
    assert await count(bench, cursor) == BacklogCount(4, 9, at[0], at[3])
    cursor.acknowledge_entries(ledger, [0, 2])
    cursor.acknowledge_batch(at[1], [0b1100])
    assert await count(bench, cursor) == BacklogCount(2, 5, at[1], at[3])
    assert await count(bench, cursor, at[2]) == BacklogCount(1, 3, at[3], at[3])
    assert await count(bench, cursor, Position(ledger + 1, 0)) == BacklogCount()
    assert cursor.reader.read_position == at[1]  # Nobody's reading is disturbed.


async def test_so_much_is_read_and_no_more(bench):
    cursor = await subscribed(bench)
    _, _, _, ledger, _ = await bench.publish(*map(str, range(10)))
    found = await count(bench, cursor, entries_max=4)
    assert found == BacklogCount(4, 4, Position(ledger, 0), Position(ledger, 3), aborted=True)
    rest = await count(bench, cursor, Position(ledger, 4), entries_max=6)
    assert rest == BacklogCount(6, 6, Position(ledger, 4), Position(ledger, 9))
    assert (await count(bench, cursor, time_s_max=0.0)).aborted
