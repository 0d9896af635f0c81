"""What a subscription has acknowledged, holds and waits for. Looking changes nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from magnetar.broker.dispatch.blocked import Blocked
from magnetar.broker.dispatch.deliveries import Deliveries
from magnetar.broker.dispatch.key_shared import KeyShared
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.late_dataclass import dataclass
from magnetar.model.policy_values import BacklogQuota
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.managed_ledger.layout import Layout


class Slowest(NamedTuple):
    """The durable subscription of a topic that is furthest behind."""

    name: str
    entries: int
    size_bytes: int


@dataclass(slots=True)
class ConsumerView:
    """A consumer and its pending entries; ages are None where it holds none, or it is unknown."""

    name: str
    address: str
    permits: int
    active: bool  # It is, or may be, given messages.
    writable: bool
    blocked: bool  # It holds as many unacknowledged messages as it may.
    held_messages: int = 0
    held_entries: int = 0
    oldest_held: Position | None = None
    oldest_held_s: float | None = None
    delivered_messages: int = 0
    last_flow_ms: int = 0
    last_acked_ms: int = 0
    slots: Sequence[tuple[int, int]] = ()  # Key_Shared: its ranges of hash slots,
    slots_waiting: int = 0  # and entries of these that wait.


@dataclass(slots=True)
class SubscriptionView:
    """A subscription; positions are those of its cursor."""

    name: str
    type: SubscriptionType | None
    durable: bool
    backlog: int  # Entries.
    blocked: Blocked | None
    consumers: list[ConsumerView]
    backlog_bytes: int = 0
    mark: Position | None = None  # None in a non-persistent topic, as all that follows is empty.
    first_left: Position | None = None  # The first entry that is not acknowledged, if any.
    read_position: Position | None = None
    last: Position | None = None
    mark_moved_ms: int = 0
    ranges_count: int = 0  # Acknowledged ranges beyond the mark.
    ranges_fit: bool = True  # A restart forgets none.
    beyond: int = 0  # Entries in them.
    delivered: int = 0  # Entries that are out, or were read for the active consumer.
    waiting: int = 0
    delayed: int = 0
    delayed_until_ms: int | None = None
    redelivered_most: int = 0
    redelivered_position: Position | None = None
    rate_waits: int = 0
    expired: int = 0
    last_expired_ms: int = 0
    over_unacked_limit: bool = False
    hot_slot: int | None = None  # Key_Shared: the slot that most of what waits is of,
    hot_slot_waiting: int = 0  # so many entries,
    hot_slot_owner: str = ""  # and whose it is.
    dropped: int = 0  # Of a non-persistent topic.
    cursor: PersistentSubscription | None = field(default=None, repr=False)

    def ranges(self) -> Iterator[tuple[int, int, int]]:
        """Ledger, first and last entry of what is acknowledged beyond the mark, ascending."""
        if self.cursor is None:
            return iter(())
        by_ledger = sorted(self.cursor.cursor.acks.ranges.items())
        return chain.from_iterable(
            ((ledger_id, first, last) for first, last in zip(each.starts, each.ends, strict=True))
            for ledger_id, each in by_ledger
        )


def subscription_view(topic: Topic, subscription: Subscription, now: float) -> SubscriptionView:
    """Look at a subscription of a topic, at ``now`` of its clock."""
    dispatch = subscription.dispatch
    strategy = dispatch.strategy if dispatch else None
    table = strategy.table if strategy else None
    view = SubscriptionView(
        name=subscription.name,
        type=subscription.type,
        durable=subscription.durable,
        backlog=subscription.backlog,
        blocked=subscription.blocked_reason(),
        consumers=[_consumer(each, subscription, table, now) for each in subscription.consumers],
        over_unacked_limit=dispatch.over_unacked_limit if dispatch else False,
        waiting=dispatch.waiting_count if dispatch else 0,
        dropped=subscription.dropped_count,
    )
    stored = topic.stored
    if stored is not None and (found := stored.subscriptions.get(subscription.name)) is not None:
        _see_cursor(view, found, stored.upkeep.state.ledger.layout)
    if isinstance(strategy, KeyShared):
        _see_slots(view, subscription, strategy)
    return view


def furthest_behind(topic: StoredTopic, quota: BacklogQuota) -> Slowest | None:
    """The subscription with the largest backlog or, where the quota is one of age, the oldest."""
    behind = [each for each in topic.subscriptions.values() if each.durable and each.backlog]
    if not behind:
        return None
    if quota.limit_time_s > 0:
        found = min(behind, key=lambda each: each.mark)
    else:
        found = max(behind, key=lambda each: each.cursor.backlog_bytes)
    return Slowest(found.name, found.backlog, found.cursor.backlog_bytes)


def _consumer(
    consumer: Consumer,
    subscription: Subscription,
    table: Deliveries[Consumer] | None,
    now: float,
) -> ConsumerView:
    totals = consumer.totals
    seen = ConsumerView(
        consumer.name,
        consumer.connection.address,
        permits=consumer.permits,
        active=subscription.active in (None, consumer),
        writable=consumer.writable,
        blocked=consumer.blocked,
        held_messages=consumer.unacked,
        delivered_messages=totals.message_count,
        last_flow_ms=totals.last_flow_ms,
        last_acked_ms=totals.last_acked_ms,
    )
    if table is not None:
        held = table.out_of(consumer)
        seen.held_entries = sum(map(len, held.values()))
        oldest = min(
            (
                (each.since, ledger_id, entry_id)
                for ledger_id, here in held.items()
                for entry_id, each in here.items()
            ),
            default=None,
        )
        if oldest is not None:
            since, ledger_id, entry_id = oldest
            seen.oldest_held, seen.oldest_held_s = Position(ledger_id, entry_id), now - since
    return seen


def _see_cursor(
    view: SubscriptionView, subscription: PersistentSubscription, layout: Layout
) -> None:
    cursor = subscription.cursor
    acks = cursor.acks
    view.cursor = subscription
    view.backlog_bytes = cursor.backlog_bytes
    view.mark, view.read_position, view.last = acks.mark, cursor.reader.read_position, layout.last
    view.first_left = layout.next_position(acks.mark) if subscription.backlog else None
    view.mark_moved_ms = cursor.mark_moved_ms
    view.ranges_count, view.beyond = cursor.acked_ranges, acks.beyond
    view.ranges_fit = cursor.fits_its_record
    asked_again = (
        (count, -ledger_id, -entry_id)
        for ledger_id, here in acks.redeliveries.items()
        for entry_id, count in here.items()
    )
    most = max(asked_again, default=None)
    if most is not None:
        view.redelivered_most, view.redelivered_position = most[0], Position(-most[1], -most[2])
    delayed = subscription.delayed
    if delayed is not None:
        view.delayed, view.delayed_until_ms = delayed.count, delayed.until_ms
    if view.consumers:
        read = layout.entries_between(acks.mark, layout.last) - layout.entries_between(
            layout.previous_position(cursor.reader.read_position), layout.last
        )
        in_hand = view.waiting + view.delayed
        view.delivered = max(read - acks.beyond - in_hand, 0)
    if subscription.throttle is not None:
        view.rate_waits = sum(subscription.throttle.waits.values())
    view.expired, view.last_expired_ms = subscription.expired_count, subscription.last_expired_ms


def _see_slots(
    view: SubscriptionView, subscription: Subscription, strategy: KeyShared[Consumer]
) -> None:
    ranges = strategy.ranges.ranges()
    waiting_of = Counter[Consumer | None]()
    for slot, count in strategy.table.waiting_groups.items():
        waiting_of[strategy.ranges.select(slot)] += count
    for seen, consumer in zip(view.consumers, subscription.consumers, strict=True):
        seen.slots, seen.slots_waiting = ranges.get(consumer, ()), waiting_of[consumer]
    waiting = strategy.table.waiting_groups.items()
    view.hot_slot, view.hot_slot_waiting = max(waiting, key=itemgetter(1), default=(None, 0))
    if view.hot_slot is not None:
        owner = strategy.ranges.select(view.hot_slot)
        view.hot_slot_owner = "" if owner is None else owner.name
