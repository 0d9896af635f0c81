"""A topic's counters, as others see them."""

from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType


async def test_totals_add_up_and_outlive_consumers(bench):
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, "c", permits=10)
    await bench.publish("a", "b", "c")
    await end.until(lambda e: len(e.got()) == 3)
    subscription.acknowledge(consumer, [Position(*end.positions()[0])])
    stats = topic_stats(bench.topic)
    assert stats.msg_in_counter == 3
    assert stats.bytes_in_counter == stats.storage_bytes > 0
    assert [p.producer_name for p in stats.publishers] == ["bench"]
    mine = stats.subscriptions["s"]
    assert (mine.type, mine.backlog_entries, mine.unacked_messages) == (
        SubscriptionType.SHARED,
        2,
        2,
    )
    assert mine.consumers[0].available_permits == 7
    await bench.topic.leave(subscription, consumer)
    after = topic_stats(bench.topic)
    assert after.subscriptions["s"].consumers == []
    assert after.msg_out_counter == 3


async def test_the_active_consumer_and_key_ranges_are_named(bench):
    await bench.consumer(SubscriptionType.EXCLUSIVE, "only", subscription="x")
    await bench.consumer(
        SubscriptionType.KEY_SHARED, "k", subscription="ks", hash_ranges=((0, 9), (20, 29))
    )
    found = topic_stats(bench.topic).subscriptions
    assert found["x"].active_consumer_name == "only"
    assert found["ks"].key_shared_mode == "STICKY"
    assert found["ks"].consumers[0].key_hash_ranges == [(0, 9), (20, 29)]
