"""Stats of non-persistent topics: those of any topic, without a backlog, and what was dropped.

Pulsar shows the rates of what was dropped; the counters beside them are ours. Pure.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from magnetar.broker.admin.rates import (
    NO_RATES,
    THE_TOPIC,
    RateKey,
    TopicRates,
    publisher_key,
    subscription_key,
)
from magnetar.model.stats import TopicStats

_NO_BACKLOG: Final[Mapping[str, int]] = {
    "backlogQuotaLimitSize": 0,
    "backlogQuotaLimitTime": 0,
    "oldestBacklogMessageAgeSeconds": 0,
}
_NO_CURSOR: Final[Mapping[str, Any]] = {
    "waitingReadOp": False,
    "pendingReadOps": 0,
    "messagesConsumedCounter": 0,
    "cursorLedger": 0,
    "cursorLedgerLastEntry": 0,
    "active": False,
    "numberOfEntriesSinceFirstNotAckedMessage": 0,
    "totalNonContiguousDeletedMessagesRange": 0,
    "subscriptionHavePendingRead": False,
    "subscriptionHavePendingReplayRead": False,
}


def with_drops(shown: dict[str, Any], stats: TopicStats, rates: TopicRates) -> dict[str, Any]:
    """What is shown of any topic, as it is shown of a non-persistent one."""

    def drops(part: RateKey, counter: int) -> dict[str, float]:
        return {"msgDropRate": rates.get(part, NO_RATES).dropped, "msgDropCounter": counter}

    shown = {**shown, **_NO_BACKLOG, **drops(THE_TOPIC, stats.dropped_counter)}
    shown.pop("deduplicationStatus", None)
    for publisher, its in zip(shown["publishers"], stats.publishers, strict=False):
        publisher.update(drops(publisher_key(its), its.dropped_counter))
    for name, subscription in shown["subscriptions"].items():
        counter = stats.subscriptions[name].dropped_counter
        subscription.update(drops(subscription_key(name), counter))
    return shown


def internal_stats(entries_added: int, subscriptions: Iterable[str]) -> dict[str, Any]:
    """There is no log to show, but its keys are there, as in Pulsar."""
    return {
        "entriesAddedCounter": entries_added,
        "numberOfEntries": 0,
        "totalSize": 0,
        "currentLedgerEntries": 0,
        "currentLedgerSize": 0,
        "waitingCursorsCount": 0,
        "pendingAddEntriesCount": 0,
        "cursors": {name: dict(_NO_CURSOR) for name in subscriptions},
    }
