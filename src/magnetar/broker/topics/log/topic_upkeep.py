"""What time brings to a persistent topic: messages expire, backlogs exceed quotas."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from magnetar.broker.topics.features.compaction import bytes_to_compact
from magnetar.broker.topics.log import backlog_limits, inactivity
from magnetar.broker.topics.log.backlog_limits import Backlogged
from magnetar.broker.topics.publishing.topic_producers import TopicProducers
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.errors import BacklogQuotaExceeded
from magnetar.late_dataclass import dataclass
from magnetar.model.policy_values import BacklogQuota
from magnetar.model.position import Position

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TopicUpkeep:
    """The upkeep of one topic. All but ``expire_to`` raise what the stores raise."""

    state: StoredTopicState
    producers: TopicProducers
    subscriptions: Mapping[str, PersistentSubscription]
    drop: Callable[[PersistentSubscription], Awaitable[None]]
    """Lets go of a subscription, and of its place."""
    replicators: Mapping[str, Backlogged]

    async def expire(self, subscription: Backlogged, before_ms: int) -> int:
        """Acknowledge what was published before a time, in ms; return how many entries."""
        return await backlog_limits.expire(self.state.ledger, subscription, before_ms)

    def expire_to(
        self, subscription: Backlogged, position: Position, *, excluded: bool = False
    ) -> int:
        """Acknowledge what lies before ``position``, and it; ``excluded``: and the one after it.

        Return how many entries.
        """
        last = self.state.ledger.next_position(position) if excluded else position
        return subscription.expire(last)

    async def expire_old(self) -> None:
        """Acknowledge what is older than the policies let it become, for every backlog."""
        now_ms, ttl_s = self.state.clock.wall_ms(), self.state.policies.message_ttl_s or 0
        for subscription in self.backlogs() if ttl_s else ():
            await backlog_limits.expire(self.state.ledger, subscription, now_ms - ttl_s * 1000)

    async def producers_refused(self) -> BacklogQuotaExceeded | None:
        """Why producers are held back now; None: they are not. When that begins and ends is logged.

        Asked when one comes, and with each check of the backlog.
        """
        return self._refused_by(await self.exceeded_quota())

    def _refused_by(self, quota: BacklogQuota | None) -> BacklogQuotaExceeded | None:
        refused = None if quota is None else backlog_limits.refusal(quota)
        held_ms, now_ms = self.producers.held_since_ms, self.state.clock.wall_ms()
        if quota is not None and refused is not None and not held_ms:
            self.producers.held_since_ms = now_ms
            log.warning(
                "topic.producers_held topic=%s policy=%s limit_bytes=%d limit_s=%d",
                self.state.name,
                "" if quota.policy is None else quota.policy.value,
                quota.limit_bytes,
                quota.limit_time_s,
            )
        elif refused is None and held_ms:
            self.producers.held_since_ms = 0
            held_s = (now_ms - held_ms) / 1000
            log.warning("topic.producers_released topic=%s held_s=%g", self.state.name, held_s)
        return refused

    async def exceeded_quota(self) -> BacklogQuota | None:
        """The quota that a backlog exceeds."""
        return await backlog_limits.exceeded_quota(
            self.state.ledger, self.backlogs(), self.state.policies, self.state.clock.wall_ms()
        )

    async def check_backlog(self) -> None:
        """Where a backlog exceeds its quota, disconnect producers or acknowledge the oldest."""
        quota = await self.exceeded_quota()
        if self._refused_by(quota) is not None:
            self.producers.disconnect_attached()
        elif quota is not None:
            if quota is self.state.policies.backlog_quota_age:
                self.state.age_evictions += 1
            else:
                self.state.size_evictions += 1
            now_ms = self.state.clock.wall_ms()
            await backlog_limits.evict(
                self.state.ledger, self.backlogs(), self.state.policies, quota, now_ms
            )

    async def drop_unused_subscriptions(self) -> None:
        """Delete those that had no consumer for as long as the policies say."""
        unused_max_ms = (self.state.policies.subscription_expiration_minutes or 0) * 60_000
        for each in list(self.subscriptions.values()) if unused_max_ms else ():
            if each.durable and each.unused_ms(self.state.clock.wall_ms()) > unused_max_ms:
                log.info("subscription.unused topic=%s name=%s", self.state.name, each.name)
                await self.drop(each)

    def unused_max_s(self) -> float | None:
        """It is deleted when it was idle for so long; None: it is not to be."""
        backlogs = [each.backlog for each in self.subscriptions.values()]
        if any(each.backlog for each in self.replicators.values()):
            return None
        to_compact = (
            bytes_to_compact(self.state.ledger) if self.state.ledger.compacted is not None else None
        )
        return inactivity.unused_max_s(self.state.policies, backlogs, to_compact)

    def backlogs(self) -> list[Backlogged]:
        """Everything that has one: subscriptions, and replicators."""
        return [*self.subscriptions.values(), *self.replicators.values()]
