"""What all dispatchers have in common."""

import pytest

from magnetar.broker.topics.dispatcher import ack_sets_of
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType


async def test_ack_sets_run_parallel_to_the_run(open_bench, make_entry):
    bench = await open_bench(batch_index_acks=True)
    _, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    _, _, _, ledger_id, _ = await bench.publish("a", make_entry("b", batch=2), counts=[1, 2])
    cursor = subscription.cursor
    cursor.rewind()
    run = cursor.cached(10, 1000)[0]
    assert ack_sets_of(cursor, run) is None
    subscription.acknowledge(consumer, [], [(Position(ledger_id, 1), [0b10])])
    assert ack_sets_of(cursor, run) == [[], [0b10]]


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_a_read_of_consumers_that_left_takes_nothing_from_those_that_come(
    open_bench, make_entry, kind
):
    bench = await open_bench(cache_bytes=0)
    await bench.publish(make_entry("a", key="k"), make_entry("b", key="k"))
    first, subscription, consumer = await bench.consumer(kind)
    await bench.topic.leave(subscription, consumer)
    second, _, _ = await bench.consumer(kind)
    await second.until(lambda e: e.got() == ["a", "b"])
    assert first.got() == []
