"""How much a subscription may be delivered now: by permits, rates, and what is unacknowledged."""

from collections.abc import Callable
from typing import Final

from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.features.dispatch_throttle import DispatchThrottle
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.callbacks import unheard
from magnetar.model.policies import Policies
from magnetar.storage.managed_ledger.cursor import Cursor

CAUGHT_UP_ENTRIES_MAX: Final = 1_000
"""With a smaller backlog a subscription counts as caught up, and may be spared the limits."""


class DispatchCapacity:
    """What a dispatch loop may deliver; ``wake`` is called when that may have become more.

    ``throttle`` has the rates, where there are any.
    """

    __slots__ = (
        "_cursor",
        "_settings",
        "_strategy",
        "_table",
        "_unacked_max",
        "_wake",
        "over_unacked_limit",
        "read_bytes_max",
        "throttle",
    )

    def __init__(
        self,
        cursor: Cursor,
        strategy: Strategy[Consumer],
        throttle: DispatchThrottle | None,
        *,
        settings: TopicSettings,
        wake: Callable[[], None],
    ) -> None:
        self._cursor = cursor
        self._strategy = strategy
        self._table = strategy.table
        self._settings = settings
        self._wake = wake
        self._unacked_max = 0  # Messages, of all consumers together; 0: no limit.
        self.over_unacked_limit = False
        """Nothing is delivered: too much is unacknowledged on the subscription."""
        self.limit_rates(throttle)

    def apply(self, policies: Policies) -> None:
        """Apply new limits."""
        self._unacked_max = policies.unacked_per_subscription_max or 0
        self.over_unacked_limit = False  # The next look is at the new limit.

    def limit_rates(self, throttle: DispatchThrottle | None) -> None:
        """Deliver no faster than this allows from now on."""
        self.throttle = throttle
        self.read_bytes_max = self._settings.read_bytes_max
        """So many bytes may be read for what goes out now."""

    def rest(self) -> None:
        """Stop waking the dispatch loop."""
        self._wake = unheard
        if self.throttle is not None:
            self.throttle.rest()

    def messages(self) -> int:
        """Messages that may go out now, over all consumers."""
        table = self._table
        if table is not None and (table.returned or self.check_unacked_limit()):
            return 0
        capacity = 0
        for consumer in self._strategy.receivers:
            its = consumer.capacity
            if its > 0:
                capacity += its
            elif not consumer.connection.writable:
                consumer.connection.when_writable(self._wake)
        if self.throttle is not None and capacity > 0:
            return self._within_rates(capacity, self.throttle)
        return capacity

    def check_unacked_limit(self) -> bool:
        """Once it is reached, half of it must be acknowledged; a limit of 1 as a whole."""
        limit = self._unacked_max
        if self.over_unacked_limit:
            limit = max(limit // 2, 1)
        messages = 0 if self._table is None else self._table.messages
        self.over_unacked_limit = self._unacked_max > 0 and messages >= limit
        return self.over_unacked_limit

    def _within_rates(self, capacity: int, throttle: DispatchThrottle) -> int:
        settings = self._settings
        if settings.throttle_caught_up or self._cursor.backlog >= CAUGHT_UP_ENTRIES_MAX:
            capacity = throttle.capacity(capacity, self._wake)
        else:
            throttle.spare()
        self.read_bytes_max = int(min(settings.read_bytes_max, throttle.bytes_left))
        return capacity
