"""wire/handshake.py: the client's side. A broker's is a handler."""

from importlib.metadata import version

import pytest

from magnetar.errors import UnexpectedCommand
from magnetar.wire import handshake, replies
from magnetar.wire.commands import parse
from magnetar.wire.frames import MESSAGE_SIZE_MAX, Frame, FrameDecoder
from magnetar.wire.handshake import PROTOCOL_VERSION_MAX, ClientHandshake


def frame(data):
    (decoded,) = FrameDecoder().feed(data)
    assert isinstance(decoded, Frame)
    return decoded


def test_a_client_begins_by_saying_who_it_is():
    command = parse(ClientHandshake().hello()[8:]).connect
    assert command.protocol_version == PROTOCOL_VERSION_MAX
    assert command.client_version == handshake.CLIENT_VERSION
    assert not command.HasField("proxy_to_broker_url")


def test_a_client_tells_a_proxy_where_it_wants_to_go():
    hello = ClientHandshake(proxy_to_broker_url="broker:6650").hello()
    assert parse(hello[8:]).connect.proxy_to_broker_url == "broker:6650"


def test_a_client_shows_its_credentials_at_first_and_when_it_is_asked():
    shake = ClientHandshake(auth_method="token")
    shown = parse(shake.hello(b"abc")[8:]).connect
    assert (shown.auth_method_name, shown.auth_data) == ("token", b"abc")
    assert shown.feature_flags.supports_auth_refresh
    answer = parse(shake.answer(b"def")[8:]).authResponse
    assert (answer.response.auth_method_name, answer.response.auth_data) == ("token", b"def")
    assert answer.client_version == handshake.CLIENT_VERSION


def test_the_answer_says_what_both_speak():
    shake = ClientHandshake()
    assert (shake.connected, shake.max_message_size) == (False, MESSAGE_SIZE_MAX)
    shake.received(frame(replies.connected("Pulsar Server4.0.7", 19, 1000)))
    assert shake.connected
    assert (shake.server_version, shake.protocol_version) == ("Pulsar Server4.0.7", 19)
    assert shake.max_message_size == 1000


def test_a_newer_broker_is_spoken_to_in_our_version():
    shake = ClientHandshake()
    shake.received(frame(replies.connected("new", 99, 0)))
    assert shake.protocol_version == PROTOCOL_VERSION_MAX
    assert shake.max_message_size == MESSAGE_SIZE_MAX


def test_anything_else_is_unexpected():
    with pytest.raises(UnexpectedCommand, match="in place of the CONNECTED"):
        ClientHandshake().received(frame(replies.success(1)))


def test_a_second_answer_is_unexpected():
    shake = ClientHandshake()
    shake.received(frame(replies.connected("x", 21, 0)))
    with pytest.raises(UnexpectedCommand):
        shake.received(frame(replies.connected("x", 21, 0)))


def test_our_versions_are_those_of_the_package():
    assert f"Magnetar {version('magnetar')}" == handshake.SERVER_VERSION
    assert f"Magnetar-Python-{version('magnetar')}" == handshake.CLIENT_VERSION
