from magnetar.broker.settings.rates import RateSettings
from magnetar.model.policy_values import DispatchRate, PublishRate, SubscribeRate


def test_what_nobody_sets_limits_nothing_and_is_shown_as_pulsar_does():
    policies = RateSettings().policies()
    assert policies.publish_rate is None
    assert policies.dispatch_rate == policies.subscription_dispatch_rate == DispatchRate(period_s=1)
    assert policies.subscribe_rate == SubscribeRate(period_s=30)


def test_limits_of_topics_and_subscriptions_are_policies_and_those_of_the_broker_are_not():
    given = RateSettings(
        publish_bytes_max=5,
        broker_publish_messages_max=6,
        dispatch_messages_max=7,
        dispatch_relative=True,
        subscription_dispatch_bytes_max=8,
        broker_dispatch_bytes_max=9,
        subscribes_per_consumer_max=10,
    )
    policies = given.policies()
    assert policies.publish_rate == PublishRate(0, 5)
    assert given.shared_publish == PublishRate(6, 0)
    assert policies.dispatch_rate == DispatchRate(7, 0, relative_to_publish_rate=True, period_s=1)
    assert policies.subscription_dispatch_rate.size_bytes == 8
    assert given.shared_dispatch == DispatchRate(0, 9)
    assert policies.subscribe_rate == SubscribeRate(10, 30)
