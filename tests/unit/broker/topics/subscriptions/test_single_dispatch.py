"""Exclusive and Failover: one consumer at a time, in order, from the mark."""

from magnetar.model.subscriptions import SubscriptionType

EXCLUSIVE, FAILOVER = SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER


async def test_what_is_published_arrives_in_order(bench):
    end, _, _ = await bench.consumer(EXCLUSIVE)
    await bench.publish("a", "b")
    await bench.publish("c")
    await end.until(lambda e: len(e.got()) == 3)
    assert end.got() == ["a", "b", "c"]


async def test_no_more_is_delivered_than_permits_allow(bench):
    end, subscription, consumer = await bench.consumer(EXCLUSIVE, permits=2)
    await bench.publish("a", "b", "c")
    await end.until(lambda e: len(e.got()) == 2)
    assert consumer.permits == 0
    subscription.flow(consumer, 1)
    await end.until(lambda e: len(e.got()) == 3)
    assert end.got() == ["a", "b", "c"]


async def test_a_batch_is_never_split_and_may_overdraw_permits(bench, make_entry):
    end, subscription, consumer = await bench.consumer(EXCLUSIVE, permits=3)
    await bench.publish(make_entry("x", batch=5), make_entry("y", batch=5), counts=[5, 5])
    await end.until(lambda e: len(e.got()) == 1)
    assert consumer.permits == -2
    subscription.flow(consumer, 2)
    assert end.got() == ["x"]
    subscription.flow(consumer, 1)
    await end.until(lambda e: len(e.got()) == 2)


async def test_nothing_goes_out_behind_the_last_permit(bench, make_entry):
    end, _, consumer = await bench.consumer(EXCLUSIVE, permits=4)
    await bench.publish(make_entry("x", batch=4), make_entry("y", batch=1), counts=[4, 1])
    await end.until(lambda e: e.got() == ["x"])
    assert consumer.permits == 0


async def test_a_client_that_reads_too_slowly_gets_the_rest_when_it_reads_again(bench):
    end, _, _ = await bench.consumer(EXCLUSIVE)
    end.writable = False
    await bench.publish("a")
    assert end.got() == []
    end.reads_again()
    await end.until(lambda e: e.got() == ["a"])


async def test_redelivery_starts_again_at_the_mark(bench):
    end, subscription, consumer = await bench.consumer(EXCLUSIVE)
    await bench.publish("a", "b", "c")
    await end.until(lambda e: len(e.got()) == 3)
    subscription.acknowledge(consumer, [end.positions()[0]])
    subscription.redeliver(consumer, None)
    await end.until(lambda e: len(e.got()) == 5)
    assert end.got() == ["a", "b", "c", "b", "c"]


async def test_the_next_consumer_starts_at_the_mark(bench):
    end, subscription, consumer = await bench.consumer(EXCLUSIVE)
    await bench.publish("a", "b")
    await end.until(lambda e: len(e.got()) == 2)
    subscription.acknowledge_cumulative(consumer, end.positions()[0])
    await bench.topic.leave(subscription, consumer)
    second, _, _ = await bench.consumer(EXCLUSIVE, "d")
    await second.until(lambda e: e.got() == ["b"])


async def test_an_entry_nobody_can_read_is_dropped_and_acknowledged(bench):
    end, subscription, _ = await bench.consumer(EXCLUSIVE)
    await bench.publish(b"\0\0\0\x05\xff\xff\xff\xff\xffpayload", "b", counts=[0, 1])
    await end.until(lambda e: e.got() == ["b"])
    assert subscription.cursor.backlog == 1


async def test_a_standby_hears_that_it_is_not_active_and_takes_over_when_it_is(bench):
    first, subscription, consumer = await bench.consumer(FAILOVER, "m")
    await first.until(lambda e: ("active", 1, True) in e.sent)
    second, _, _ = await bench.consumer(FAILOVER, "z", priority_level=1)
    assert second.sent == [("active", 1, False)]
    await bench.publish("a", "b")
    await first.until(lambda e: len(e.got()) == 2)
    subscription.acknowledge(consumer, [first.positions()[0]])
    await bench.topic.leave(subscription, consumer)
    await second.until(lambda e: e.got() == ["b"])
    assert second.sent[1] == ("active", 1, True)


async def test_only_the_active_consumer_may_ask_for_redelivery(bench):
    first, subscription, _ = await bench.consumer(FAILOVER, "m")
    _, _, standby = await bench.consumer(FAILOVER, "z", priority_level=1)
    await bench.publish("a")
    await first.until(lambda e: e.got() == ["a"])
    subscription.redeliver(standby, None)
    await bench.publish("b")
    await first.until(lambda e: len(e.got()) == 2)
    assert first.got() == ["a", "b"]
