"""What time brings to a persistent topic: messages expire, backlogs exceed quotas."""

import logging
from dataclasses import dataclass

from magnetar.broker.topics import backlog_limits, inactivity
from magnetar.broker.topics.compaction import bytes_to_compact
from magnetar.broker.topics.persistent_subscription import PersistentSubscription, own
from magnetar.broker.topics.subscription import Subscription
from magnetar.broker.topics.topic_producers import TopicProducers
from magnetar.broker.topics.topic_subscriptions import TopicSubscriptions
from magnetar.clock import Clock
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_values import BacklogQuota
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TopicUpkeep:
    """The upkeep of one topic. All but ``expire_to`` raise what the stores raise."""

    topic: TopicName
    ledger: ManagedLedger
    subscriptions: TopicSubscriptions
    producers: TopicProducers
    policies: Policies
    clock: Clock

    async def expire(self, subscription: Subscription, before_ms: int) -> int:
        """Acknowledge what was published before a time, in ms; return how many entries."""
        return await backlog_limits.expire(self.ledger, own(subscription), before_ms)

    def expire_to(
        self, subscription: Subscription, position: Position, *, excluded: bool = False
    ) -> int:
        """Acknowledge what lies before ``position``, and it; ``excluded``: and the one after it.

        Return how many entries.
        """
        last = self.ledger.next_position(position) if excluded else position
        return own(subscription).expire(last)

    async def expire_old(self) -> None:
        """Acknowledge what is older than the policies let it become, for every subscription."""
        now_ms, ttl_s = self.clock.wall_ms(), self.policies.message_ttl_s or 0
        for subscription in self._all() if ttl_s else ():
            await backlog_limits.expire(self.ledger, subscription, now_ms - ttl_s * 1000)

    async def exceeded_quota(self) -> BacklogQuota | None:
        """The quota that a backlog exceeds."""
        return await backlog_limits.exceeded_quota(
            self.ledger, self._all(), self.policies, self.clock.wall_ms()
        )

    async def check_backlog(self) -> None:
        """Where a backlog exceeds its quota, disconnect producers or acknowledge the oldest."""
        quota = await self.exceeded_quota()
        if quota is None:
            return
        if backlog_limits.refusal(quota) is None:
            if quota is self.policies.backlog_quota_age:
                self.subscriptions.age_evictions += 1
            else:
                self.subscriptions.size_evictions += 1
            now_ms = self.clock.wall_ms()
            await backlog_limits.evict(self.ledger, self._all(), self.policies, quota, now_ms)
        else:
            self.producers.disconnect_attached()

    async def drop_unused_subscriptions(self) -> None:
        """Delete those that had no consumer for as long as the policies say."""
        unused_max_ms = (self.policies.subscription_expiration_minutes or 0) * 60_000
        for each in self._all() if unused_max_ms else ():
            if each.durable and each.unused_ms(self.clock.wall_ms()) > unused_max_ms:
                log.info("subscription.unused topic=%s name=%s", self.topic, each.name)
                await self.subscriptions.drop(each)

    def unused_max_s(self) -> float | None:
        """It is deleted when it was idle for so long; None: it is not to be."""
        backlogs = [each.backlog for each in self._all()]
        to_compact = bytes_to_compact(self.ledger) if self.ledger.compacted is not None else None
        return inactivity.unused_max_s(self.policies, backlogs, to_compact)

    def _all(self) -> list[PersistentSubscription]:
        return list(self.subscriptions.by_name.values())
