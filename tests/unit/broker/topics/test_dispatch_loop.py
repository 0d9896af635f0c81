"""What the loop does whatever the strategy: reads, retries, limits, and reasons."""

import pytest
from support.clock import ManualClock

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.dispatch_loop import READ_RETRY_S, ack_sets_of
from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.managed_ledger.cursor_reader import CursorReader


async def test_ack_sets_run_parallel_to_the_run(open_bench, make_entry):
    bench = await open_bench(batch_index_acks=True)
    _, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    _, _, _, ledger_id, _ = await bench.publish("a", make_entry("b", batch=2), counts=[1, 2])
    cursor = subscription.cursor
    cursor.reader.rewind()
    run = cursor.reader.cached(10, 1000)[0]
    assert ack_sets_of(cursor, run) is None
    subscription.acknowledge(consumer, [], [(Position(ledger_id, 1), [0b10])])
    assert ack_sets_of(cursor, run) == [[], [0b10]]
    assert ack_sets_of(cursor, run, [1]) == [[0b10]]


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


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_nothing_behind_the_read_limit_is_delivered(bench, make_entry, kind):
    end, subscription, _ = await bench.consumer(kind)
    _, _, _, ledger_id, first = await bench.publish(make_entry("a", key="k"))
    subscription.cursor.reader.read_limit = Position(ledger_id, first + 1)
    await bench.publish(*(make_entry(text, key="k") for text in "bcd"))
    await end.until(lambda e: e.got() == ["a", "b"])
    assert subscription.blocked_reason() == Blocked(Why.NOT_COMMITTED)
    subscription.cursor.reader.read_limit = None
    subscription.wake()
    assert end.got() == list("abcd")


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_an_entry_that_nobody_can_read_is_acknowledged_whoever_is_served(bench, kind):
    end, subscription, _ = await bench.consumer(kind)
    await bench.publish(b"\0\0\0\x05\xff\xff\xff\xff\xffpayload", "b", counts=[7, 1])
    await end.until(lambda e: e.got() == ["b"])
    assert subscription.cursor.backlog == 1


async def test_a_subscription_says_why_nothing_is_delivered(open_bench):
    clock = ManualClock()
    bench = await open_bench(unacked_per_subscription_max=2, clock=clock)
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, "a", permits=1)
    assert subscription.blocked_reason() == Blocked(Why.NOTHING_TO_READ)
    await bench.publish(*"abc")
    assert subscription.blocked_reason() == Blocked(Why.NO_PERMITS, "a")
    end.writable = False
    subscription.flow(consumer, 9)
    assert subscription.blocked_reason() == Blocked(Why.NOT_WRITABLE, "a")
    end.reads_again()
    await end.until(lambda e: len(e.got()) == 3)
    await clock.advance(7.0)
    assert subscription.blocked_reason() == Blocked(Why.AWAITED, "a", held_s=7.0)
    await bench.publish("d")
    assert subscription.blocked_reason() == Blocked(Why.SUBSCRIPTION_UNACKED)
    await bench.topic.leave(subscription, consumer)
    assert subscription.blocked_reason() == Blocked(Why.NO_CONSUMER)


async def test_what_is_read_from_disk_is_the_reason_meanwhile(open_bench):
    bench = await open_bench(cache_bytes=0)
    await bench.publish("a")
    end, subscription, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    assert subscription.blocked_reason() == Blocked(Why.READING)
    await end.until(lambda e: e.got() == ["a"])


async def test_what_cannot_be_read_is_tried_again(open_bench, monkeypatch):
    clock = ManualClock()
    bench = await open_bench(cache_bytes=0, clock=clock)
    await bench.publish("a")
    end, subscription, _ = await bench.consumer(SubscriptionType.SHARED, permits=0)
    read = CursorReader.read

    async def fails(*_):
        raise CorruptEntry("a damaged block")

    monkeypatch.setattr(CursorReader, "read", fails)
    subscription.flow(subscription.consumers[0], 10)
    await clock.advance(1.0)
    assert subscription.blocked_reason() == Blocked(Why.READ_FAILED)
    monkeypatch.setattr(CursorReader, "read", read)
    await clock.advance(READ_RETRY_S)
    await end.until(lambda e: e.got() == ["a"])
