"""What keeps a subscription from moving just now, as its dispatch says it, and the remedy. Pure."""

from collections.abc import Callable, Iterator
from shlex import quote
from typing import Final

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.diagnosis.facts import (
    LONG_S,
    Facts,
    Finding,
    Severity,
    ago_s,
    counted,
    duration,
    held_count,
    held_since,
    holds,
    instant,
    named,
    rate_text,
    times,
)
from magnetar.broker.topics.diagnosis.subscription_view import ConsumerView
from magnetar.model.policy_values import DispatchRate


def blocked_findings(facts: Facts) -> Iterator[Finding]:
    """What the strategy and the dispatch loop say keeps everything."""
    view = facts.view
    blocked = view.blocked
    if blocked is None or not view.backlog or not view.consumers:
        return
    rule = _BY_WHY.get(blocked.why)
    if rule is not None:
        yield rule(facts, blocked)


def _no_permits(facts: Facts, blocked: Blocked) -> Finding:
    consumer = named(facts.view, blocked.consumer)
    alike = [each for each in facts.view.consumers if each.permits <= 0] if facts.several else []
    if consumer is not None and not consumer.held_messages and facts.several:
        why = "it is paused, or was never asked for a message"
    else:
        why = f"its queue is full and its application takes nothing from it{holds(consumer)}"
    who = f"Consumer {blocked.consumer} does not ask for more"
    if len(alike) > 1 and blocked.slot < 0:
        who = f"None of the {len(alike)} consumers asks for more. Of {blocked.consumer}"
    return Finding(
        "no-permits",
        Severity.ERROR,
        f"{who}: {why}.{_keys_of(facts, blocked, consumer)}",
        "see what its application does with the last message it got (it waits, or has stopped "
        f"calling receive); {_relief(facts, blocked)}",
        0 if consumer is None else consumer.last_flow_ms,
    )


def _keys_of(facts: Facts, blocked: Blocked, consumer: ConsumerView | None) -> str:
    """Key_Shared: what waits for this consumer alone, although others may have nothing to do."""
    if blocked.slot < 0 or consumer is None:
        return ""
    waiting = f"{counted(consumer.slots_waiting, 'entry')} of its hash slots"
    if len(consumer.slots) == 1:
        [(first, last)] = consumer.slots
        waiting += f" ({first} to {last})"
    elif consumer.slots:
        waiting += f" ({len(consumer.slots)} ranges of them)"
    idle = sum(each.permits > 0 and not each.blocked for each in facts.view.consumers)
    could = f", although {idle} other{'s ask' if idle != 1 else ' asks'} for more" if idle else ""
    wait = "waits" if consumer.slots_waiting == 1 else "wait"
    return f" {waiting} {wait} for it{could}: the next one is of slot {blocked.slot}."


def _relief(facts: Facts, blocked: Blocked) -> str:
    if blocked.slot >= 0:
        return f"closing {blocked.consumer} gives its keys to the others"
    if facts.several:
        return "more consumers help if it is only slow"
    return "closing it lets another take over"


def _not_writable(facts: Facts, blocked: Blocked) -> Finding:
    consumer = named(facts.view, blocked.consumer)
    return Finding(
        "slow-reader",
        Severity.ERROR,
        f"The client of consumer {blocked.consumer} ({consumer.address if consumer else '?'}) does "
        "not read what was sent to it: its process is stopped or overloaded, or its network slow.",
        "look at that process and its network; closing it gives its messages to others",
    )


def consumer_unacked(facts: Facts, blocked: Blocked) -> Finding:
    limit = facts.policies.unacked_per_consumer_max or 0
    consumer = named(facts.view, blocked.consumer)
    more = 2 * max(limit, 1, consumer.held_messages if consumer else 0)  # Than it holds, too.
    return Finding(
        "blocked-on-unacked-consumer",
        Severity.ERROR,
        f"Consumer {blocked.consumer} gets nothing: it holds {held_count(consumer)}, and may hold "
        f"{limit} (maxUnackedMessagesPerConsumer){held_since(consumer)}."
        f"{_keys_of(facts, blocked, consumer)}",
        "let it acknowledge what it has done; if it never does, close it; a higher limit: magnetar "
        f"admin topics set-max-unacked-messages-per-consumer -m {more} "
        f"{quote(facts.topic)}",
    )


def _subscription_unacked(facts: Facts, _: Blocked) -> Finding:
    limit = facts.policies.unacked_per_subscription_max or 0
    most = max(facts.view.consumers, key=lambda each: each.held_messages)
    total = sum(each.held_messages for each in facts.view.consumers)
    more = 2 * max(limit, 1, total)  # Than they hold, too.
    return Finding(
        "blocked-on-unacked-subscription",
        Severity.ERROR,
        f"Nobody gets anything: the consumers hold {total} messages, and may hold {limit} together "
        f"(maxUnackedMessagesPerSubscription) until half are acknowledged. Consumer {most.name} "
        f"holds most, {most.held_messages}{held_since(most)}.",
        f"let them acknowledge, or close {most.name}; a higher limit: magnetar admin topics "
        f"set-max-unacked-messages-per-subscription -m {more} {quote(facts.topic)}",
    )


def _delivered(facts: Facts, blocked: Blocked) -> Finding:
    view = facts.view
    holders = [each for each in view.consumers if each.held_entries or each.active]
    holder = named(view, blocked.consumer) or max(
        holders or view.consumers, key=lambda each: each.oldest_held_s or 0.0
    )
    held_s = holder.oldest_held_s
    since = ""
    if held_s is not None:
        since = f", the oldest for {duration(held_s)}"
    elif holder.last_acked_ms:
        since = f", which acknowledged last {duration(ago_s(facts, holder.last_acked_ms))} ago"
    slow = held_s is not None and held_s >= LONG_S
    return Finding(
        "waiting-for-acknowledgements",
        Severity.WARNING if slow or held_s is None else Severity.INFO,
        f"Everything was delivered. Not acknowledged yet: {counted(view.backlog, 'entry')}; "
        f"consumer {holder.name} holds {held_count(holder)}{since}.",
        f"see what {holder.name} does with them; an ackTimeout, or negative acknowledgements, give "
        "them to others",
        0 if held_s is None else facts.now_ms - round(held_s * 1000),
    )


def _failover(_: Facts, blocked: Blocked) -> Finding:
    return Finding(
        "failover-delay",
        Severity.INFO,
        f"Consumer {blocked.consumer} has just become active, and is served when "
        "activeConsumerFailoverDelayTimeMillis is over.",
        "wait; a shorter delay is a setting of the broker",
    )


def _chunks(_: Facts, blocked: Blocked) -> Finding:
    return Finding(
        "chunks",
        Severity.ERROR,
        f"The next entries are chunks of a message whose first chunks consumer {blocked.consumer} "
        "has, and it takes no more.",
        f"see what {blocked.consumer} waits for; closing it gives the whole message to another",
    )


def _drains(facts: Facts, blocked: Blocked) -> Finding:
    return Finding(
        "slot-drains",
        Severity.ERROR if blocked.held_s >= LONG_S else Severity.WARNING,
        f"Hash slot {blocked.slot} has a new owner, which gets nothing of it until consumer "
        f"{blocked.consumer} has acknowledged what it got before: it has held that for "
        f"{duration(blocked.held_s)}.",
        f"let {blocked.consumer} acknowledge, or close it; where order does not matter, let the "
        "consumers allow out-of-order delivery",
        facts.now_ms - round(blocked.held_s * 1000),
    )


def _unowned(_: Facts, blocked: Blocked) -> Finding:
    return Finding(
        "slot-unowned",
        Severity.ERROR,
        f"The next message is of hash slot {blocked.slot}, which no consumer has declared.",
        "start a consumer whose ranges contain it",
    )


_RATE_COMMANDS: Final = {
    "subscription": "set-subscription-dispatch-rate",
    "topic": "set-dispatch-rate",
}


def _dispatch_rate(facts: Facts, limit: str) -> DispatchRate | None:
    """The dispatch rate of a policy; None where the limit is no policy of this topic."""
    policies = facts.policies
    if limit == "topic":
        return policies.dispatch_rate
    own = (policies.of_subscriptions or {}).get(facts.view.name)
    if limit == "subscription":
        return (own and own.dispatch_rate) or policies.subscription_dispatch_rate
    return None


def _are(facts: Facts) -> str:
    return "is" if facts.view.backlog == 1 else "are"


def _rate(facts: Facts, blocked: Blocked) -> Finding:
    command = _RATE_COMMANDS.get(blocked.limit)
    rate = _dispatch_rate(facts, blocked.limit)
    said = "" if rate is None else rate_text(rate.messages, rate.size_bytes, rate.period_s)
    return Finding(
        "dispatch-rate",
        Severity.WARNING,
        f"The dispatch rate of the {blocked.limit}{said and f', {said},'} is used up for the "
        f"moment, and {counted(facts.view.backlog, 'entry')} {_are(facts)} left; deliveries waited "
        f"for limits {times(facts.view.rate_waits)} since the topic was loaded.",
        f"a higher rate, -1 for none: magnetar admin topics {command} -md -1 {quote(facts.topic)}"
        if command
        else "a higher rate: the broker's dispatchThrottlingRateInMsg, or the resource group's",
    )


def _delayed(facts: Facts, blocked: Blocked) -> Finding:
    until_s = max(blocked.until_ms - facts.now_ms, 0) / 1000
    return Finding(
        "delayed",
        Severity.INFO,
        f"What is left is delayed: {counted(facts.view.delayed, 'entry')}, the next one until "
        f"{instant(blocked.until_ms)}, in {duration(until_s)}.",
        "wait, or deliver all at once by switching delayed delivery off: magnetar admin topics "
        f"set-delayed-delivery --disable {quote(facts.topic)}",
    )


def _uncommitted(facts: Facts, blocked: Blocked) -> Finding:
    return Finding(
        "not-committed",
        Severity.WARNING,
        f"Transaction {blocked.transaction} of producer {blocked.producer} has been open for "
        f"{blocked.held_s:.0f} s; nothing that was published after its first message is delivered "
        "before it ends.",
        "commit or abort the transaction; it is aborted when its timeout is over",
        since_ms=facts.now_ms - round(blocked.held_s * 1000),
    )


def _read_failed(_: Facts, _blocked: Blocked) -> Finding:
    return Finding(
        "read-failed",
        Severity.ERROR,
        "The next entries could not be read from disk, which is tried again every 15 s.",
        "look for subscription.read_failed in the broker's log; restore the file, or reset the "
        "cursor beyond the damage",
    )


_BY_WHY: Final[dict[Why, Callable[[Facts, Blocked], Finding]]] = {
    Why.NO_PERMITS: _no_permits,
    Why.NOT_WRITABLE: _not_writable,
    Why.CONSUMER_UNACKED: consumer_unacked,
    Why.SUBSCRIPTION_UNACKED: _subscription_unacked,
    Why.ALL_DELIVERED: _delivered,
    Why.AWAITED: _delivered,
    Why.FAILOVER_DELAY: _failover,
    Why.CHUNK_OWNER: _chunks,
    Why.SLOT_DRAINS: _drains,
    Why.SLOT_UNOWNED: _unowned,
    Why.RATE: _rate,
    Why.DELAYED: _delayed,
    Why.NOT_COMMITTED: _uncommitted,
    Why.READ_FAILED: _read_failed,
}
