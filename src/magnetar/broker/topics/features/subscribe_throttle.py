"""How often a consumer may subscribe to a topic. Pure."""

from typing import Final

from magnetar.broker.topics.features.rate_limit import RateLimit
from magnetar.errors import NotAllowed
from magnetar.model.policy_values import SubscribeRate

CONSUMERS_KNOWN_MAX: Final = 10_000
"""Of more, those are forgotten that came first, and may subscribe again."""

Identity = tuple[str, str, int]
"""A consumer's host, name and id: what it comes back with."""


class SubscribeThrottle:
    """Counts what consumers of one topic ask for."""

    def __init__(self, rate: SubscribeRate) -> None:
        self.rate = rate
        self._limits: dict[Identity, RateLimit] = {}

    def admit(self, consumer: Identity, now: float) -> None:
        """Let it subscribe. Raises NotAllowed."""
        limit = self._limits.get(consumer)
        if limit is None:
            limit = self._limits[consumer] = RateLimit("consumer", now)
            limit.set(self.rate.per_consumer, 0, now, period_s=self.rate.period_s)
            if len(self._limits) > CONSUMERS_KNOWN_MAX:
                del self._limits[next(iter(self._limits))]
        limit.refill(now)
        if limit.messages < 1:
            raise NotAllowed("Subscribe limited by subscribe rate limit per consumer.")
        limit.take(1, 0, now)
