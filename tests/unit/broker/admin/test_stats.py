import json
from pathlib import Path

import pytest

from magnetar.broker.admin.exchange import Request
from magnetar.broker.admin.rates import Rates, subscription_part
from magnetar.broker.admin.stats import Wanted, instant, partitioned_json, topic_json
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats
from magnetar.model.subscriptions import SubscriptionType

GOLDEN = json.loads((Path(__file__).parents[3] / "golden/admin/stats.json").read_text())
NEWER = {"topicCreationTimeStamp", "lastPublishTimeStamp"}
TYPES = {
    "reader-5d7bf34115": SubscriptionType.EXCLUSIVE,
    "sub-fo": SubscriptionType.FAILOVER,
    "sub-ks": SubscriptionType.KEY_SHARED,
    "sub-sh2": SubscriptionType.SHARED,
}


def subscription(name: str) -> SubscriptionStats:
    """Counters of a subscription as they were when it was recorded."""
    seen = GOLDEN["subscriptions"][name]
    kind = TYPES[name]
    return SubscriptionStats(
        type=kind,
        durable=seen["isDurable"],
        active_consumer_name=seen.get("activeConsumerName"),
        key_shared_mode=seen.get("keySharedMode"),
        msg_out_counter=seen["msgOutCounter"],
        bytes_out_counter=seen["bytesOutCounter"],
        backlog_entries=seen["msgBacklog"],
        backlog_bytes=seen["backlogSize"],
        earliest_backlog_publish_ms=seen["earliestMsgPublishTimeInBacklog"],
        unacked_messages=seen["unackedMessages"],
        acked_ranges=seen["nonContiguousDeletedMessagesRanges"],
        acked_ranges_bytes=seen["nonContiguousDeletedMessagesRangesSerializedSize"],
        last_flow_ms=seen["lastConsumedFlowTimestamp"],
        last_consumed_ms=seen["lastConsumedTimestamp"],
        last_acked_ms=seen["lastAckedTimestamp"],
        last_mark_moved_ms=seen["lastMarkDeleteAdvancedTimestamp"],
        consumers=[
            ConsumerStats(
                1,
                each["consumerName"],
                address=each["address"].removeprefix("/"),
                client_version=each["clientVersion"],
                msg_out_counter=each["msgOutCounter"],
                bytes_out_counter=each["bytesOutCounter"],
                entries_out_counter=each["msgOutCounter"],
                available_permits=each["availablePermits"],
                unacked_messages=each["unackedMessages"],
                last_flow_ms=each["lastConsumedFlowTimestamp"],
                last_consumed_ms=each["lastConsumedTimestamp"],
                last_acked_ms=each["lastAckedTimestamp"],
                key_hash_ranges=each.get("keyHashRangeArrays"),
            )
            for each in seen["consumers"]
        ],
    )


def recorded() -> TopicStats:
    return TopicStats(
        msg_in_counter=GOLDEN["msgInCounter"],
        bytes_in_counter=GOLDEN["bytesInCounter"],
        storage_bytes=GOLDEN["storageSize"],
        backlog_bytes=GOLDEN["backlogSize"],
        publishers=[
            PublisherStats(
                each["producerId"],
                each["producerName"],
                address=each["address"].removeprefix("/"),
                client_version=each["clientVersion"],
            )
            for each in GOLDEN["publishers"]
        ],
        subscriptions={name: subscription(name) for name in TYPES},
    )


def without(value, *keys):
    """The same without some keys, at every depth."""
    if isinstance(value, dict):
        return {k: without(v, *keys) for k, v in value.items() if k not in keys}
    return [without(item, *keys) for item in value] if isinstance(value, list) else value


def test_the_counters_of_a_recorded_topic_make_the_recorded_answer():
    shown = topic_json(recorded(), {}, Wanted(earliest_in_backlog=True), owner="localhost:8080")
    assert without(shown, "connectedSince", *NEWER) == without(GOLDEN, "connectedSince")


def test_numbers_keep_their_json_type():
    shown = json.loads(json.dumps(topic_json(TopicStats(), {}, Wanted(), owner="h:1")))
    for key, value in shown.items():
        if key in GOLDEN:
            assert type(value) is type(GOLDEN[key]), key


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({}, Wanted()),
        ({"subscriptionBacklogSize": "false"}, Wanted(backlog_size=False)),
        ({"getEarliestTimeInBacklog": "true"}, Wanted(earliest_in_backlog=True)),
        (
            {"excludePublishers": "true", "excludeConsumers": "true"},
            Wanted(True, False, False, False),
        ),
    ],
)
def test_what_is_wanted_is_read_from_the_query(query, wanted):
    assert Wanted.by(Request("GET", "/", query=query)) == wanted


def test_what_is_not_wanted_is_left_out():
    wanted = Wanted(
        backlog_size=False, earliest_in_backlog=False, publishers=False, consumers=False
    )
    shown = topic_json(recorded(), {}, wanted, owner="localhost:8080")
    one = shown["subscriptions"]["sub-sh2"]
    assert shown["publishers"] == one["consumers"] == []
    assert one["backlogSize"] == -1
    assert one["earliestMsgPublishTimeInBacklog"] == shown["earliestMsgPublishTimeInBacklogs"] == 0


def test_a_sum_names_its_partitions_and_no_owner():
    metadata = {"partitions": 2, "deleted": False}
    shown = partitioned_json(TopicStats(), {}, Wanted(), metadata=metadata)
    assert shown["metadata"] == metadata
    assert shown["partitions"] == {}
    assert not {"ownerBroker", "deduplicationStatus"} & shown.keys()


def test_rates_out_are_those_of_the_subscriptions():
    stats = TopicStats(subscriptions={name: SubscriptionStats() for name in "ab"})
    rates = {subscription_part("a"): Rates(1.5, 15), subscription_part("b"): Rates(2.0, 20)}
    shown = topic_json(stats, rates, Wanted(), owner="h:1")
    assert (shown["msgRateOut"], shown["msgThroughputOut"]) == (3.5, 35.0)


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1795226499832, "2026-11-21T02:01:39.832Z"),
        (1795226499800, "2026-11-21T02:01:39.8Z"),
        (1795226499000, "2026-11-21T02:01:39Z"),
    ],
)
def test_a_time_is_printed_as_java_does(time_ms, text):
    assert instant(time_ms) == text
