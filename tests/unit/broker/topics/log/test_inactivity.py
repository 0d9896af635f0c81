import pytest

from magnetar.broker.topics.log.inactivity import unused_max_s
from magnetar.model.policies import Policies
from magnetar.model.policy_values import (
    InactiveTopicDeleteMode,
    InactiveTopicPolicies,
    RetentionPolicies,
)

UNSUBSCRIBED = InactiveTopicPolicies(InactiveTopicDeleteMode.NO_SUBSCRIPTIONS, 60, True)
CAUGHT_UP = InactiveTopicPolicies(InactiveTopicDeleteMode.CAUGHT_UP, 60, True)


@pytest.mark.parametrize(
    ("rule", "retention_minutes", "backlogs", "to_compact", "expected"),
    [
        (None, 0, [], None, None),
        (UNSUBSCRIBED, 0, [], None, 60),
        (UNSUBSCRIBED, 2, [], None, 120),
        (UNSUBSCRIBED, -1, [], None, None),
        (UNSUBSCRIBED, 0, [0], None, None),
        (CAUGHT_UP, 0, [0], None, 60),
        (CAUGHT_UP, 0, [0, 1], None, None),
        (UNSUBSCRIBED, 0, [], 0, None),
        (CAUGHT_UP, 0, [], 0, 60),
        (CAUGHT_UP, 0, [], 5, None),
    ],
)
def test_who_keeps_an_idle_topic(rule, retention_minutes, backlogs, to_compact, expected):
    retention = RetentionPolicies(retention_minutes, -1 if retention_minutes else 0)
    policies = Policies(inactive_topics=rule, retention=retention)
    assert unused_max_s(policies, backlogs, to_compact) == expected
