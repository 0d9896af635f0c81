"""How fast the soak sends."""

import pytest

from bench.soak.flows import Flow
from bench.soak.pace import Pace
from magnetar.model.subscriptions import SubscriptionType


@pytest.fixture
def flow():
    return Flow("some", SubscriptionType.SHARED, topics=2, rate=10, sizes=(100,))


def sent(pace, now, *, refused=()):
    topics = []

    def send(topic):
        if topic in refused:
            return False
        topics.append(topic)
        return True

    pace.send_due(now, send)
    return topics


def test_each_topic_gets_its_rate(flow):
    pace = Pace(flow, 100.0)
    first, second = flow.all_topics
    assert sent(pace, 100.25) == [first] * 2 + [second] * 2
    assert sent(pace, 100.5) == [first] * 3 + [second] * 3


def test_what_could_not_be_sent_is_made_up_for_up_to_a_bound(flow):
    pace = Pace(flow, 0.0)
    first, second = flow.all_topics
    assert sent(pace, 0.5, refused=[first]) == [second] * 5
    assert sent(pace, 0.5) == [first] * 5
    assert sent(pace, 60.0) == [first] * 10 + [second] * 10
