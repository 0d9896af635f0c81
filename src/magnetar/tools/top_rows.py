"""What ``magnetar top`` shows: topics and their subscriptions, from two looks at stats. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

COLUMNS: Final = (
    "TOPIC",
    "IN MSG/S",
    "IN KB/S",
    "SUBSCRIPTION",
    "OUT MSG/S",
    "BACKLOG",
    "UNACKED",
    "CONSUMERS",
    "WHY NOTHING MOVES",
)


@dataclass(frozen=True, slots=True)
class StatsSample:
    """The stats of topics by name, at a moment in seconds."""

    at: float
    topics: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A subscription, or a topic that has none."""

    topic: str
    rate_in: float
    bytes_in: float
    subscription: str
    rate_out: float
    backlog: int
    unacked: int
    consumers: int
    reason: str

    def shown(self) -> tuple[str, ...]:
        return (
            self.topic.removeprefix("persistent://"),
            f"{self.rate_in:,.1f}",
            f"{self.bytes_in / 1024:,.1f}",
            self.subscription,
            f"{self.rate_out:,.1f}" if self.subscription else "",
            f"{self.backlog:,}" if self.subscription else "",
            f"{self.unacked:,}" if self.subscription else "",
            f"{self.consumers:,}" if self.subscription else "",
            self.reason,
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "msgRateIn": round(self.rate_in, 3),
            "msgThroughputIn": round(self.bytes_in, 3),
            "subscription": self.subscription or None,
            "msgRateOut": round(self.rate_out, 3),
            "msgBacklog": self.backlog,
            "unackedMessages": self.unacked,
            "consumers": self.consumers,
            "blockedReason": self.reason or None,
        }


def rows_of(before: StatsSample, now: StatsSample) -> list[Row]:
    """Rates are those between the two looks; what was not there before has none."""
    elapsed = max(now.at - before.at, 1e-9)
    found = []
    for topic, stats in now.topics.items():
        earlier = before.topics.get(topic, stats)
        rate_in = _grown(earlier, stats, "msgInCounter") / elapsed
        bytes_in = _grown(earlier, stats, "bytesInCounter") / elapsed
        subscriptions = stats.get("subscriptions") or {}
        for name, each in subscriptions.items():
            old = (earlier.get("subscriptions") or {}).get(name, each)
            backlog = int(each.get("msgBacklog") or 0)
            found.append(
                Row(
                    topic,
                    rate_in,
                    bytes_in,
                    name,
                    _grown(old, each, "msgOutCounter") / elapsed,
                    backlog,
                    int(each.get("unackedMessages") or 0),
                    len(each.get("consumers") or ()),
                    str(each.get("blockedReason") or "") if _is_still(each) else "",
                )
            )
        if not subscriptions:
            found.append(Row(topic, rate_in, bytes_in, "", 0.0, 0, 0, 0, ""))
    return found


def arranged(rows: Iterable[Row], sort: str, contains: str) -> list[Row]:
    """Filter rows by a text in the name of topic or subscription, the most backlog first."""
    kept = [row for row in rows if contains in row.topic or contains in row.subscription]
    kept.sort(key=lambda row: (row.topic, row.subscription))
    if sort != "name":
        field = {"backlog": "backlog", "in": "rate_in", "out": "rate_out"}[sort]
        kept.sort(key=lambda row: getattr(row, field), reverse=True)
    return kept


def total(rows: Sequence[Row]) -> str:
    """All of it in a line."""
    topics = {row.topic: row.rate_in for row in rows}
    return (
        f"{len(topics)} topics, {sum(topics.values()):,.1f} msg/s in, "
        f"{sum(row.rate_out for row in rows):,.1f} msg/s out, "
        f"backlog {sum(row.backlog for row in rows):,}"
    )


def _is_still(subscription: Mapping[str, Any]) -> bool:
    """Whether there is a reason to tell: while its messages are on their way there is not."""
    alone = bool(subscription.get("msgBacklog")) and not subscription.get("consumers")
    return alone or bool(subscription.get("blockedSince"))


def _grown(before: Mapping[str, Any], now: Mapping[str, Any], name: str) -> float:
    """How much more a counter says; a topic that was loaded again begins at 0."""
    first, last = float(before.get(name) or 0), float(now.get(name) or 0)
    return last - first if last >= first else last
