"""Why a subscription does not move, in plain words: rules over what is seen of it. Pure.

Each rule looks at one cause and yields what it found, with figures, names and a remedy. Those that
stop everything come first. To add a cause: write a rule, and add it to ``_RULES``.
"""

from collections.abc import Callable, Iterator
from shlex import quote
from typing import Final

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.diagnosis.blocked import blocked_findings, consumer_unacked
from magnetar.broker.topics.diagnosis.facts import (
    LONG_S,
    Facts,
    Finding,
    Severity,
    age,
    ago_s,
    counted,
    duration,
    place,
)
from magnetar.broker.topics.diagnosis.publishing import PUBLISHING
from magnetar.model.subscriptions import SubscriptionType

HOARDED_SHARE: Final = 0.5
"""A consumer hoards that holds more than this share of what is out while another has nothing."""
POISON_COUNT: Final = 3
"""A message that was asked for again so often fails for a reason of its own."""
HOT_SHARE: Final = 0.5
"""A key is hot when more than this share of what waits is of its slot."""
HOT_ENTRIES: Final = 10
SAME_RATE: Final = 0.02
"""Rates that differ by less than this share are equal."""


def diagnose(facts: Facts) -> list[Finding]:
    """Return the findings, the worst first; at least one."""
    found = [finding for rule in _RULES for finding in rule(facts)]
    found.sort(key=lambda each: list(Severity).index(each.severity))  # Stable.
    return found or [_moves(facts)]


def _moves(facts: Facts) -> Finding:
    view = facts.view
    if view.mark is None:
        return Finding("live", Severity.OK, "Nothing is kept: what is published goes out at once.")
    if not view.backlog:
        return Finding("caught-up", Severity.OK, "Nothing is wrong: everything is acknowledged.")
    text = f"Nothing is wrong: {counted(view.backlog, 'entry')} left, and nothing keeps them."
    return Finding("moving", Severity.OK, text)


def _no_consumers(facts: Facts) -> Iterator[Finding]:
    view = facts.view
    if view.consumers:
        return
    if not view.backlog:
        yield Finding(
            "no-consumers", Severity.INFO, "No consumer is connected; everything is acknowledged."
        )
        return
    last_ms = view.mark_moved_ms
    yield Finding(
        "no-consumers",
        Severity.ERROR,
        f"No consumer is connected, and the backlog is {counted(view.backlog, 'entry')}"
        f"{age(facts.oldest_age_s)}.",
        f"start a consumer of subscription {view.name}; if nobody needs it any more: magnetar "
        f"admin topics unsubscribe -s {quote(view.name)} {quote(facts.topic)}",
        last_ms,
    )


def _hoarding(facts: Facts) -> Iterator[Finding]:
    """A consumer has prefetched what others could do."""
    view = facts.view
    if not facts.several or len(view.consumers) < 2:
        return
    held = sum(each.held_messages for each in view.consumers)
    idle = [each for each in view.consumers if not each.held_messages and each.permits > 0]
    for consumer in view.consumers:
        held_s = consumer.oldest_held_s
        hoards = consumer.held_messages > 1 and consumer.held_messages > held * HOARDED_SHARE
        if idle and hoards and held_s is not None and held_s >= LONG_S:
            others = "1 other is idle" if len(idle) == 1 else f"{len(idle)} others are idle"
            yield Finding(
                "prefetching",
                Severity.WARNING,
                f"{consumer.held_messages} messages are in the queue of consumer {consumer.name} "
                f"({consumer.address}), the oldest for {duration(held_s)}, while {others}.",
                f"lower the receiverQueueSize of {consumer.name}, so that it takes no more than it "
                "can do soon; closing it gives them to the others",
                facts.now_ms - round(held_s * 1000),
            )


def _blocked_consumers(facts: Facts) -> Iterator[Finding]:
    """One of several has reached its limit, and the others go on."""
    view = facts.view
    if view.blocked is not None and view.blocked.why is Why.CONSUMER_UNACKED:
        return
    for consumer in view.consumers:
        if consumer.blocked and view.backlog:
            found = consumer_unacked(facts, Blocked(Why.CONSUMER_UNACKED, consumer.name))
            yield Finding(found.cause, Severity.WARNING, found.text, found.remedy)


def _hot_key(facts: Facts) -> Iterator[Finding]:
    view = facts.view
    waiting = view.hot_slot_waiting
    if view.hot_slot is None or waiting < HOT_ENTRIES or waiting <= view.waiting * HOT_SHARE:
        return
    yield Finding(
        "hot-key",
        Severity.WARNING,
        f"{waiting} of the {view.waiting} entries that wait are of hash slot {view.hot_slot}, "
        f"whose messages only consumer {view.hot_slot_owner or '(nobody)'} may get.",
        "spread the keys (a part of the key that differs more), or make that consumer faster: more "
        "consumers do not help",
    )


def _holes(facts: Facts) -> Iterator[Finding]:
    view = facts.view
    if not view.ranges_count or not view.backlog or view.mark is None:
        return
    worst = Severity.INFO if view.ranges_fit else Severity.WARNING
    lost = ""
    if not view.ranges_fit:
        lost = (
            " That is more than are stored (managedLedgerMaxUnackedRangesToPersist): a restart "
            "delivers some of them again."
        )
    first = view.first_left
    holders = [each for each in view.consumers if first is not None and each.oldest_held == first]
    whose = f"consumer {holders[0].name} holds it" if holders else "no consumer holds it now"
    yield Finding(
        "acknowledgement-holes",
        worst,
        f"{counted(view.beyond, 'entry')} behind the first that is not acknowledged, "
        f"{place(first)}, {'is' if view.beyond == 1 else 'are'} acknowledged, in "
        f"{counted(view.ranges_count, 'range')}; {whose}. The mark-delete position stays at "
        f"{place(view.mark)}{age(facts.oldest_age_s)}, and what follows cannot be deleted.{lost}",
        "acknowledge or negatively acknowledge every message, also those that failed; see the "
        f"first one: magnetar admin topics peek-messages -s {quote(view.name)} -n 1 "
        f"{quote(facts.topic)}",
        view.mark_moved_ms,
    )


def _poison(facts: Facts) -> Iterator[Finding]:
    view, at = facts.view, facts.view.redelivered_position
    if at is None or view.redelivered_most < POISON_COUNT:
        return
    yield Finding(
        "redelivered",
        Severity.WARNING,
        f"The message {at.ledger_id}:{at.entry_id} was redelivered {view.redelivered_most} times: "
        "whoever gets it fails, or does not acknowledge it in time.",
        "let consumers have a dead letter policy (maxRedeliverCount), or look at it: magnetar "
        f"admin topics get-message-by-id -l {at.ledger_id} -e {at.entry_id} {quote(facts.topic)}",
    )


def _expiry(facts: Facts) -> Iterator[Finding]:
    view, ttl_s = facts.view, facts.policies.message_ttl_s or 0
    if view.expired and view.last_expired_ms:
        yield Finding(
            "expired",
            Severity.WARNING if view.backlog else Severity.INFO,
            f"{counted(view.expired, 'entry')} expired without being consumed since the topic was "
            f"loaded, the last {duration(ago_s(facts, view.last_expired_ms))} ago"
            + (f"; messages live {duration(ttl_s)} (messageTTL)." if ttl_s else "."),
            "consume faster, or let messages live longer: magnetar admin topics set-message-ttl "
            f"-t 7d {quote(facts.topic)}",
            view.last_expired_ms,
        )


def _growth(facts: Facts) -> Iterator[Finding]:
    """Publishing and consuming, compared; what is delivered counts as consumed."""
    view = facts.view
    left, gain = view.backlog, facts.rate_in - facts.rate_out
    if not left or not view.consumers or not facts.rate_out:
        return
    if gain > facts.rate_in * SAME_RATE:
        yield Finding(
            "falling-behind",
            Severity.WARNING,
            f"{facts.rate_in:.1f} messages/s are published and {facts.rate_out:.1f} delivered: the "
            f"backlog of {counted(left, 'entry')} grows by {gain:.1f} a second.",
            "more consumers (Shared or Key_Shared), more partitions, or less work per message",
        )
    elif gain < -facts.rate_out * SAME_RATE:
        yield Finding(
            "catching-up",
            Severity.OK,
            f"{facts.rate_out:.1f} messages/s are delivered and {facts.rate_in:.1f} published: the "
            f"backlog of {counted(left, 'entry')} is gone in about {duration(left / -gain)}, if "
            "entries are single messages.",
        )


def _reader(facts: Facts) -> Iterator[Finding]:
    view = facts.view
    if not view.durable and view.mark is not None and view.backlog and not view.blocked:
        yield Finding(
            "reader-behind",
            Severity.INFO,
            f"A reader is {counted(view.backlog, 'entry')} behind{age(facts.oldest_age_s)}; it "
            "keeps nothing from being deleted.",
        )


def _standby(facts: Facts) -> Iterator[Finding]:
    view = facts.view
    waiting = [each.name for each in view.consumers if not each.active]
    if view.type is SubscriptionType.FAILOVER and waiting:
        active = next((each.name for each in view.consumers if each.active), "nobody")
        stand = "stands by and gets" if len(waiting) == 1 else "stand by and get"
        yield Finding(
            "standby",
            Severity.INFO,
            f"Consumer {active} is active; {', '.join(waiting)} {stand} nothing, as Failover does.",
            "for consumers that share the work use Shared or Key_Shared",
        )


def _dropping(facts: Facts) -> Iterator[Finding]:
    if facts.view.dropped:
        yield Finding(
            "dropped",
            Severity.WARNING,
            f"{facts.view.dropped} messages were dropped since the topic was loaded, since no "
            "consumer could take them at once: a non-persistent topic keeps nothing.",
            "faster consumers, a larger receiverQueueSize, or a persistent topic",
        )


_RULES: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    *PUBLISHING,
    _no_consumers,
    _hoarding,
    blocked_findings,
    _blocked_consumers,
    _hot_key,
    _poison,
    _holes,
    _expiry,
    _growth,
    _standby,
    _reader,
    _dropping,
)
