"""What the loop does whatever the strategy: it reads as far as it may, and tries again."""

import pytest
from support.clock import ManualClock

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.subscriptions.dispatch_loop import READ_RETRY_S
from magnetar.errors import CorruptEntry
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.managed_ledger.cursor_reader import CursorReader


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
async def test_nothing_that_the_log_hides_is_delivered(bench, make_entry, kind):
    end, subscription, _ = await bench.consumer(kind)
    _, _, _, ledger_id, first = await bench.publish(make_entry("a", key="k"))
    bench.topic.ledger.show_to(Position(ledger_id, first + 1))
    await bench.publish(*(make_entry(text, key="k") for text in "bcd"))
    await end.until(lambda e: e.got() == ["a", "b"])
    bench.topic.ledger.show_to(None)
    subscription.wake()
    assert end.got() == list("abcd")


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
