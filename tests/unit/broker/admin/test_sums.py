from magnetar.broker.admin.stats import StatsOptions, topic_json
from magnetar.broker.admin.sums import total
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats
from magnetar.model.subscriptions import SubscriptionType


def shown(stats):
    return topic_json(stats, {}, StatsOptions(), owner="h:1")


def partition(number: int):
    return shown(
        TopicStats(
            msg_in_counter=10 * number,
            storage_bytes=100 * number,
            last_publish_ms=1000 * number,
            publishers=[
                PublisherStats(
                    5,
                    f"p-{number % 2}",
                    address="host:1",
                    connected_since_ms=number,
                    metadata={"k": "v"},
                )
            ],
            subscriptions={
                "s": SubscriptionStats(
                    type=SubscriptionType.FAILOVER,
                    active_consumer_name=f"c-{number}",
                    backlog_entries=number,
                    blocked_on_unacked=number == 2,
                    blocked_since_ms=number if number > 1 else 0,
                    blocked_reason=f"because of {number}",
                    last_acked_ms=number,
                    consumers=[
                        ConsumerStats(9, "c", msg_out_counter=number, available_permits=100),
                        ConsumerStats(10, f"own-{number}", unacked_messages=number),
                    ],
                )
            },
        )
    )


def test_nothing_adds_up_to_nothing():
    assert total([]) == {}


def test_one_partition_is_the_whole():
    assert total([partition(1)]) == partition(1)


def test_counters_add_up_and_times_keep_the_latest():
    stats = total([partition(1), partition(2), partition(3)])
    assert (stats["msgInCounter"], stats["storageSize"]) == (60, 600)
    assert stats["lastPublishTimeStamp"] == 3000
    assert stats["backlogQuotaLimitSize"] == -1


def test_publishers_of_one_name_are_one():
    stats = total([partition(1), partition(2), partition(3)])
    first, second = stats["publishers"]
    assert (first["producerName"], second["producerName"]) == ("p-1", "p-0")
    assert (first["producerId"], first["address"], first["metadata"]) == (5, "/host:1", {"k": "v"})
    assert first["connectedSince"] == "1970-01-01T00:00:00.003Z"


def test_subscriptions_of_one_name_are_one():
    stats = total([partition(1), partition(2), partition(3)])["subscriptions"]["s"]
    assert stats["type"] == "Failover"
    assert stats["activeConsumerName"] == "c-1"
    assert stats["msgBacklog"] == 6
    assert stats["blockedSubscriptionOnUnackedMsgs"]
    assert stats["isDurable"]
    assert stats["lastAckedTimestamp"] == 3
    assert (stats["blockedSince"], stats["blockedReason"]) == (3, "because of 2")


def test_a_subscription_of_readers_alone_stays_one():
    readers = shown(TopicStats(subscriptions={"r": SubscriptionStats(durable=False)}))
    assert not total([readers, readers])["subscriptions"]["r"]["isDurable"]


def test_consumers_of_one_name_are_one():
    consumers = total([partition(1), partition(2)])["subscriptions"]["s"]["consumers"]
    seen = {c["consumerName"]: (c["msgOutCounter"], c["unackedMessages"]) for c in consumers}
    assert seen == {"c": (3, 0), "own-1": (0, 1), "own-2": (0, 2)}
    assert consumers[0]["availablePermits"] == 200


def test_rates_add_up_and_an_average_is_that_of_the_sum():
    parts = [{"msgRateIn": 1.0, "msgThroughputIn": 10.0, "averageMsgSize": 10.0}]
    parts.append({"msgRateIn": 3.0, "msgThroughputIn": 90.0, "averageMsgSize": 30.0})
    assert total(parts) == {"msgRateIn": 4.0, "msgThroughputIn": 100.0, "averageMsgSize": 25.0}


def test_the_oldest_message_of_all_is_told_with_whose_it_is():
    age, whose = "oldestBacklogMessageAgeSeconds", "oldestBacklogMessageSubscriptionName"
    times = "earliestMsgPublishTimeInBacklogs"
    parts = [
        {age: -1, times: -1},
        {age: 7, whose: "a", times: 500},
        {age: 5, whose: "b", times: 700},
    ]
    assert total(parts) == {age: 7, whose: "a", times: 500}


def test_the_partitions_themselves_are_left_alone():
    one, two = partition(1), partition(2)
    total([one, two])
    assert (one, two) == (partition(1), partition(2))
