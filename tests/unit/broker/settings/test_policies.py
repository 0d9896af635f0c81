from typing import get_args

from magnetar.broker.settings.policies import PolicySettings, SubscriptionTypeName
from magnetar.broker.settings.rates import RateSettings
from magnetar.model.policies import ROWS
from magnetar.model.policy_values import RetentionPolicies
from magnetar.model.subscriptions import SubscriptionType


def test_the_broker_sets_every_policy_that_is_in_force():
    broker = PolicySettings(
        auto_topics=False,
        auto_topic_kind="partitioned",
        auto_partitions=3,
        auto_subscriptions=False,
        retention_minutes=5,
        retention_mb=6,
        consumers_per_subscription_max=8,
        backlog_gb_max=0.5,
        inactive_check_s=7,
    ).policies()
    # No namespace may set these.
    own = {"key_shared_enabled", "producers_per_address_max", "consumers_per_address_max"}
    assert broker.given().keys() - own == {name for name, row in ROWS.items() if row.acts} - {
        "allowed_clusters",
        "auth",
        "subscription_auth_mode",
        "message_size_max",  # Only topics have it.
        "of_subscriptions",
        "offload",  # test_offload.py
        "properties",
        *RateSettings(publish_messages_max=1, replicator_dispatch_messages_max=1)
        .policies()
        .given(),
        "replication_clusters",
        "resource_group",
        "schema_auto_update",  # An older word of namespaces only.
    }
    assert broker.auto_topic_creation.allowed is False
    assert broker.auto_topic_creation.partitions_made == 3
    assert broker.auto_subscription_creation.allowed is False
    assert broker.retention == RetentionPolicies(5, 6)
    assert broker.consumers_per_subscription_max == 8
    assert broker.backlog_quota_size.limit_bytes == 512 * 1024 * 1024
    assert broker.backlog_quota_age.limit_time_s == -1
    assert broker.inactive_topics.inactive_s_max == 7, "as often as they are looked for"


def test_a_quota_in_bytes_comes_before_one_in_gigabytes():
    given = PolicySettings(backlog_bytes_max=5, backlog_gb_max=1.0).policies()
    assert given.backlog_quota_size.limit_bytes == 5


def test_every_type_of_subscription_can_be_switched_on():
    assert set(get_args(SubscriptionTypeName)) == {each.printed for each in SubscriptionType}
