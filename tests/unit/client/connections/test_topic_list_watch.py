"""What a broker tells of topics, and when the list has to be read again."""

import pytest
from support.loop import until
from unit.client.peer import hang_up, refuse

from magnetar.client.connections import topic_list_watch
from magnetar.client.connections.topic_list_watch import TopicListWatch
from magnetar.errors import NotAllowed
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


@pytest.fixture
def calls():
    return []


@pytest.fixture
def watch(calls):
    return TopicListWatch(5, "public/default", "public/default/.*", lambda: calls.append(None))


@pytest.fixture
def watching_peer(peer):
    peer.hello = lambda: replies.connected(
        "Peer", 21, peer.message_size_max, features=["supports_topic_watchers"]
    )
    return peer


async def told(peer, calls, came=(), went=()):
    count = len(calls)
    peer.connections[0].write(replies.watch_topic_update(5, came, went, topics_hash="0"))
    await until(lambda: len(calls) > count)


async def test_what_comes_and_goes_is_taken_once(watching_peer, lookup, watch, calls):
    await lookup.watch_topics(watch)
    asked = (await watching_peer.saw(BaseCommand.WATCH_TOPIC_LIST)).watchTopicList
    assert (asked.namespace, asked.topics_pattern) == ("public/default", "public/default/.*")
    assert not watch.stale
    await told(watching_peer, calls, came=["a", "b"])
    await told(watching_peer, calls, came=["c"], went=["a"])
    assert watch.take() == {"a": False, "b": True, "c": True}
    assert watch.take() == {}
    watch.end()
    assert watch.stale
    await watching_peer.saw(BaseCommand.WATCH_TOPIC_LIST_CLOSE)


async def test_a_lost_connection_makes_it_stale(watching_peer, lookup, watch, calls):
    await lookup.watch_topics(watch)
    watching_peer.connections[0].drop()
    await until(lambda: calls)
    assert watch.stale
    await lookup.watch_topics(watch)
    assert not watch.stale


async def test_more_than_it_holds_makes_it_stale(watching_peer, lookup, watch, calls, monkeypatch):
    monkeypatch.setattr(topic_list_watch, "TOLD_MAX", 2)
    await lookup.watch_topics(watch)
    await told(watching_peer, calls, came=["a", "b", "c"])
    assert watch.stale
    assert watch.take() == {}


async def test_a_broker_that_knows_no_watchers_is_not_asked(peer, lookup, watch):
    with pytest.raises(NotAllowed):
        await lookup.watch_topics(watch)
    assert not peer.of(BaseCommand.WATCH_TOPIC_LIST)


async def test_a_watch_that_is_refused_leaves_nothing_behind(watching_peer, lookup, watch):
    watching_peer.script(
        BaseCommand.WATCH_TOPIC_LIST, refuse("watchTopicList", NotAllowed("they are off"))
    )
    with pytest.raises(NotAllowed, match="they are off"):
        await lookup.watch_topics(watch)
    assert watch.stale


async def test_a_connection_that_breaks_meanwhile_is_tried_again(watching_peer, lookup, watch):
    watching_peer.script(BaseCommand.WATCH_TOPIC_LIST, hang_up)
    await lookup.watch_topics(watch)
    assert not watch.stale
    assert len(watching_peer.of(BaseCommand.WATCH_TOPIC_LIST)) == 2
