from magnetar.broker.admin.sums import total
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats
from magnetar.model.subscriptions import SubscriptionType


def partition(number: int) -> TopicStats:
    return TopicStats(
        msg_in_counter=10 * number,
        storage_bytes=100 * number,
        last_publish_ms=1000 * number,
        publishers=[
            PublisherStats(
                5,
                f"p-{number % 2}",
                address="host:1",
                msg_in_counter=number,
                metadata={"k": "v"},
            )
        ],
        subscriptions={
            "s": SubscriptionStats(
                type=SubscriptionType.FAILOVER,
                active_consumer_name=f"c-{number}",
                backlog_entries=number,
                blocked_on_unacked=number == 2,
                last_acked_ms=number,
                consumers=[
                    ConsumerStats(9, "c", msg_out_counter=number, available_permits=100),
                    ConsumerStats(10, f"own-{number}", unacked_messages=number),
                ],
            )
        },
    )


def test_nothing_adds_up_to_nothing():
    assert total([]) == TopicStats()


def test_counters_add_up_and_times_keep_the_latest():
    stats = total([partition(1), partition(2), partition(3)])
    assert (stats.msg_in_counter, stats.storage_bytes) == (60, 600)
    assert stats.last_publish_ms == 3000


def test_publishers_of_one_name_are_one():
    stats = total([partition(1), partition(2), partition(3)])
    counts = {each.producer_name: each.msg_in_counter for each in stats.publishers}
    assert counts == {"p-1": 4, "p-0": 2}
    first = stats.publishers[0]
    assert (first.producer_id, first.address, first.metadata) == (5, "host:1", {"k": "v"})


def test_subscriptions_of_one_name_are_one():
    stats = total([partition(1), partition(2), partition(3)]).subscriptions["s"]
    assert stats.type is SubscriptionType.FAILOVER
    assert stats.active_consumer_name == "c-1"
    assert stats.backlog_entries == 6
    assert stats.blocked_on_unacked
    assert stats.durable
    assert stats.last_acked_ms == 3


def test_a_subscription_of_readers_alone_stays_one():
    readers = TopicStats(subscriptions={"r": SubscriptionStats(durable=False)})
    assert not total([readers, readers]).subscriptions["r"].durable


def test_consumers_of_one_name_are_one():
    consumers = total([partition(1), partition(2)]).subscriptions["s"].consumers
    seen = {c.consumer_name: (c.msg_out_counter, c.unacked_messages) for c in consumers}
    assert seen == {"c": (3, 0), "own-1": (0, 1), "own-2": (0, 2)}
    assert consumers[0].available_permits == 200


def test_the_partitions_themselves_are_left_alone():
    one, two = partition(1), partition(2)
    total([one, two])
    assert (one, two) == (partition(1), partition(2))
