"""How a seek and acknowledgements move a subscription's place in the log."""

import asyncio

import pytest

from magnetar.errors import Fenced
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType

EXCLUSIVE = SubscriptionType.EXCLUSIVE
SHARED = SubscriptionType.SHARED
FAILOVER = SubscriptionType.FAILOVER


async def test_a_seek_closes_consumers_first_and_moves_the_place(bench):
    end, subscription, _ = await bench.consumer(EXCLUSIVE)
    await bench.publish("a", "b", "c")
    await end.until(lambda e: len(e.got()) == 3)
    second = end.positions()[1]

    async def target():
        assert end.sent[-1] == ("close_consumer", 1)
        return second

    await subscription.seek(target, [])
    again, _, _ = await bench.consumer(EXCLUSIVE)
    await again.until(lambda e: e.got() == ["b", "c"])


async def test_two_seeks_at_once_are_one_too_many(bench, held_search):
    _, subscription, _ = await bench.consumer(EXCLUSIVE)
    first = asyncio.ensure_future(subscription.seek(held_search, []))
    await held_search.arrived.wait()
    with pytest.raises(Fenced, match="Failed to fence subscription"):
        await subscription.seek(held_search, [])
    held_search.release.set()
    await first


async def test_a_seek_during_which_the_topic_closes_did_not_work(bench, held_search):
    _, subscription, _ = await bench.consumer(EXCLUSIVE)
    seeking = asyncio.ensure_future(bench.topic.seek_to_time(subscription, 0))
    await held_search.arrived.wait()
    await bench.topic.close()
    held_search.release.set()
    with pytest.raises(Fenced, match="closed during the seek"):
        await seeking


async def test_cumulative_acknowledgement_is_not_for_shared_subscriptions(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish("a", "b")
    await end.until(lambda e: len(e.got()) == 2)
    subscription.acknowledge_cumulative(consumer, end.positions()[1])
    assert subscription.cursor.backlog == 2


async def test_a_cumulative_ack_set_acknowledges_up_to_the_batch(open_bench, make_entry):
    bench = await open_bench(batch_index_acks=True)
    end, subscription, consumer = await bench.consumer(EXCLUSIVE)
    await bench.publish("a", make_entry("x", batch=3), counts=[1, 3])
    await end.until(lambda e: len(e.got()) == 2)
    position = end.positions()[1]
    subscription.acknowledge_cumulative(consumer, position, [0b100])
    assert subscription.cursor.mark == end.positions()[0]
    assert subscription.cursor.ack_set(position) == [0b100]


async def test_positions_that_do_not_exist_are_ignored(bench):
    end, subscription, consumer = await bench.consumer(EXCLUSIVE)
    await bench.publish("a")
    await end.until(lambda e: len(e.got()) == 1)
    ledger_id = end.positions()[0][0]
    subscription.acknowledge(
        consumer, [Position(ledger_id, 99), Position(ledger_id + 7, 0), Position(-1, -1)]
    )
    subscription.acknowledge_cumulative(consumer, Position(ledger_id, 99))
    assert subscription.cursor.backlog == 1
    await bench.publish("b")
    await end.until(lambda e: e.got() == ["a", "b"])
    assert subscription.cursor.backlog == 2
