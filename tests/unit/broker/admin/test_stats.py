import json
from pathlib import Path

import pytest

from magnetar.broker.admin.rates import Rates, subscription_key
from magnetar.broker.admin.stats import StatsOptions, instant, partitioned_json, topic_json
from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats
from magnetar.rest.exchange import Request

GOLDEN = json.loads((Path(__file__).parents[3] / "golden/admin/stats.json").read_text())


def test_numbers_keep_their_json_type():
    shown = json.loads(json.dumps(topic_json(TopicStats(), {}, StatsOptions(), owner="h:1")))
    for key, value in shown.items():
        if key in GOLDEN:
            assert type(value) is type(GOLDEN[key]), key


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({}, StatsOptions()),
        ({"subscriptionBacklogSize": "false"}, StatsOptions(backlog_size=False)),
        ({"getEarliestTimeInBacklog": "true"}, StatsOptions(earliest_in_backlog=True)),
        (
            {"excludePublishers": "true", "excludeConsumers": "true"},
            StatsOptions(True, False, False, False),
        ),
    ],
)
def test_what_is_wanted_is_read_from_the_query(query, wanted):
    assert StatsOptions.by(Request("GET", "/", query=query)) == wanted


def test_what_is_not_wanted_is_left_out():
    subscription = SubscriptionStats(backlog_bytes=7, consumers=[ConsumerStats(1, "c")])
    stats = TopicStats(publishers=[PublisherStats(1, "p")], subscriptions={"s": subscription})
    nothing = StatsOptions(
        backlog_size=False, earliest_in_backlog=False, publishers=False, consumers=False
    )
    shown = topic_json(stats, {}, nothing, earliest={"s": 5}, owner="h:1")
    one = shown["subscriptions"]["s"]
    assert shown["publishers"] == one["consumers"] == []
    assert one["backlogSize"] == -1
    assert one["earliestMsgPublishTimeInBacklog"] == shown["earliestMsgPublishTimeInBacklogs"] == 0


def test_a_sum_names_its_partitions_and_no_owner():
    metadata = {"partitions": 2, "deleted": False}
    shown = partitioned_json([], metadata=metadata)
    assert shown["metadata"] == metadata
    assert shown["partitions"] == {}
    assert not {"ownerBroker", "deduplicationStatus"} & shown.keys()


def test_rates_out_are_those_of_the_subscriptions():
    stats = TopicStats(subscriptions={name: SubscriptionStats() for name in "ab"})
    rates = {subscription_key("a"): Rates(1.5, 15), subscription_key("b"): Rates(2.0, 20)}
    shown = topic_json(stats, rates, StatsOptions(), owner="h:1")
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
