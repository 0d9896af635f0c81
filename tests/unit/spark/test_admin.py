from itertools import count

import pytest
from support.admin import ask

from magnetar.errors import NotReady
from magnetar.model.names import TopicName
from magnetar.spark import admin
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.quickstart.topics import create_partitioned_topic

NAMES = count()


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running:
        yield running


@pytest.fixture(params=[0, 2])
def topic(broker, request):
    """With partitions and without."""
    name = f"persistent://public/default/t{next(NAMES)}"
    if request.param:
        create_partitioned_topic(broker.web_url, TopicName.parse(name), request.param)
    else:
        ask(broker, "PUT", name.replace("://", "/"))
    return name


def test_a_topic_keeps_messages_for_a_subscription_or_by_retention(broker, topic):
    path = topic.replace("://", "/")
    assert not admin.keeps(broker.web_url, 10.0, topic)
    policy = {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1}
    ask(broker, "POST", f"{path}/retention", policy)
    assert admin.keeps(broker.web_url, 10.0, topic)
    ask(broker, "DELETE", f"{path}/retention")
    assert not admin.keeps(broker.web_url, 10.0, topic)
    ask(broker, "PUT", f"{path}/subscription/s", "earliest")
    assert admin.keeps(broker.web_url, 10.0, topic)


def test_deduplication_is_that_of_the_topic_itself(broker):
    topic = "persistent://public/default/with space"
    path = "persistent/public/default/with%20space"
    ask(broker, "PUT", path)
    assert not admin.deduplicates(broker.web_url, 10.0, topic)
    ask(broker, "POST", f"{path}/deduplicationEnabled", value=True)
    assert admin.deduplicates(broker.web_url, 10.0, topic)


def test_what_cannot_be_asked_names_the_address():
    with pytest.raises(NotReady, match=r"no admin API answers at http://127\.0\.0\.1:1"):
        admin.deduplicates("http://127.0.0.1:1", 1.0, "t")


def test_a_refusal_is_shown(broker):
    with pytest.raises(NotReady, match=r"404 Not Found.*"):
        admin.deduplicates(broker.web_url, 10.0, "there-is-no-such-topic")
