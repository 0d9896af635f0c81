import pytest
from unit.broker.peer import Peer

from magnetar.proto import PulsarApi_pb2 as pb


@pytest.mark.parametrize(("asked", "agreed"), [(0, 0), (5, 5), (21, 21), (99, 21)])
async def test_the_older_protocol_version_counts(broker, asked, agreed):
    peer = await Peer.open(broker.port, protocol_version=None)
    answer = (await peer.ask("connect", client_version="x", protocol_version=asked)).connected
    assert answer.protocol_version == agreed
    assert answer.max_message_size == 5 * 1024 * 1024
    assert answer.server_version
    flags = answer.feature_flags
    assert flags.supports_get_partitioned_metadata_without_auto_creation
    assert not flags.supports_topic_watchers
    peer.wire.close()


async def test_a_second_connect_ends_the_connection(peer):
    peer.tell("connect", client_version="x")
    assert await peer.hung_up_on()


async def test_a_ping_is_answered_even_before_connect(broker):
    peer = await Peer.open(broker.port, protocol_version=None)
    assert (await peer.ask("ping")).type == pb.BaseCommand.PONG
    peer.tell("pong")
    await peer.nothing_more()
    peer.wire.close()


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("lookupTopic", {"topic": "x", "request_id": 1}),
        ("partitionMetadata", {"topic": "x", "request_id": 1}),
        ("producer", {"topic": "x", "producer_id": 1, "request_id": 1}),
        ("flow", {"consumer_id": 1, "messagePermits": 1}),
        ("success", {"request_id": 1}),
    ],
)
async def test_anything_else_before_connect_ends_the_connection(broker, field, values):
    peer = await Peer.open(broker.port, protocol_version=None)
    peer.tell(field, **values)
    assert await peer.hung_up_on()


async def test_who_answers_a_challenge_that_never_was_is_told_and_hung_up_on(broker):
    peer = await Peer.open(broker.port, protocol_version=None)
    answer = await peer.ask("authResponse", client_version="x")
    assert answer.error.request_id == 2**64 - 1
    assert answer.error.error == pb.AuthenticationError
    assert answer.error.message == "Failed to authenticate"
    assert await peer.hung_up_on()
