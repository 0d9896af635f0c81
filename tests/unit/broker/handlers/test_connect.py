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
    assert flags.supports_topic_watchers
    peer.wire.close()


@pytest.mark.parametrize(
    "values",
    [
        {"auth_method_name": "none"},
        {"auth_method_name": "", "auth_data": b""},
        {"auth_method_name": "token", "auth_data": b"a.b.c"},
        {"auth_method": pb.AuthMethodAthens, "auth_data": b"x"},
        {"original_principal": "x", "original_auth_data": "x", "original_auth_method": "token"},
        {"auth_method": pb.AuthMethodNone, "proxy_to_broker_url": "b:6650", "proxy_version": "4"},
    ],
    ids=str,
)
async def test_where_nobody_is_asked_credentials_are_not_looked_at(broker, values):
    peer = await Peer.open(broker.port, protocol_version=None)
    answer = await peer.ask("connect", client_version="x", protocol_version=21, **values)
    assert answer.HasField("connected")
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
