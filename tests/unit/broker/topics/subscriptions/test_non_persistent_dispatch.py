"""Who gets what is published now, of each type of subscription."""

from collections import defaultdict

from magnetar.broker.dispatch.blocked import Why
from magnetar.model.subscriptions import SubscriptionType

SHARED, FAILOVER = SubscriptionType.SHARED, SubscriptionType.FAILOVER
KEY_SHARED = SubscriptionType.KEY_SHARED


async def test_shared_consumers_take_turns_and_who_can_take_no_more_is_passed_by(open_passing):
    bench = open_passing()
    slow, subscription, _ = await bench.consumer(SHARED, "a", permits=1)
    fast, _, _ = await bench.consumer(SHARED, "b", permits=100)
    for number in range(6):
        await bench.publish(str(number))
    assert slow.got() == ["0"]
    assert fast.got() == ["1", "2", "3", "4", "5"]
    assert subscription.dropped_count == 0


async def test_a_client_that_reads_too_slowly_gets_nothing(open_passing):
    bench = open_passing()
    end, subscription, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    end.writable = False
    await bench.publish("a")
    assert subscription.blocked_reason().why is Why.NOT_WRITABLE
    end.reads_again()
    await bench.publish("b")
    assert end.got() == ["b"]
    assert subscription.dropped_count == 1


async def test_the_next_failover_consumer_is_served_at_once(open_passing):
    bench = open_passing(failover_delay_ms=60_000)
    consumers = {}
    for name in ("a", "b", "c"):
        end, subscription, consumer = await bench.consumer(FAILOVER, name)
        consumers[name] = end, consumer
    for number in range(3):
        await bench.publish(str(number))
        active = subscription.active
        end, consumer = consumers.pop(active.name)
        assert end.got()[-1] == str(number)
        await bench.topic.leave(subscription, consumer)
    assert not subscription.consumers


async def test_a_key_goes_to_one_consumer_in_order_and_nothing_is_remembered(
    open_passing, make_entry
):
    bench = open_passing()
    ends = [(await bench.consumer(KEY_SHARED, name))[0] for name in "abc"]
    subscription = bench.topic.subscriptions["s"]
    for round_ in range(20):
        await bench.publish(*(make_entry(f"{key}:{round_}", key=f"key-{key}") for key in range(30)))
    homes = defaultdict(set)
    for at, end in enumerate(ends):
        seen = defaultdict(list)
        for text in end.got():
            key, number = text.split(":")
            seen[key].append(int(number))
            homes[key].add(at)
        assert all(numbers == list(range(20)) for numbers in seen.values())
    assert len(homes) == 30
    assert all(len(home) == 1 for home in homes.values())
    table = subscription.dispatch.strategy.table
    assert not table.waiting_count
    assert not table._groups


async def test_a_key_whose_owner_takes_no_more_is_dropped_and_overtakes_nobody(
    open_passing, make_entry
):
    bench = open_passing()
    end, subscription, consumer = await bench.consumer(KEY_SHARED, permits=1)
    for number in range(3):
        await bench.publish(make_entry(str(number), key="k"))
    subscription.flow(consumer, 5)
    await bench.publish(make_entry("3", key="k"))
    assert end.got() == ["0", "3"]
    assert subscription.dropped_count == 2


async def test_a_batch_takes_as_many_permits_as_it_has_messages(open_passing, make_entry):
    bench = open_passing()
    end, subscription, consumer = await bench.consumer(SHARED, permits=4)
    await bench.publish(make_entry("five", batch=5), make_entry("three", batch=3), counts=[5, 3])
    assert end.got() == ["five"]
    assert (consumer.permits, subscription.dropped_count) == (-1, 3)
