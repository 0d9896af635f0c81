import pytest

from magnetar.broker.topics.features import subscribe_throttle
from magnetar.broker.topics.features.subscribe_throttle import SubscribeThrottle
from magnetar.errors import NotAllowed
from magnetar.model.policy_values import SubscribeRate


def test_a_consumer_may_subscribe_so_often_and_others_as_often():
    throttle = SubscribeThrottle(SubscribeRate(2, 30))
    throttle.admit(("host", "a", 1), 0)
    throttle.admit(("host", "a", 1), 0)
    with pytest.raises(NotAllowed) as refused:
        throttle.admit(("host", "a", 1), 1)
    assert str(refused.value) == "Subscribe limited by subscribe rate limit per consumer."
    for other in [("elsewhere", "a", 1), ("host", "b", 1), ("host", "a", 2)]:
        throttle.admit(other, 1)
    throttle.admit(("host", "a", 1), 15)


def test_the_first_is_forgotten_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(subscribe_throttle, "CONSUMERS_KNOWN_MAX", 2)
    throttle = SubscribeThrottle(SubscribeRate(1, 30))
    for number in range(3):
        throttle.admit(("host", "", number), 0)
    throttle.admit(("host", "", 0), 0)
    with pytest.raises(NotAllowed):
        throttle.admit(("host", "", 2), 0)
