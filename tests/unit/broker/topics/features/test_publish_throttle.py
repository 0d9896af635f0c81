"""A limit on what is published to a topic: clients are not read, nothing is refused."""

import pytest
from support.clock import ManualClock
from unit.broker.topics.conftest import ClientEnd, run_of

from magnetar.model.policies import Policies
from magnetar.model.policy_values import PublishRate


@pytest.fixture
def clock():
    return ManualClock()


async def attach(bench, name="p"):
    end = ClientEnd()
    return end, await bench.topic.attach_producer(end, 1, name)


async def test_who_publishes_faster_than_the_limit_waits_until_it_is_made_up_for(
    open_bench, clock, make_entry
):
    bench = await open_bench(clock=clock, publish_rate=PublishRate(messages=10))
    end, producer = await attach(bench)
    producer.publish(run_of(*[make_entry("a")] * 9))
    assert not end.held_back_by
    producer.publish(run_of(*[make_entry("b")] * 6))
    [wait_s] = end.held_back_by
    assert wait_s() == pytest.approx(0.6)
    assert bench.topic.publish_throttle.limited_count == 1
    clock.move(0.5)
    assert wait_s() == pytest.approx(0.1)
    clock.move(0.1001)
    assert wait_s() == 0
    await end.until(lambda end: sum(what[2] for what in end.sent) == 15)


async def test_batches_count_as_their_messages_and_producers_share_the_limit(
    open_bench, clock, make_entry
):
    bench = await open_bench(clock=clock, publish_rate=PublishRate(messages=10))
    (one, first), (two, second) = await attach(bench, "a"), await attach(bench, "b")
    first.publish(run_of(make_entry("a", batch=9), counts=[9]))
    second.publish(run_of(make_entry("b")))
    assert not one.held_back_by
    assert len(two.held_back_by) == 1


async def test_a_limit_is_set_changed_and_removed_while_producers_publish(
    open_bench, clock, make_entry
):
    bench = await open_bench(clock=clock)
    end, producer = await attach(bench)
    producer.publish(run_of(*[make_entry("a")] * 9))
    bench.topic.apply(Policies(publish_rate=PublishRate(size_bytes=10)))
    producer.publish(run_of(make_entry("x" * 100)))
    [wait_s] = end.held_back_by
    assert wait_s() == 1.0, "it asks again"
    bench.topic.apply(Policies(publish_rate=PublishRate(size_bytes=1000)))
    clock.move(0.2)
    assert wait_s() == 0
    bench.topic.apply(Policies(publish_rate=PublishRate(size_bytes=10)))
    producer.publish(run_of(make_entry("x" * 100)))
    bench.topic.apply(Policies())
    assert wait_s() == 0
    producer.publish(run_of(make_entry("x" * 100)))
    assert len(end.held_back_by) == 2


async def test_a_topic_that_keeps_nothing_has_limits_on_publishing(open_passing, clock, make_entry):
    bench = open_passing(clock=clock, publish_rate=PublishRate(messages=2))
    end, producer = await attach(bench)
    producer.publish(run_of(make_entry("a")))
    assert not end.held_back_by
    producer.publish(run_of(make_entry("a")))
    assert len(end.held_back_by) == bench.topic.publish_throttle.limited_count == 1
    bench.topic.apply(Policies())
    producer.publish(run_of(make_entry("a")))
    assert len(end.held_back_by) == 1
