"""Why a subscription with consumers delivers nothing just now: the first reason that there is."""

from collections.abc import Iterator

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.broker.topics.subscriptions.delayed_delivery import DelayedDelivery
from magnetar.broker.topics.subscriptions.dispatch_capacity import DispatchCapacity
from magnetar.storage.managed_ledger.cursor import Cursor


def reasons(
    cursor: Cursor,
    strategy: Strategy[Consumer],
    capacity: DispatchCapacity,
    delayed: DelayedDelivery | None,
    *,
    reading: Why | None,
    uncommitted: Blocked | None,
    now: float,
) -> Iterator[Blocked | None]:
    """All that can hold up this subscription, by what must change first.

    ``reading`` is READING or READ_FAILED while entries are being read from disk; ``uncommitted``
    says which transaction hides entries, if there is one.
    """
    table = strategy.table
    if not strategy.receivers:
        yield strategy.blocked(now)
    if table is None:
        delayed = None
    if delayed is not None and delayed.busy:
        yield Blocked(Why.READ_FAILED if delayed.failed else Why.READING)
    waiting = table is not None and (table.waiting_count or table.returned)
    if not waiting and not cursor.reader.has_more:
        if delayed is None or not delayed.count:
            yield _nothing_to_read(cursor, strategy, uncommitted, now)
        elif (until_ms := delayed.until_ms) is not None:
            yield Blocked(Why.DELAYED, until_ms=until_ms)
    if reading is not None:
        yield Blocked(reading)
    if table is not None and capacity.check_unacked_limit():
        yield Blocked(Why.SUBSCRIPTION_UNACKED)
    if capacity.throttle is not None:
        yield capacity.throttle.blocked()
    yield strategy.blocked(now)


def _nothing_to_read(
    cursor: Cursor, strategy: Strategy[Consumer], uncommitted: Blocked | None, now: float
) -> Blocked:
    if not cursor.backlog:
        return Blocked(Why.NOTHING_TO_READ)
    if uncommitted is not None and cursor.reader.has_hidden:
        return uncommitted
    table, oldest = strategy.table, cursor.reader.oldest
    for consumer in strategy.receivers:
        since = None if table is None else table.entry_held_since(consumer, oldest)
        if since is not None:
            return Blocked(Why.AWAITED, consumer.name, held_s=now - since)
    return Blocked(Why.ALL_DELIVERED)
