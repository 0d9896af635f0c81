from magnetar.broker.policies import IN_FORCE
from magnetar.broker.settings import PolicySettings
from magnetar.model.policy_values import AutoTopicCreationOverride, RetentionPolicies


def test_the_broker_says_something_of_every_policy_that_is_in_force_but_for_clusters():
    settings = PolicySettings(auto_topics=False, retention_minutes=5, producers_per_topic_max=3)
    policies = settings.policies()
    clusters = {"allowed_clusters", "replication_clusters"}
    assert policies.given().keys() == IN_FORCE - clusters
    assert policies.auto_topic_creation == AutoTopicCreationOverride(False, "non-partitioned", 1)
    assert policies.retention == RetentionPolicies(5, 0)
    assert policies.producers_per_topic_max == 3
