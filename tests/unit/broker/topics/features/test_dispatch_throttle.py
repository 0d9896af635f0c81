"""Limits on deliveries: of a subscription, of all of a topic, and of all of a broker."""

import pytest
from support.clock import ManualClock
from support.loop import until_idle
from unit.broker.topics.conftest import entry

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DispatchRate, SubscriptionPolicies
from magnetar.model.subscriptions import SubscriptionType

EXCLUSIVE, SHARED = SubscriptionType.EXCLUSIVE, SubscriptionType.SHARED
TYPES = [EXCLUSIVE, SHARED, SubscriptionType.KEY_SHARED]


@pytest.fixture
def clock():
    return ManualClock()


async def publish(bench, count):
    await bench.publish(*[f"m{number}" for number in range(count)])


@pytest.mark.parametrize("kind", TYPES, ids=str)
async def test_a_subscription_gets_a_period_s_worth_and_then_steadily_more(open_bench, clock, kind):
    bench = await open_bench(clock=clock, subscription_dispatch_rate=DispatchRate(10, period_s=2))
    end, subscription, _ = await bench.consumer(kind)
    await publish(bench, 30)
    assert len(end.got()) == 10
    assert subscription.blocked_reason() == Blocked(Why.RATE, limit="subscription")
    assert clock.sleepers == 1
    await clock.advance(1.01)
    assert len(end.got()) == 15
    await clock.advance(10)
    assert end.got() == [f"m{number}" for number in range(30)]
    assert subscription.throttle.waits["subscription", "Msg"] > 0


@pytest.mark.parametrize("kind", TYPES, ids=str)
async def test_the_last_message_of_a_limit_goes_and_the_next_waits(open_bench, clock, kind):
    bench = await open_bench(clock=clock, dispatch_rate=DispatchRate(1, period_s=1))
    end, subscription, _ = await bench.consumer(kind)
    await publish(bench, 1)
    assert end.got() == ["m0"]
    assert not subscription.throttle.waits
    await publish(bench, 1)
    assert end.got() == ["m0"]
    assert subscription.throttle.waits == {("topic", "Msg"): 1}
    await clock.advance(1.01)
    assert end.got() == ["m0", "m0"]


async def test_the_last_byte_of_a_limit_goes_and_the_next_waits(open_bench, clock):
    size_bytes = len(entry("m0"))
    rate = DispatchRate(size_bytes=size_bytes + 1, period_s=1)
    bench = await open_bench(clock=clock, dispatch_rate=rate)
    end, subscription, _ = await bench.consumer(SHARED)
    await publish(bench, 1)
    await publish(bench, 1)
    assert end.got() == ["m0", "m0"], "one byte was left"
    await publish(bench, 1)
    assert subscription.throttle.waits == {("topic", "Bytes"): 1}
    await clock.advance(1 + 2 / rate.size_bytes)
    assert len(end.got()) == 3


async def test_where_no_byte_is_left_it_waits(open_bench, clock):
    rate = DispatchRate(size_bytes=len(entry("m0")), period_s=1)
    bench = await open_bench(clock=clock, dispatch_rate=rate)
    end, _, _ = await bench.consumer(SHARED)
    await publish(bench, 1)
    await publish(bench, 1)
    assert end.got() == ["m0"]


async def test_bytes_are_limited_too(open_bench, clock):
    bench = await open_bench(clock=clock, dispatch_rate=DispatchRate(size_bytes=1000, period_s=1))
    end, subscription, _ = await bench.consumer(EXCLUSIVE)
    await bench.publish(*["x" * 400] * 6)
    assert len(end.got()) in (2, 3), "what is read goes as a whole"
    assert subscription.blocked_reason() == Blocked(Why.RATE, limit="topic")
    assert subscription.throttle.waits == {("topic", "Bytes"): 1}
    await clock.advance(5)
    assert len(end.got()) == 6


async def test_batches_count_as_their_messages(open_bench, clock):
    bench = await open_bench(clock=clock, dispatch_rate=DispatchRate(10))
    end, _, _ = await bench.consumer(SHARED)
    await bench.publish(*[entry("b", batch=6)] * 20, counts=[6] * 20)
    await clock.advance(10)
    assert len(end.got()) == 19, "114 messages: what is there at first, and 100 in 10 seconds"


async def test_what_comes_again_counts_too(open_bench, clock):
    bench = await open_bench(clock=clock, dispatch_rate=DispatchRate(4))
    end, subscription, consumer = await bench.consumer(SHARED)
    await publish(bench, 4)
    subscription.redeliver(consumer, None)
    await until_idle()
    assert len(end.got()) == 4
    await clock.advance(1.05)
    assert len(end.got()) == 8


async def test_the_subscriptions_of_a_topic_share_its_limit(open_bench, clock):
    bench = await open_bench(clock=clock, dispatch_rate=DispatchRate(10))
    ends = [(await bench.consumer(SHARED, subscription=name))[0] for name in "ab"]
    await publish(bench, 30)
    assert sum(len(end.got()) for end in ends) == 10
    await clock.advance(1.03)
    assert sum(len(end.got()) for end in ends) in (20, 21)


async def test_one_subscription_can_have_its_own_limit(open_bench, clock):
    own = {"a": SubscriptionPolicies(DispatchRate(3))}
    bench = await open_bench(
        clock=clock, subscription_dispatch_rate=DispatchRate(5), of_subscriptions=own
    )
    ends = [(await bench.consumer(SHARED, subscription=name))[0] for name in "ab"]
    await publish(bench, 30)
    assert [len(end.got()) for end in ends] == [3, 5]


async def test_limits_are_set_changed_and_removed_while_a_consumer_waits(open_bench, clock):
    bench = await open_bench(clock=clock)
    end, _, _ = await bench.consumer(SHARED)
    await publish(bench, 5)
    bench.topic.apply(Policies(dispatch_rate=DispatchRate(2)))
    await publish(bench, 10)
    assert len(end.got()) == 7
    bench.topic.apply(Policies(subscription_dispatch_rate=DispatchRate(4)))
    assert len(end.got()) == 11
    bench.topic.apply(Policies())
    assert len(end.got()) == 15


async def test_a_new_consumer_is_woken_although_the_last_one_left_while_it_waited(
    open_bench, clock
):
    bench = await open_bench(clock=clock, dispatch_rate=DispatchRate(2))
    _, subscription, consumer = await bench.consumer(SHARED)
    await publish(bench, 4)
    await bench.topic.leave(subscription, consumer)
    assert not clock.sleepers
    end, _, _ = await bench.consumer(SHARED, "other")
    await clock.advance(3)
    assert len(end.got()) == 4


async def test_a_limit_above_what_is_published_lets_the_backlog_go_at_its_own_pace(
    open_bench, clock
):
    rate = DispatchRate(10, relative_to_publish_rate=True)
    bench = await open_bench(clock=clock, dispatch_rate=rate)
    await publish(bench, 2000)
    clock.move(2000)  # What was published until now is a message in a second.
    end, _, _ = await bench.consumer(EXCLUSIVE, permits=10_000)
    await end.until(lambda end: end.got())
    assert len(end.got()) in (10, 11)
    for _ in range(5):
        await publish(bench, 100)
        await clock.advance(1)
    assert len(end.got()) == pytest.approx(5 * 110, abs=110)
    await clock.advance(2)
    before = len(end.got())
    await clock.advance(5)
    assert len(end.got()) - before == pytest.approx(50, abs=5)
