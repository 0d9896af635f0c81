"""A subscription says why it does not move."""

from support.clock import ManualClock

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.model.subscriptions import SubscriptionType


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
