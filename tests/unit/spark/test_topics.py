import pytest

from magnetar.client.message import OutMessage
from magnetar.model.names import TopicName
from magnetar.spark import topics
from magnetar.spark.offsets import Offset
from magnetar.spark.options import ReadOptions
from magnetar.tools.quickstart.admin import create_partitioned_topic


@pytest.fixture
def options(magnetar_broker):
    def options(**given):
        url = {"service.url": magnetar_broker.service_url}
        return ReadOptions.parse({**url, **given}, streaming=False)

    return options


def test_a_topic_is_its_partitions(client, magnetar_broker, options, topic):
    create_partitioned_topic(magnetar_broker.web_url, TopicName.parse(topic), 3)
    names = topics.partitions(client, options(topics=f"{topic},{topic}-plain"))
    assert names == [*(f"{topic}-partition-{index}" for index in range(3)), f"{topic}-plain"]


def test_a_pattern_is_of_whole_names(client, options, topic):
    for name in (f"{topic}-1", f"{topic}-2", f"{topic}-2x", f"x{TopicName.parse(topic).local}-1"):
        client.create_producer(name).close()
    pattern = f"public/default/{TopicName.parse(topic).local}-[0-9]"
    assert topics.partitions(client, options(topicsPattern=pattern)) == [f"{topic}-1", f"{topic}-2"]


def test_the_last_message_of_each_partition(client, topic):
    with client.create_producer(topic, batch_delay_s=0.05) as producer:
        ids = producer.send_many([OutMessage(b"%d" % number) for number in range(5)])
    last = topics.last_offsets(client, [topic, f"{topic}-empty"])
    assert last == {topic: Offset(ids[-1].ledger_id, ids[-1].entry_id, 4), f"{topic}-empty": None}
