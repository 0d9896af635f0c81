"""Messages expire, backlogs exceed quotas, and what nobody uses goes."""

from dataclasses import replace

import pytest
from support.clock import ManualClock

from magnetar.broker.topics.log.backlog_limits import LEFT_BY_EVICTION
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import BacklogQuotaExceeded, BacklogQuotaHeld
from magnetar.model.policy_values import (
    BacklogQuota,
    BacklogQuotaPolicy,
    InactiveTopicDeleteMode,
    InactiveTopicPolicies,
    RetentionPolicies,
)
from magnetar.model.position import EARLIEST
from magnetar.model.subscriptions import SubscriptionType

EVICTION, EXCEPTION, HOLD = (
    BacklogQuotaPolicy.EVICTION,
    BacklogQuotaPolicy.EXCEPTION,
    BacklogQuotaPolicy.HOLD,
)
EXCLUSIVE = SubscriptionType.EXCLUSIVE


@pytest.fixture
def clock():
    return ManualClock()


async def publish_over_time(bench, make_entry, clock, *, count=10, every_s=1):
    for number in range(count):
        await bench.publish(make_entry(str(number), publish_time=clock.wall_ms()))
        clock.move(every_s)


async def test_what_is_older_than_the_ttl_counts_as_acknowledged(open_bench, make_entry, clock):
    bench = await open_bench(clock=clock, message_ttl_s=5)
    for name in ("a", "b"):
        await bench.topic.create_subscription(name, EARLIEST)
    await publish_over_time(bench, make_entry, clock)
    await bench.topic.upkeep.expire_old()
    stats = {name: (each.backlog, each.expired_count) for name, each in
             bench.topic.subscriptions.items()}  # fmt: skip
    assert stats == {"a": (5, 5), "b": (5, 5)}
    await bench.topic.upkeep.expire_old()
    assert bench.topic.subscriptions["a"].expired_count == 5


async def test_without_a_ttl_nothing_expires(open_bench, make_entry, clock):
    bench = await open_bench(clock=clock)
    subscription = await bench.topic.create_subscription("a", EARLIEST)
    await publish_over_time(bench, make_entry, clock)
    clock.move(10**6)
    await bench.topic.upkeep.expire_old()
    assert subscription.backlog == 10


async def test_a_consumer_gets_what_has_not_expired(open_bench, make_entry, clock):
    bench = await open_bench(clock=clock, message_ttl_s=3)
    await bench.topic.create_subscription("s", EARLIEST)
    await publish_over_time(bench, make_entry, clock)
    await bench.topic.upkeep.expire_old()
    end, _, _ = await bench.consumer(EXCLUSIVE)
    await end.until(lambda e: e.got() == ["7", "8", "9"])


@pytest.mark.parametrize(
    ("policy", "error"), [(HOLD, BacklogQuotaHeld), (EXCEPTION, BacklogQuotaExceeded)]
)
async def test_producers_are_sent_away_until_the_backlog_is_smaller(
    open_bench, make_entry, client_end, policy, error
):
    quota = BacklogQuota(1000, -1, policy)
    bench = await open_bench(backlog_quota_size=quota)
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    end = client_end()
    await bench.topic.attach_producer(end, 7, "p")
    await bench.topic.upkeep.check_backlog()
    assert not end.sent
    await bench.publish(*(make_entry("x" * 100) for _ in range(10)))
    await bench.topic.upkeep.check_backlog()
    assert end.sent == [("close_producer", 7)]
    with pytest.raises(BacklogQuotaExceeded, match="Cannot create producer on topic with") as found:
        await bench.topic.attach_producer(client_end(), 7, "p")
    assert type(found.value) is error
    await bench.topic.skip(subscription, 8)
    await bench.topic.attach_producer(client_end(), 7, "p")


async def test_the_oldest_are_evicted_from_whoever_is_behind(open_bench, make_entry):
    quota = BacklogQuota(5000, -1, EVICTION)
    bench = await open_bench(backlog_quota_size=quota)
    slow = await bench.topic.create_subscription("slow", EARLIEST)
    fast = await bench.topic.create_subscription("fast", EARLIEST)
    await bench.publish(*(make_entry("x" * 100) for _ in range(100)))
    await bench.topic.skip(fast, 80)
    await bench.topic.upkeep.check_backlog()
    assert fast.backlog == 20
    assert 0.8 * 5000 < slow.cursor.backlog_bytes <= LEFT_BY_EVICTION * 5000
    evicted = bench.topic.upkeep.state
    assert (evicted.size_evictions, evicted.age_evictions) == (1, 0)
    before = slow.backlog
    await bench.topic.upkeep.check_backlog()
    assert slow.backlog == before
    await bench.publish("a producer is let in all the same")


async def test_a_backlog_may_only_become_so_old(open_bench, make_entry, clock, client_end):
    bench = await open_bench(clock=clock, backlog_quota_age=BacklogQuota(-1, 5, EVICTION))
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    await publish_over_time(bench, make_entry, clock)
    await bench.topic.upkeep.check_backlog()
    assert subscription.backlog == 5
    clock.move(1)
    bench.topic.apply(replace(bench.topic.policies, backlog_quota_age=BacklogQuota(-1, 5, HOLD)))
    with pytest.raises(BacklogQuotaHeld):
        await bench.topic.attach_producer(client_end(), 7, "p")


async def test_eviction_for_its_size_spares_what_is_only_too_old(open_bench, make_entry, clock):
    bench = await open_bench(clock=clock)
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    await publish_over_time(bench, make_entry, clock, count=100)
    size = BacklogQuota(subscription.cursor.backlog_bytes, -1, EVICTION)
    bench.topic.apply(
        replace(
            bench.topic.policies,
            backlog_quota_size=size,
            backlog_quota_age=BacklogQuota(-1, 5, HOLD),
        )
    )
    await bench.topic.upkeep.check_backlog()
    assert subscription.backlog == pytest.approx(100 * LEFT_BY_EVICTION, abs=1)


async def test_a_subscription_that_nobody_uses_is_dropped(open_bench, clock):
    bench = await open_bench(clock=clock, subscription_expiration_minutes=5)
    topic = bench.topic
    await topic.create_subscription("unused", EARLIEST)
    _, used, consumer = await bench.consumer(EXCLUSIVE, subscription="used")
    clock.move(5 * 60)
    await topic.upkeep.drop_unused_subscriptions()
    assert set(topic.subscriptions) == {"unused", "used"}
    clock.move(1)
    await topic.upkeep.drop_unused_subscriptions()
    assert set(topic.subscriptions) == {"used"}
    await topic.leave(used, consumer)
    clock.move(5 * 60)
    await topic.upkeep.drop_unused_subscriptions()
    assert set(topic.subscriptions) == {"used"}
    clock.move(1)
    await topic.upkeep.drop_unused_subscriptions()
    assert not topic.subscriptions


@pytest.mark.parametrize("mode", InactiveTopicDeleteMode)
async def test_which_topics_go_when_nobody_uses_them(open_bench, client_end, mode):
    rule = InactiveTopicPolicies(mode, 7, delete_while_inactive=True)
    bench = await open_bench(inactive_topics=rule)
    topic = bench.topic
    assert topic.unused_max_s == 7
    producer = await topic.attach_producer(client_end(), 5, "p")
    assert topic.unused_max_s is None, "somebody is connected"
    producer.detach()
    subscription = await topic.create_subscription("s", EARLIEST)
    caught_up = mode is InactiveTopicDeleteMode.CAUGHT_UP
    assert topic.unused_max_s == (7 if caught_up else None)
    await bench.publish("a")
    topic.producers["bench"].detach()
    assert topic.unused_max_s is None
    await topic.skip(subscription)
    assert topic.unused_max_s == (7 if caught_up else None)


@pytest.mark.parametrize(("minutes", "kept_s"), [(1, 60), (-1, None), (0, 7)])
async def test_what_retention_keeps_is_not_deleted_with_its_topic(open_bench, minutes, kept_s):
    rule = InactiveTopicPolicies(InactiveTopicDeleteMode.NO_SUBSCRIPTIONS, 7, True)
    retention = RetentionPolicies(minutes, -1 if minutes else 0)
    bench = await open_bench(inactive_topics=rule, retention=retention)
    assert bench.topic.unused_max_s == kept_s


async def test_a_topic_stays_loaded_while_its_messages_grow_old(open_bench):
    unused = InactiveTopicPolicies(InactiveTopicDeleteMode.NO_SUBSCRIPTIONS, 7, False)
    bench = await open_bench(inactive_topics=unused, message_ttl_s=5)
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    assert await bench.topic.prepare_for_rest()
    await bench.publish("a")
    assert not await bench.topic.prepare_for_rest()
    await bench.topic.skip(subscription)
    assert await bench.topic.prepare_for_rest()


async def test_when_a_quota_begins_and_ends_to_hold_producers_is_logged_and_told(
    open_bench, make_entry, clock, caplog
):
    bench = await open_bench(clock=clock, backlog_quota_age=BacklogQuota(-1, 5, HOLD))
    await bench.topic.create_subscription("a", EARLIEST)
    await publish_over_time(bench, make_entry, clock)
    for _ in range(2):
        await bench.topic.upkeep.check_backlog()
    held_ms = topic_stats(bench.topic).producers_held_since_ms
    assert held_ms == clock.wall_ms()
    clock.move(3)
    await bench.topic.skip(bench.topic.subscriptions["a"])
    assert await bench.topic.upkeep.producers_refused() is None
    assert topic_stats(bench.topic).producers_held_since_ms == 0
    said = [each.message for each in caplog.records if "topic.producers" in each.message]
    name = bench.topic.name
    assert said == [
        f"topic.producers_held topic={name} policy={HOLD.value} limit_bytes=-1 limit_s=5",
        f"topic.producers_released topic={name} held_s=3",
    ]
