"""How much may go out: by what is unacknowledged, and by rates where they hold."""

import pytest
from support.clock import ManualClock

from magnetar.model.policies import Policies
from magnetar.model.policy_values import DispatchRate
from magnetar.model.subscriptions import SubscriptionType

SHARED = SubscriptionType.SHARED


async def test_reading_stops_at_the_subscriptions_unacked_limit(open_bench):
    bench = await open_bench(unacked_per_subscription_max=4)
    end, subscription, consumer = await bench.consumer(SHARED, permits=4)
    await bench.publish(*"abcd")
    await end.until(lambda e: len(e.got()) == 4)
    subscription.flow(consumer, 4)
    await bench.publish("e")
    assert end.got() == list("abcd")
    subscription.acknowledge(consumer, end.positions()[:3])
    await end.until(lambda e: e.got() == list("abcde"))


@pytest.mark.parametrize("limit", ["unacked_per_consumer_max", "unacked_per_subscription_max"])
async def test_a_limit_of_one_message_lets_them_through_one_by_one(open_bench, limit):
    bench = await open_bench(**{limit: 1})
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish("a")
    await bench.publish("b")
    await end.until(lambda e: e.got() == ["a"])
    subscription.acknowledge(consumer, [end.positions()[0]])
    await end.until(lambda e: e.got() == ["a", "b"])


@pytest.mark.parametrize("limit", ["unacked_per_consumer_max", "unacked_per_subscription_max"])
async def test_another_unacked_limit_acts_on_who_is_connected(open_bench, limit):
    bench = await open_bench()
    end, *_ = await bench.consumer(SHARED, permits=10)
    bench.topic.apply(Policies(**{limit: 2}))
    for text in "abcdef":
        await bench.publish(text)
    assert end.got() == ["a", "b"]
    bench.topic.apply(Policies())
    assert end.got() == list("abcdef")


async def test_a_subscription_without_a_backlog_may_be_spared(open_bench, monkeypatch):
    clock = ManualClock()
    monkeypatch.setattr(
        "magnetar.broker.topics.subscriptions.dispatch_capacity.CAUGHT_UP_ENTRIES_MAX", 10
    )
    bench = await open_bench(clock=clock, dispatch_rate=DispatchRate(2), throttle_caught_up=False)
    end, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish(*"abcdefghi")
    assert len(end.got()) == 9
    await bench.publish(*"abcdefghi")
    assert len(end.got()) == 11
    subscription.acknowledge_cumulative(consumer, end.positions()[-1])
    await clock.advance(1)
    assert len(end.got()) == 18, "the backlog is short again"
