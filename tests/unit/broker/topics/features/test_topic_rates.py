import pytest
from support.clock import ManualClock

from magnetar.broker.settings.rates import RateSettings
from magnetar.broker.topics.features.topic_rates import TopicRates, limited
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DispatchRate, PublishRate, SubscriptionPolicies


def test_the_broker_s_defaults_limit_nothing():
    assert not limited(RateSettings().policies(), None)


@pytest.mark.parametrize(
    "policies",
    [
        Policies(publish_rate=PublishRate(size_bytes=1)),
        Policies(dispatch_rate=DispatchRate(1)),
        Policies(subscription_dispatch_rate=DispatchRate(size_bytes=1)),
        Policies(of_subscriptions={"s": SubscriptionPolicies(DispatchRate(1))}),
        RateSettings(publish_messages_max=1).policies(),
        RateSettings(dispatch_bytes_max=1).policies(),
        RateSettings(subscription_dispatch_messages_max=1).policies(),
    ],
)
def test_every_rate_limits_something(policies):
    assert limited(policies, None)


def test_what_nobody_limits_goes_straight_through():
    def publish(producer, run): ...

    rates = TopicRates(publish, lambda: (0, 0), None, ManualClock())
    rates.apply(Policies(dispatch_rate=DispatchRate(1)), ())
    assert rates.publish is publish
    assert [limit.name for limit in rates.dispatch] == ["topic"]
    rates.apply(Policies(publish_rate=PublishRate(1)), ())
    assert rates.publish == rates.throttle.publish
    assert rates.dispatch == ()
