"""The stats of a partitioned topic, summed over its partitions. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

from magnetar.model.stats import ConsumerStats, PublisherStats, SubscriptionStats, TopicStats

Part = TypeVar("Part", PublisherStats, ConsumerStats, SubscriptionStats, TopicStats)

_PARTS = frozenset({"publishers", "subscriptions", "consumers", "writes", "compaction_writes"})
_OWN = frozenset({"producer_id", "consumer_id", "backlog_quota_bytes", "backlog_quota_s"})


def total(partitions: Iterable[TopicStats]) -> TopicStats:
    """One snapshot for all partitions, with one publisher or consumer for each name."""
    result = TopicStats()
    publishers: dict[str, PublisherStats] = {}
    for each in partitions:
        _add(result, each)
        for publisher in each.publishers:
            name = publisher.producer_name
            _add(
                publishers.setdefault(name, PublisherStats(publisher.producer_id, name)), publisher
            )
        for name, subscription in each.subscriptions.items():
            _add_subscription(result.subscriptions.setdefault(name, _none_yet()), subscription)
    result.publishers = list(publishers.values())
    return result


def _none_yet() -> SubscriptionStats:
    return SubscriptionStats(durable=False)


def _add_subscription(into: SubscriptionStats, other: SubscriptionStats) -> None:
    if other.blocked_since_ms and not into.blocked_since_ms:  # Its reason is the one to tell.
        into.blocked_reason, into.blocked_why = other.blocked_reason, other.blocked_why
    _add(into, other)
    present = {consumer.consumer_name: consumer for consumer in into.consumers}
    for consumer in other.consumers:
        name = consumer.consumer_name
        if name not in present:
            present[name] = ConsumerStats(consumer.consumer_id, name)
            into.consumers.append(present[name])
        _add(present[name], consumer)


def _add(into: Part, other: Part) -> None:
    """Add counters, keep the latest time and the first text; a flag holds if one does."""
    for field in fields(into):
        name = field.name
        if name in _PARTS | _OWN:
            continue
        mine, theirs = getattr(into, name), getattr(other, name)
        setattr(into, name, _combined(name, mine, theirs))


def _combined(name: str, mine: Any, theirs: Any) -> Any:
    if isinstance(mine, bool):
        return mine or theirs
    if mine is None or mine in ("", {}):
        return theirs
    if name.endswith("_ms"):
        return max(mine, theirs)
    if isinstance(mine, int | Counter) and not isinstance(mine, Enum):
        return mine + theirs
    return mine
