"""What policies do with messages that are not acknowledged: they expire, or exceed a quota."""

from collections.abc import Iterable
from typing import Final, Protocol

from magnetar.broker.topics.log import log_positions
from magnetar.errors import BacklogQuotaExceeded, BacklogQuotaHeld
from magnetar.model.policies import Policies
from magnetar.model.policy_values import BacklogQuota, BacklogQuotaPolicy
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

LEFT_BY_EVICTION: Final = 0.9
"""The share of its quota that eviction leaves of a backlog, as in Pulsar."""


class Backlogged(Protocol):
    """What has a backlog in a topic: a subscription, or a replicator."""

    cursor: Cursor

    @property
    def name(self) -> str:
        """That of its cursor."""

    @property
    def durable(self) -> bool: ...

    @property
    def backlog(self) -> int: ...

    @property
    def mark(self) -> Position: ...

    def acknowledge_up_to(self, position: Position) -> None:
        """Acknowledge everything up to a position."""

    def expire(self, position: Position) -> int:
        """The same of what is too old; return how many entries."""


async def expire(ledger: ManagedLedger, subscription: Backlogged, before_ms: int) -> int:
    """Acknowledge what was published before a time, in ms; return how many entries.

    Messages are taken to be in the order of their publish times. What readers do not see yet is
    left, since it may be committed. Raises what the stores raise.
    """
    oldest_ms = await log_positions.publish_time_behind(ledger, subscription.mark)
    if not 0 <= oldest_ms < before_ms:
        return 0
    first_kept = await log_positions.position_at(ledger, before_ms)
    last = ledger.layout.previous_position(first_kept)
    return subscription.expire(min(last, ledger.last_visible))


async def exceeded_quota(
    ledger: ManagedLedger,
    subscriptions: Iterable[Backlogged],
    policies: Policies,
    now_ms: int,
) -> BacklogQuota | None:
    """The quota that the backlog of a durable subscription exceeds. Raises what ``read`` raises."""
    size, age = policies.backlog_quota_size, policies.backlog_quota_age
    behind = [each for each in subscriptions if each.durable and each.backlog]
    if size is not None and size.limit_bytes > 0:
        largest = max((each.cursor.backlog_bytes for each in behind), default=0)
        if largest >= size.limit_bytes:
            return size
    if age is not None and age.limit_time_s > 0 and behind:
        oldest_ms = await log_positions.publish_time_behind(
            ledger, min(each.mark for each in behind)
        )
        if 0 <= oldest_ms < now_ms - age.limit_time_s * 1000:
            return age
    return None


def grows_old(subscriptions: Iterable[Backlogged], policies: Policies) -> bool:
    """Whether time alone brings messages or subscriptions to an end: someone must be there."""
    age = policies.backlog_quota_age
    evicts = age is not None and age.limit_time_s > 0 and refusal(age) is None
    expires = bool(policies.message_ttl_s or evicts)
    dropped = bool(policies.subscription_expiration_minutes)
    return any(dropped or (expires and each.backlog) for each in subscriptions)


def refusal(quota: BacklogQuota) -> BacklogQuotaExceeded | None:
    """The error for a producer while this quota is exceeded; None if it may come all the same."""
    text = (
        "Cannot create producer on topic with backlog quota exceeded: acknowledge or skip "
        "messages, delete the subscription that is behind, or raise the quota"
    )
    match quota.policy:
        case BacklogQuotaPolicy.EVICTION:
            return None
        case BacklogQuotaPolicy.EXCEPTION:
            return BacklogQuotaExceeded(text)
        case _:
            return BacklogQuotaHeld(text)


async def evict(
    ledger: ManagedLedger,
    subscriptions: Iterable[Backlogged],
    policies: Policies,
    quota: BacklogQuota,
    now_ms: int,
) -> None:
    """Acknowledge the oldest messages, until no durable subscription exceeds ``quota`` by far.

    It is the one of the policies that is exceeded: the other may ask for something else.
    """
    for each in [each for each in subscriptions if each.durable]:
        if quota is policies.backlog_quota_age:
            await expire(ledger, each, now_ms - quota.limit_time_s * 1000)
        elif each.cursor.backlog_bytes >= quota.limit_bytes:
            left = int(quota.limit_bytes * LEFT_BY_EVICTION)
            last = log_positions.position_before_last(ledger, each.mark, left)
            each.expire(min(last, ledger.last_visible))
