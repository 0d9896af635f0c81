import asyncio

import pytest
from support.topics import create_partitioned_topic
from unit.client.peer import Peer, refuse

from magnetar.client import blocking
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName
from magnetar.spark import topics
from magnetar.spark.offsets import Offset
from magnetar.spark.read_options import ReadOptions
from magnetar.wire.commands import BaseCommand


@pytest.fixture
def options(magnetar_broker):
    def options(**given):
        url = {"service.url": magnetar_broker.service_url}
        return ReadOptions.parse({**url, **given}, streaming=False)

    return options


def test_a_topic_is_its_partitions(client, magnetar_broker, options, topic):
    create_partitioned_topic(magnetar_broker.web_url, TopicName.parse(topic), 3)
    client.create_producer(f"{topic}-plain").close()
    names = topics.partitions(client, options(topics=f"{topic},{topic}-plain"))
    assert names == [*(f"{topic}-partition-{index}" for index in range(3)), f"{topic}-plain"]


def test_a_pattern_is_of_whole_names(client, options, topic):
    for name in (f"{topic}-1", f"{topic}-2", f"{topic}-2x", f"x{TopicName.parse(topic).local}-1"):
        client.create_producer(name).close()
    pattern = f"public/default/{TopicName.parse(topic).local}-[0-9]"
    assert topics.partitions(client, options(topicsPattern=pattern)) == [f"{topic}-1", f"{topic}-2"]


def test_the_last_message_of_each_partition(client, topic):
    with client.create_producer(topic, batch_delay_s=0.05) as producer:
        ids = producer.send_many([OutgoingMessage(b"%d" % number) for number in range(5)])
    client.create_producer(f"{topic}-empty").close()
    last = topics.last_offsets(client, [topic, f"{topic}-empty"])
    assert last == {topic: Offset(ids[-1].ledger_id, ids[-1].entry_id, 4), f"{topic}-empty": None}


def test_topics_that_do_not_exist_are_named_and_not_created(client, options, topic):
    client.create_producer(topic).close()
    with pytest.raises(TopicNotFound, match=f"^{topic}-1, {topic}-2 do not exist: .*create it"):
        topics.partitions(client, options(topics=f"{topic}-1,{topic},{topic}-2"))
    assert [name for name in client.topics("public/default") if topic in name] == [topic]


@pytest.mark.parametrize("suffix", ["", "-partition-0"])
def test_a_topic_deleted_since_it_was_found_is_not_created_again(client, topic, suffix):
    with pytest.raises(TopicNotFound, match=f"^{topic}{suffix} does not exist: .*create it"):
        topics.last_offsets(client, [topic + suffix])
    assert not [name for name in client.topics("public/default") if topic in name]


@pytest.mark.parametrize(("partitions", "missing"), [(0, True), (2, True), (3, False)])
async def test_a_partition_that_nobody_has_written_to_yet_has_no_messages(partitions, missing):
    """Only where the topic has that partition: Apache Pulsar refuses both with the same error."""
    peer = Peer()
    peer.partitions = partitions
    peer.script(BaseCommand.SUBSCRIBE, refuse("subscribe", TopicNotFound("no")))
    await peer.start()

    def ask():
        with blocking.Client(peer.url) as client:
            return topics.last_offsets(client, ["orders-partition-2"])

    try:
        if missing:
            with pytest.raises(TopicNotFound, match="orders-partition-2 does not exist: check"):
                await asyncio.to_thread(ask)
        else:
            assert await asyncio.to_thread(ask) == {"orders-partition-2": None}
    finally:
        await peer.stop()
