"""The stats of a non-persistent topic: those of any, without a backlog and with what it dropped."""

import json
from pathlib import Path

from magnetar.broker.admin.non_persistent_stats import internal_stats, with_drops
from magnetar.broker.admin.rates import THE_TOPIC, Rates, publisher_key, subscription_key
from magnetar.broker.admin.stats import StatsOptions, topic_json
from magnetar.model.stats import PublisherStats, SubscriptionStats, TopicStats

GOLDEN = Path(__file__).parents[3] / "golden/admin/non-persistent-stats.json"
PUBLISHER = PublisherStats(1, "p", dropped_counter=7)
STATS = TopicStats(
    publishers=[PUBLISHER], subscriptions={"s": SubscriptionStats(dropped_counter=5)}
)
RATES = {
    THE_TOPIC: Rates(dropped=0.7),
    publisher_key(PUBLISHER): Rates(dropped=0.7),
    subscription_key("s"): Rates(dropped=0.5),
}


def shown(wanted):
    return with_drops(topic_json(STATS, RATES, wanted, owner="here:8080"), STATS, RATES)


def test_what_was_dropped_is_shown_at_every_level():
    answer = shown(StatsOptions())
    levels = [answer, answer["publishers"][0], answer["subscriptions"]["s"]]
    assert [each["msgDropRate"] for each in levels] == [0.7, 0.7, 0.5]
    assert [each["msgDropCounter"] for each in levels] == [7, 7, 5]


def test_there_is_no_backlog_to_limit_and_nothing_to_deduplicate():
    answer = shown(StatsOptions(publishers=False))
    assert answer["backlogQuotaLimitSize"] == answer["oldestBacklogMessageAgeSeconds"] == 0
    assert "deduplicationStatus" not in answer
    assert answer["publishers"] == []


def test_every_key_of_pulsar_s_is_there():
    def missing(theirs, ours):
        if isinstance(theirs, list) and theirs and ours:
            return missing(theirs[0], ours[0])
        if not isinstance(theirs, dict):
            return set()
        return set(theirs) - set(ours) | {
            each for key in theirs.keys() & ours.keys() for each in missing(theirs[key], ours[key])
        }

    recorded = json.loads(GOLDEN.read_text())
    recorded["subscriptions"] = {"s": {**recorded["subscriptions"]["s1"], "consumers": []}}
    assert not missing(recorded, shown(StatsOptions()))


def test_internal_stats_have_no_log():
    answer = internal_stats(4, ["s"])
    assert (answer["entriesAddedCounter"], answer["numberOfEntries"]) == (4, 0)
    assert list(answer["cursors"]) == ["s"]
