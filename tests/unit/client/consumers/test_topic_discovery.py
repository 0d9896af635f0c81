"""Finding the topics of a pattern, with brokers that watch and brokers that do not."""

import re

import pytest
from support.loop import until
from unit.client.peer import refuse

from magnetar.errors import NotAllowed, NotAuthorized
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand

A, B, C = (f"persistent://public/default/{name}" for name in "abc")
ALL = re.compile("public/default/.*")


@pytest.fixture
def watching_peer(peer):
    peer.hello = lambda: replies.connected(
        "Peer", 21, peer.message_size_max, features=["supports_topic_watchers"]
    )
    return peer


def tell(peer, came=(), went=()):
    watcher = peer.of(BaseCommand.WATCH_TOPIC_LIST)[-1].watchTopicList.watcher_id
    peer.connections[0].write(replies.watch_topic_update(watcher, came, went, topics_hash="0"))


async def test_what_the_broker_tells_is_followed(watching_peer, client):
    consumer = await client.subscribe(ALL, "s", topics_refresh_s=0)
    assert sorted(consumer.topics) == [A, B]
    await watching_peer.saw(BaseCommand.GET_TOPICS_OF_NAMESPACE, 2)  # Again, once it watches.
    tell(watching_peer, came=[C, "persistent://public/other/x"], went=[A])
    await until(lambda: sorted(consumer.topics) == [B, C])
    await consumer.close()
    await watching_peer.saw(BaseCommand.WATCH_TOPIC_LIST_CLOSE)


async def test_a_partition_that_goes_leaves_the_others(watching_peer, client):
    watching_peer.topics = [f"{A}-partition-0", f"{A}-partition-1"]
    watching_peer.partitions = 2
    consumer = await client.subscribe(ALL, "s", topics_refresh_s=0)
    await watching_peer.saw(BaseCommand.GET_TOPICS_OF_NAMESPACE, 2)
    tell(watching_peer, came=[C], went=[f"{A}-partition-1"])
    await until(lambda: len(consumer.topics) == 4)
    tell(watching_peer, went=[f"{A}-partition-0"])
    await until(lambda: consumer.topics == [f"{C}-partition-0", f"{C}-partition-1"])


async def test_a_lost_watch_is_made_anew_with_a_list(watching_peer, client):
    consumer = await client.subscribe(ALL, "s", topics_refresh_s=0)
    await watching_peer.saw(BaseCommand.GET_TOPICS_OF_NAMESPACE, 2)
    watching_peer.topics = [B, C]
    watching_peer.connections[0].drop()
    await until(lambda: sorted(consumer.topics) == [B, C])
    await watching_peer.saw(BaseCommand.WATCH_TOPIC_LIST, 2)


async def test_a_broker_without_watchers_is_asked_now_and_then(peer, client):
    consumer = await client.subscribe(ALL, "s", topics_refresh_s=0.01)
    peer.topics = [B, C]
    await until(lambda: sorted(consumer.topics) == [B, C])
    assert not peer.of(BaseCommand.WATCH_TOPIC_LIST)


async def test_a_broker_that_refuses_to_watch_is_asked_now_and_then(watching_peer, client):
    watching_peer.script(
        BaseCommand.WATCH_TOPIC_LIST, refuse("watchTopicList", NotAllowed("they are off"))
    )
    consumer = await client.subscribe(ALL, "s", topics_refresh_s=0.01)
    watching_peer.topics = [C]
    await until(lambda: consumer.topics == [C])
    assert len(watching_peer.of(BaseCommand.WATCH_TOPIC_LIST)) == 1


async def test_a_list_that_is_refused_is_asked_for_again(peer, client):
    consumer = await client.subscribe(ALL, "s", topics_refresh_s=0.01)
    peer.script(
        BaseCommand.GET_TOPICS_OF_NAMESPACE,
        refuse("getTopicsOfNamespace", NotAuthorized("not now")),
    )
    peer.topics = [C]
    await until(lambda: consumer.topics == [C])


async def test_topics_of_the_pattern_are_never_created(peer, client):
    await client.subscribe(ALL, "s")
    await peer.saw(BaseCommand.SUBSCRIBE, 2)
    assert not any(c.subscribe.force_topic_creation for c in peer.of(BaseCommand.SUBSCRIBE))
    asked = peer.of(BaseCommand.PARTITIONED_METADATA)
    assert not any(c.partitionMetadata.metadata_auto_creation_enabled for c in asked)
