"""Why nothing new comes to a subscription: what holds up those who publish. Pure."""

from collections.abc import Callable, Iterator
from shlex import quote
from typing import Final

from magnetar.broker.topics.diagnosis.facts import (
    Facts,
    Finding,
    Severity,
    ago_s,
    counted,
    duration,
    rate_text,
    times,
)
from magnetar.model.policy_values import BacklogQuotaPolicy, PublishRate

RECENT_S: Final = 60.0
"""What held producers back, or refused a client, is told for so long."""
SLOW_SYNC_P50_MS: Final = 100.0
SLOW_SYNC_P99_MS: Final = 1_000.0
"""A disk is slow when half of the syncs take so long, or one in a hundred so much longer."""


def _log(facts: Facts) -> Iterator[Finding]:
    if facts.unwritable:
        yield Finding(
            "log-not-writable",
            Severity.ERROR,
            f"The broker's log takes nothing: {facts.unwritable}. Nothing can be published.",
            "make room on the disk of dataDirectory, or mend it; the broker goes on by itself",
        )
    if facts.fenced:
        yield Finding(
            "topic-fenced",
            Severity.ERROR,
            "The topic is closed after a failed write, and is opened afresh when it is next used.",
            "look for topic.write_failed in the broker's log",
        )


def _slow_disk(facts: Facts) -> Iterator[Finding]:
    if facts.sync_ms is None:
        return
    p50, p99 = facts.sync_ms
    if p50 >= SLOW_SYNC_P50_MS or p99 >= SLOW_SYNC_P99_MS:
        yield Finding(
            "slow-disk",
            Severity.WARNING,
            f"The disk is slow: half of the syncs of the log took longer than {p50:.0f} ms in the "
            f"last minutes, one in a hundred longer than {p99:.0f} ms, and each message waits for "
            "one before its producer hears of it and a consumer gets it.",
            "see what else writes to the disk of dataDirectory (iostat -x 1), or give it one of "
            "its own; until then more messages at once (batching, more pending) cost no more syncs",
        )


def _terminated(facts: Facts) -> Iterator[Finding]:
    if facts.terminated:
        yield Finding(
            "terminated",
            Severity.INFO,
            "The topic is terminated: nothing more will be published, and consumers are told so "
            "when everything is acknowledged.",
            "publish to another topic: termination cannot be undone",
        )


def _quota(facts: Facts) -> Iterator[Finding]:
    if facts.quota is None:
        return
    limit, slowest = facts.quota, facts.slowest
    what = counted(limit.limit_bytes, "byte") if limit.limit_bytes > 0 else ""
    if limit.limit_time_s > 0:
        what = f"{what} or {duration(limit.limit_time_s)}".removeprefix(" or ")
    whose, name = "A backlog of the topic", facts.view.name
    if slowest is not None:
        name = slowest.name
        whose = (
            f"The backlog of subscription {name}, {counted(slowest.entries, 'entry')} of about "
            f"{counted(slowest.size_bytes, 'byte')},"
        )
    yield Finding(
        "backlog-quota",
        Severity.WARNING,
        f"{whose} exceeds the topic's quota of {what}: {_QUOTAS[limit.policy]}.",
        f"consume with {name}, raise the quota, or acknowledge its oldest unseen: magnetar admin "
        f"topics skip -s {quote(name)} -n 1000 {quote(facts.topic)}",
    )


_QUOTAS: Final[dict[BacklogQuotaPolicy | None, str]] = {
    None: "nothing is done about it",
    BacklogQuotaPolicy.HOLD: "producers are disconnected and held back",
    BacklogQuotaPolicy.EXCEPTION: "producers are refused",
    BacklogQuotaPolicy.EVICTION: "the oldest messages are acknowledged for the consumers",
}


def _publish_rate(facts: Facts) -> Iterator[Finding]:
    held = facts.held_back
    if held is None or held.ago_s > RECENT_S:
        return
    rate = facts.policies.publish_rate or PublishRate()
    said = rate_text(rate.messages, rate.size_bytes) if held.limit == "topic" else ""
    came = f" {facts.rate_in:.1f} messages/s came in the last minute." if facts.rate_in else ""
    yield Finding(
        "publish-rate",
        Severity.WARNING,
        f"Producers are held to the publish rate of the {held.limit}{said and ', ' + said}: they "
        f"had to wait {times(held.waits)} since the topic was loaded, last {duration(held.ago_s)} "
        f"ago.{came}",
        f"a higher rate, -1 for none: magnetar admin topics set-publish-rate -m -1 "
        f"{quote(facts.topic)}"
        if held.limit == "topic"
        else "a higher rate: brokerPublisherThrottlingMaxMessageRate, or the resource group's",
    )


def _waiting_producers(facts: Facts) -> Iterator[Finding]:
    if facts.producers_waiting:
        waits = "producer waits" if facts.producers_waiting == 1 else "producers wait"
        yield Finding(
            "producers-wait",
            Severity.INFO,
            f"{facts.producers_waiting} {waits} for exclusive access to the topic, which "
            f"{counted(facts.producers, 'producer')} that came before "
            f"{'has' if facts.producers == 1 else 'have'} now.",
            "nothing is wrong where they stand by for it; else close the one that has it, or let "
            "them share the topic",
        )


def _schema(facts: Facts) -> Iterator[Finding]:
    refused = facts.refusal
    if refused is None or ago_s(facts, refused.at_ms) > RECENT_S:
        return
    yield Finding(
        "schema-refused",
        Severity.WARNING,
        f"A {refused.client} was refused {duration(ago_s(facts, refused.at_ms))} ago, since its "
        f"schema does not go with the topic's: {refused.reason.rstrip('.')}"
        + (f" (refusals so far: {refused.count})." if refused.count > 1 else "."),
        "mend its schema, or let the namespace take it (schemaCompatibilityStrategy); the topic's: "
        f"magnetar admin schemas get {quote(facts.topic)}",
        refused.at_ms,
    )


PUBLISHING: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    _log,
    _slow_disk,
    _quota,
    _publish_rate,
    _schema,
    _waiting_producers,
    _terminated,
)
