"""Clients that watch topics are told which ones come and go, each what it asked for."""

import pytest
from support.loop import until
from unit.broker.peer import Peer

from magnetar.broker.handlers import topic_watch
from magnetar.model.hashing import topics_hash
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

ALL = "persistent://public/default/.*"


def name_of(local):
    return f"persistent://public/default/{local}"


async def ask(peer, watcher_id=1, pattern=ALL, **values):
    fields = {"namespace": "public/default", "topics_pattern": pattern, **values}
    return await peer.ask("watchTopicList", request_id=7, watcher_id=watcher_id, **fields)


async def watch(peer, watcher_id=1, pattern=ALL, **values):
    answer = (await ask(peer, watcher_id, pattern, **values)).watchTopicListSuccess
    assert (answer.request_id, answer.watcher_id) == (7, watcher_id)
    return list(answer.topic), answer.topics_hash


async def update(peer):
    answer = (await peer.hear()).watchTopicUpdate
    return answer.watcher_id, list(answer.new_topics), list(answer.deleted_topics)


def topics(broker):
    return broker.broker.registry


async def test_it_begins_with_what_is_there_and_tells_what_comes_and_goes(broker, peer, other):
    await other.produce(topic=name_of("a"))
    assert await watch(peer) == ([name_of("a")], topics_hash([name_of("a")]))
    await other.produce(2, topic=name_of("b"))
    answer = (await peer.hear()).watchTopicUpdate
    assert (list(answer.new_topics), list(answer.deleted_topics)) == ([name_of("b")], [])
    assert answer.topics_hash == topics_hash([name_of("a"), name_of("b")])
    registry = topics(broker)
    await registry.delete(next(each for each in registry.loaded if each.local == "a"), force=True)
    assert await update(peer) == (1, [], [name_of("a")])
    await peer.nothing_more()


async def test_every_watcher_hears_of_topics_that_match(peer, other):
    assert await watch(peer, 1, "public/default/x.*") == ([], "00000000")
    await watch(peer, 2, "public/default/y.*")
    await other.produce(topic=name_of("y1"))
    assert await update(peer) == (2, [name_of("y1")], [])
    await other.produce(2, topic="non-persistent://public/default/x2")
    await peer.nothing_more()


async def test_a_list_that_the_client_has_is_not_sent_again(peer, other):
    await other.produce(topic=name_of("a"))
    names, known = await watch(peer)
    assert names
    assert await watch(peer, 2, topics_hash=known) == ([], known)


async def test_a_watcher_that_is_closed_or_replaced_hears_nothing(peer, other):
    await watch(peer, 1)
    await watch(peer, 1, "public/default/only")
    await watch(peer, 2)
    for watcher_id in (2, 99):
        closed = await peer.ask("watchTopicListClose", request_id=8, watcher_id=watcher_id)
        assert closed.success.request_id == 8
    await other.produce(topic=name_of("a"))
    await peer.nothing_more()
    await other.produce(2, topic=name_of("only"))
    assert await update(peer) == (1, [name_of("only")], [])


async def test_of_two_at_once_with_one_id_the_later_one_watches(peer, other):
    fields = {"watcher_id": 1, "namespace": "public/default"}
    peer.tell("watchTopicList", request_id=7, topics_pattern="public/default/a", **fields)
    peer.tell("watchTopicList", request_id=8, topics_pattern="public/default/b", **fields)
    answers = [await peer.hear(), await peer.hear()]
    refused = [each.error.request_id for each in answers if each.HasField("error")]
    began = [
        each.watchTopicListSuccess.request_id for each in answers if not each.HasField("error")
    ]
    assert (refused, began) in (([7], [8]), ([], [7, 8]))
    await other.produce(1, topic=name_of("a"))
    await other.produce(2, topic=name_of("b"))
    assert await update(peer) == (1, [name_of("b")], [])


async def test_an_unknown_namespace_has_no_topics_and_a_bad_one_ends_the_connection(peer):
    assert await watch(peer, namespace="public/nosuch") == ([], "00000000")
    peer.tell("watchTopicList", request_id=1, watcher_id=3, namespace="bad", topics_pattern=ALL)
    assert await peer.hung_up_on()


@pytest.mark.parametrize(
    ("pattern", "code", "text"),
    [
        ("(", pb.InvalidTopicName, "Invalid topics pattern"),
        ("x" * 51, pb.NotAllowedError, "Pattern longer than maximum: 50"),
        ("public/default/(a|b)", pb.NotAllowedError, "only plain patterns"),
    ],
)
async def test_what_is_not_matched_here_is_refused(peer, pattern, code, text):
    answer = (await ask(peer, pattern=pattern)).error
    assert answer.error == code
    assert text in answer.message


async def test_a_connection_has_so_many_watchers(peer, monkeypatch):
    monkeypatch.setattr(topic_watch, "WATCHERS_MAX", 2)
    await watch(peer, 1)
    await watch(peer, 2)
    assert "at most 2" in (await ask(peer, 3)).error.message
    await watch(peer, 2)


async def test_watchers_go_with_their_connection(broker, peer, other):
    await watch(peer)
    table = broker.broker._table
    watches = table._rows[pb.BaseCommand.WATCH_TOPIC_LIST].method.__self__.watches
    assert watches._namespaces
    peer.wire.close()
    await until(lambda: not watches._namespaces)
    await other.produce()


async def test_it_can_be_switched_off():
    settings = {"webServicePort": -1, "enableBrokerTopicListWatcher": False}
    async with LocalBroker(settings=settings) as broker:
        peer = await Peer.open(broker.port, protocol_version=None)
        connected = await peer.ask("connect", client_version="x", protocol_version=21)
        assert not connected.connected.feature_flags.supports_topic_watchers
        assert (await ask(peer)).error.error == pb.NotAllowedError
        peer.wire.close()
