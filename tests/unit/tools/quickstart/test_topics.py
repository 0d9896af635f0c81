import pytest

from magnetar.errors import InvalidName
from magnetar.tools.quickstart.topics import QuickstartTopics


def test_topics_share_a_prefix():
    topics = QuickstartTopics.named("quickstart-1")
    assert str(topics.flights) == "persistent://public/default/quickstart-1-flights"
    assert len({topics.flights, topics.results, topics.cancelled}) == 3


def test_a_prefix_may_name_a_namespace():
    assert str(QuickstartTopics.named("t/n/x").results) == "persistent://t/n/x-carrier-days"
    with pytest.raises(InvalidName):
        QuickstartTopics.named("a/b")
