"""Why a subscription does not move, and its cursor seen closely. Not in Pulsar."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import Answers, OfPartitionsMoving, OfTopic, by_name
from magnetar.broker.admin.rates import NO_RATES, THE_TOPIC, subscription_key
from magnetar.broker.admin.routes.subscriptions import found_in
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.admin.topic_access import no_subscription
from magnetar.broker.topics.diagnosis.diagnosis import diagnose
from magnetar.broker.topics.diagnosis.facts import Facts, Finding, ProducersHeldBack, Severity
from magnetar.broker.topics.diagnosis.subscription_view import (
    ConsumerView,
    SubscriptionView,
    furthest_behind,
    subscription_view,
)
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.errors import MagnetarError
from magnetar.model.names import TopicName
from magnetar.model.policies import NO_POLICIES
from magnetar.model.position import Position
from magnetar.rest import arguments
from magnetar.rest.exchange import Reply, Request, shown
from magnetar.rest.router import Route

RANGES_SHOWN_MAX: Final = 1000
"""Acknowledged ranges of a cursor that are shown: enough to be drawn."""


async def diagnosis(admin: TopicServices, request: Request, topic: Topic) -> Reply:
    """Of a partitioned topic: of each partition that has the subscription, the worst first."""
    facts = await _facts(admin, topic, found_in(topic, request))
    findings = diagnose(facts)
    return shown(
        {
            "topic": str(topic.name),
            "subscription": facts.view.name,
            "severity": findings[0].severity.value,
            "summary": findings[0].text,
            "msgBacklog": facts.view.backlog,
            "findings": [_finding_json(each) for each in findings],
        }
    )


def _worst_first(request: Request, answers: Answers) -> Reply:
    asked, name = arguments.topic(request), arguments.subscription(request)
    found = list(by_name(answers).values())
    if not found:
        raise no_subscription(name, asked)
    found.sort(key=lambda each: _SEVERITIES.index(each["severity"]))
    worst = {key: found[0][key] for key in ("severity", "summary")}
    return shown({"topic": str(asked), "subscription": name, **worst, "partitions": found})


def _moving(request: Request, text: str, remedy: str) -> Reply:
    finding = Finding("bundle-moves", Severity.WARNING, text, remedy)
    return shown(
        {
            "topic": str(arguments.topic(request)),
            "subscription": arguments.subscription(request),
            "severity": finding.severity.value,
            "summary": text,
            "msgBacklog": None,
            "findings": [_finding_json(finding)],
        }
    )


async def cursor(admin: TopicServices, request: Request, topic: StoredTopic) -> Reply:
    view = subscription_view(topic, found_in(topic, request), admin.clock.now())
    return shown(_cursor_json(topic.name, view))


async def _facts(admin: TopicServices, topic: Topic, subscription: Subscription) -> Facts:
    now_ms, stored = admin.clock.wall_ms(), topic.stored
    rates = admin.rates.of(str(topic.name))
    age_s, quota, slowest = None, None, None
    try:
        published_ms = -1
        if subscription.backlog:
            published_ms = await topic.oldest_publish_time_ms(subscription)
        age_s = None if published_ms < 0 else max(now_ms - published_ms, 0) / 1000
        if stored is not None and (quota := await stored.upkeep.exceeded_quota()) is not None:
            slowest = furthest_behind(stored, quota)
    except MagnetarError:
        pass  # Where the disk fails, what else is known is needed most.
    throttle, held_back = topic.publish_throttle, None
    if throttle is not None and throttle.limited_count:
        ago_s = admin.clock.now() - throttle.limited_at
        held_back = ProducersHeldBack(throttle.limited_by, throttle.limited_count, ago_s)
    return Facts(
        topic=str(topic.name),
        view=subscription_view(topic, subscription, admin.clock.now()),
        policies=NO_POLICIES if stored is None else stored.policies,
        now_ms=now_ms,
        oldest_age_s=age_s,
        rate_in=rates.get(THE_TOPIC, NO_RATES).messages,
        rate_out=rates.get(subscription_key(subscription.name), NO_RATES).messages,
        fenced=topic.fenced,
        terminated=stored is not None and stored.terminated_at is not None,
        unwritable=admin.health.write_error(),
        quota=quota,
        slowest=slowest,
        held_back=held_back,
        producers=len(topic.producers),
        producers_waiting=topic.waiting_producers,
        sync_ms=admin.overview.sync_ms(),
        refusal=admin.schemas.refusals.last(topic.name),
    )


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "cause": finding.cause,
        "severity": finding.severity.value,
        "text": finding.text,
        "remedy": finding.remedy,
        "since": finding.since_ms or None,
    }


def _cursor_json(topic: TopicName, view: SubscriptionView) -> dict[str, Any]:
    return {
        "topic": str(topic),
        "subscription": view.name,
        "type": None if view.type is None else view.type.printed,
        "durable": view.durable,
        "markDeletePosition": _position(view.mark),
        "readPosition": _position(view.read_position),
        "lastPosition": _position(view.last),
        "msgBacklog": view.backlog,
        "backlogSize": view.backlog_bytes,
        "lastMarkDeleteAdvancedTimestamp": view.mark_moved_ms,
        "acknowledgedRanges": [
            {"ledgerId": ledger_id, "from": first, "to": last}
            for ledger_id, first, last in islice(view.ranges(), RANGES_SHOWN_MAX)
        ],
        "acknowledgedRangesCount": view.ranges_count,
        "acknowledgedBeyondMark": view.beyond,
        "delivered": view.delivered,
        "waiting": view.waiting,
        "delayed": view.delayed,
        "delayedUntil": view.delayed_until_ms,
        "blockedReason": None if view.blocked is None or not view.backlog else str(view.blocked),
        "consumers": _consumers_json(view.consumers),
    }


def _consumers_json(consumers: Iterable[ConsumerView]) -> list[dict[str, Any]]:
    return [
        {
            "consumerName": each.name,
            "address": each.address,
            "active": each.active,
            "availablePermits": each.permits,
            "blocked": each.blocked,
            "readsFastEnough": each.writable,
            "pendingMessages": each.held_messages,
            "pendingEntries": each.held_entries,
            "oldestPending": _position(each.oldest_held),
            "oldestPendingSeconds": each.oldest_held_s,
        }
        for each in consumers
    ]


def _position(position: Position | None) -> str | None:
    return None if position is None else f"{position.ledger_id}:{position.entry_id}"


_SEVERITIES: Final = [each.value for each in Severity]
_SUBSCRIPTION: Final = "{tenant}/{namespace}/{topic}/subscription/{subscription}"
SERVICES: Final = TopicServices
ROUTES: Final = (
    *(
        Route(
            "GET",
            f"/admin/v2/{domain}/{_SUBSCRIPTION}/diagnosis",
            diagnosis,
            Access.CONSUME,
            OfPartitionsMoving(_worst_first, moving=_moving),
        )
        for domain in ("persistent", "non-persistent")
    ),
    Route("GET", f"/admin/v2/persistent/{_SUBSCRIPTION}/cursor", cursor, Access.CONSUME, OfTopic()),
)
