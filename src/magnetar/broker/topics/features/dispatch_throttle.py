"""Holds the deliveries of one subscription to rates, and wakes it when more may go."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.features import rate_limit
from magnetar.broker.topics.features.rate_limit import RateLimit
from magnetar.broker.topics.features.topic_rates import TopicRates, set_dispatch
from magnetar.clock import Clock
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.policy_values import DispatchRate
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

_INFINITE: Final = float("inf")


class DispatchThrottle:
    """The limits of a subscription, its topic, the broker and the resource group together."""

    def __init__(self, tasks: Tasks, clock: Clock) -> None:
        self.waits: Counter[tuple[str, str]] = Counter()
        """How often it waited for which limit: its name, and "Msg" or "Bytes"."""
        self._tasks = tasks
        self._clock = clock
        self._own = RateLimit("subscription", clock.now())
        self._limits: Sequence[RateLimit] = ()
        self._counted: Sequence[RateLimit] = ()
        self.bytes_left = _INFINITE
        """How many bytes may go, as of when ``capacity`` was asked."""
        self._used_up = ""  # The limit that it waits for, or did.
        self._waiting: asyncio.Task[None] | None = None

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return bool(self._limits)

    def apply(self, rate: DispatchRate | None, topic: TopicRates) -> None:
        """The subscription's own is this one from now on."""
        set_dispatch(self._own, rate, self._clock.now(), topic.published)
        self._limits = (self._own, *topic.dispatch) if self._own else topic.dispatch

    def capacity(self, wanted: int, wake: Callable[[], None]) -> int:
        """How many messages of those wanted may go now; where none, ``wake`` is called later."""
        self._counted = self._limits
        now = self._clock.now()
        most: float = wanted
        bytes_left = _INFINITE
        for limit in self._limits:
            limit.refill(now)
            if limit.messages < 1 or limit.size_bytes < 1:
                self._wake_later(wake, limit.name, "Msg" if limit.messages < 1 else "Bytes")
                return 0
            most = min(most, limit.messages)
            bytes_left = min(bytes_left, limit.size_bytes)
        self.bytes_left = bytes_left
        return int(most)

    def spare(self) -> None:
        """Do not count what is delivered next for any limit."""
        self._counted = ()
        self.bytes_left = _INFINITE

    def count(self, run: EntryRun, traits: EntryTraits, indexes: Sequence[int]) -> None:
        """Count delivered entries of a run; ``capacity`` or ``spare`` was called before."""
        messages, size_bytes = traits.message_count, run.size_bytes
        if len(indexes) < len(run.data):
            messages = sum(map(traits.message_counts.__getitem__, indexes))
            size_bytes = sum(map(len, map(run.data.__getitem__, indexes)))
        for limit in self._counted:
            limit.messages -= messages
            limit.size_bytes -= size_bytes

    def blocked(self) -> Blocked | None:
        """The limit that it waits for, if it does."""
        return Blocked(Why.RATE, limit=self._used_up) if self._waiting is not None else None

    def rest(self) -> None:
        """Stop waking dispatch loops."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _wake_later(self, wake: Callable[[], None], limit: str, what: str) -> None:
        if self._waiting is None:
            self.waits[limit, what] += 1
            self._used_up = limit
            self._waiting = self._tasks.spawn("dispatch rate", self._wait(wake))

    async def _wait(self, wake: Callable[[], None]) -> None:
        await self._clock.sleep(rate_limit.wait_s(self._limits, self._clock.now()))
        self._waiting = None
        wake()
