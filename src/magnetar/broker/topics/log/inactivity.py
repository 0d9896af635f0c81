"""For how long a topic may be idle before it is deleted. Pure."""

from collections.abc import Iterable

from magnetar.model.policies import Policies
from magnetar.model.policy_values import InactiveTopicDeleteMode, RetentionPolicies


def unused_max_s(
    policies: Policies, backlogs: Iterable[int], to_compact: int | None
) -> float | None:
    """How long an idle topic with these ``backlogs`` of subscriptions is kept; None: for ever.

    ``to_compact``: the bytes since it was compacted; None where it never was.
    """
    rule, retention = policies.inactive_topics, policies.retention or RetentionPolicies()
    if rule is None or not rule.delete_while_inactive or retention.time_s < 0:
        return None
    caught_up = rule.delete_mode is InactiveTopicDeleteMode.CAUGHT_UP
    if to_compact is not None and not (caught_up and not to_compact):
        return None  # For compaction Pulsar has a subscription.
    if any(not caught_up or backlog for backlog in backlogs):
        return None
    return max(rule.inactive_s_max, retention.time_s)
