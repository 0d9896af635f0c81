import asyncio

import pytest
from unit.broker.peer import Peer

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

CONNECT = pb.CommandLookupTopicResponse.Connect
FAILED = pb.CommandLookupTopicResponse.Failed


async def lookup(peer: Peer, topic: str, **values) -> pb.CommandLookupTopicResponse:
    answer = (
        await peer.ask("lookupTopic", topic=topic, request_id=3, **values)
    ).lookupTopicResponse
    assert answer.request_id == 3
    return answer


@pytest.mark.parametrize(
    "topic",
    [
        "x",
        "public/default/x",
        "persistent://public/default/x-partition-7",
        "persistent://public/default/a/b",
        "persistent://public/default/sp ace",
        "non-persistent://public/default/np",
    ],
)
async def test_any_topic_of_a_namespace_is_served_here(broker, peer, topic):
    answer = await lookup(peer, topic)
    assert answer.response == CONNECT
    assert answer.brokerServiceUrl == f"pulsar://127.0.0.1:{broker.port}"
    assert answer.authoritative
    assert answer.proxy_through_service_url  # The address is this machine's own.


@pytest.mark.parametrize(
    ("topic", "code", "text"),
    [
        ("persistent://nosuch/default/x", pb.TopicNotFound, "Namespace not found"),
        ("persistent://public/nosuch/x", pb.TopicNotFound, "Namespace not found"),
        ("persistent://public/global/default/x", pb.TopicNotFound, "Namespace not found"),
        (
            "a/b",
            pb.InvalidTopicName,
            (
                "Invalid topic name: Invalid short topic name 'a/b', it should be in the format of "
                "<tenant>/<namespace>/<topic> or <topic>"
            ),
        ),
        (
            "persistent://public/de fault/x",
            pb.InvalidTopicName,
            "Invalid topic name: Invalid named entity: de fault",
        ),
    ],
)
async def test_what_cannot_be_looked_up_is_refused(peer, topic, code, text):
    answer = await lookup(peer, topic)
    assert (answer.response, answer.error, answer.message) == (FAILED, code, text)
    assert not answer.HasField("brokerServiceUrl")


async def test_a_listener_nobody_set_up_is_refused(peer):
    answer = await lookup(peer, "x", advertised_listener_name="nosuch")
    assert (answer.error, answer.message) == (
        pb.ServiceNotReady,
        "the broker do not have nosuch listener",
    )


async def partitions(peer: Peer, topic: str, *, create: bool = True) -> int | tuple[int, str]:
    """How many, or the error."""
    answer = await peer.ask(
        "partitionMetadata", topic=topic, request_id=4, metadata_auto_creation_enabled=create
    )
    response = answer.partitionMetadataResponse
    assert response.request_id == 4
    if response.response == pb.CommandPartitionedTopicMetadataResponse.Failed:
        return response.error, response.message
    return response.partitions


async def test_a_topic_that_may_be_made_has_no_partitions_yet(peer):
    assert await partitions(peer, "x") == 0
    assert await partitions(peer, "x", create=False) == (pb.TopicNotFound, "")
    await peer.produce(1, topic="x")
    assert await partitions(peer, "x", create=False) == 0


async def test_a_topic_of_no_namespace_is_not_found(peer):
    missing = "persistent://nosuch/default/x"
    assert await partitions(peer, missing) == (pb.TopicNotFound, "Namespace not found")
    assert await partitions(peer, missing, create=False) == (pb.TopicNotFound, "")


async def test_topics_are_made_partitioned_where_that_is_set():
    settings = {
        "webServicePort": -1,
        "allowAutoTopicCreationType": "partitioned",
        "defaultNumPartitions": 3,
    }
    async with LocalBroker(settings=settings) as broker:
        first, second = await Peer.open(broker.port), await Peer.open(broker.port)
        assert await partitions(first, "other", create=False) == (pb.TopicNotFound, "")
        assert await asyncio.gather(partitions(first, "x"), partitions(second, "x")) == [3, 3]
        assert await partitions(first, "x", create=False) == 3
        assert await partitions(first, "x-partition-2") == 0
        assert await partitions(first, "x-partition-3") == (pb.TopicNotFound, "")
        await first.produce(1, topic="x-partition-2")
        first.wire.close()
        second.wire.close()


async def test_a_broker_that_makes_no_topics_says_so():
    settings = {"webServicePort": -1, "allowAutoTopicCreation": False}
    async with LocalBroker(settings=settings) as broker:
        peer = await Peer.open(broker.port)
        assert await partitions(peer, "x") == (pb.TopicNotFound, "")
        await lookup(peer, "x")
        name = "persistent://public/default/x"
        answer = await peer.ask("producer", topic=name, producer_id=1, request_id=1)
        assert answer.error.error == pb.TopicNotFound
        assert answer.error.message == f"Topic not found {name}"
        answer = await peer.ask(
            "subscribe",
            topic=name,
            subscription="s",
            subType=pb.CommandSubscribe.Exclusive,
            consumer_id=1,
            request_id=2,
        )
        assert answer.error.error == pb.TopicNotFound
        assert answer.error.message == f"Topic {name} does not exist"
        peer.wire.close()


async def topics(peer: Peer, **values) -> pb.CommandGetTopicsOfNamespaceResponse:
    values = {"namespace": "public/default", "request_id": 5, **values}
    answer = (await peer.ask("getTopicsOfNamespace", **values)).getTopicsOfNamespaceResponse
    assert answer.request_id == 5
    return answer


async def test_the_topics_of_a_namespace_are_listed_sorted_and_hashed(peer):
    for number, topic in enumerate(["b", "a"]):
        await peer.produce(number, topic=topic)
    every = ["persistent://public/default/a", "persistent://public/default/b"]
    answer = await topics(peer)
    assert list(answer.topics) == every
    assert answer.topics_hash == "c7559e98"
    assert (answer.filtered, answer.changed) == (False, True)
    assert list((await topics(peer, mode=pb.CommandGetTopicsOfNamespace.ALL)).topics) == every
    known = await topics(peer, topics_hash="c7559e98")
    assert (list(known.topics), known.changed, known.topics_hash) == ([], False, "c7559e98")


async def test_topics_are_listed_by_mode_persistent_ones_first(peer):
    stored, passing = "persistent://public/default/b", "non-persistent://public/default/a"
    for number, topic in enumerate((passing, stored)):
        await peer.produce(number, topic=topic)
    modes = pb.CommandGetTopicsOfNamespace
    listed = {
        modes.PERSISTENT: [stored],
        modes.NON_PERSISTENT: [passing],
        modes.ALL: [stored, passing],
    }
    for mode, names in listed.items():
        assert list((await topics(peer, mode=mode)).topics) == names


async def test_system_topics_are_neither_made_nor_listed(peer):
    await peer.ask("lookupTopic", topic="__change_events", request_id=0)
    refused = await peer.ask("producer", topic="__change_events", producer_id=1, request_id=1)
    assert refused.error.error == pb.NotAllowedError
    assert "is a system topic" in refused.error.message
    await peer.produce(2, topic="t")
    assert list((await topics(peer)).topics) == ["persistent://public/default/t"]


async def test_nothing_is_listed_where_nothing_is(peer):
    await peer.produce(1, topic="a")
    for values in (
        {"namespace": "public/nosuch"},
        {"mode": pb.CommandGetTopicsOfNamespace.NON_PERSISTENT},
    ):
        answer = await topics(peer, **values)
        assert (list(answer.topics), answer.topics_hash) == ([], "00000000")


async def test_a_plain_pattern_is_matched_here_and_a_costly_one_is_left_to_the_client(peer):
    for number, topic in enumerate(["a", "b"]):
        await peer.produce(number, topic=topic)
    answer = await topics(peer, topics_pattern="persistent://public/default/a")
    assert (list(answer.topics), answer.filtered) == (["persistent://public/default/a"], True)
    answer = await topics(peer, topics_pattern="public/default/(a|c)")
    assert (len(answer.topics), answer.filtered) == (2, False)


async def test_a_pattern_that_is_none_is_an_error(peer):
    answer = await peer.ask(
        "getTopicsOfNamespace",
        namespace="public/default",
        request_id=5,
        topics_pattern="public/default/(",
    )
    assert answer.error.error == pb.MetadataError
    assert "Invalid topics pattern" in answer.error.message


@pytest.mark.parametrize("namespace", ["bad", ""])
async def test_a_namespace_that_is_none_ends_the_connection(peer, namespace):
    peer.tell("getTopicsOfNamespace", namespace=namespace, request_id=1)
    assert await peer.hung_up_on()
