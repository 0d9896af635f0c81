import asyncio
import itertools

import pytest
from support.loop import pass_time, until
from unit.client.peer import hang_up, refuse, silence

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.connections.connection import CLOSE_TIMEOUT_S, READ_SIZE, Connection
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.endpoint import Endpoint
from magnetar.clock import SystemClock
from magnetar.errors import (
    ConnectionLost,
    NotAuthenticated,
    NotReady,
    TimedOut,
)
from magnetar.message.entry import checksum, join
from magnetar.message.metadata import build
from magnetar.model.position import Position
from magnetar.proto.PulsarApi_pb2 import AuthData, CommandAuthChallenge
from magnetar.wire import replies, requests
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import encode


async def connect(peer, *, timeout_s=5.0, keep_alive_interval_s=30.0, logical=None, **others):
    connection = Connection(
        Endpoint(logical or peer.address, peer.address),
        keep_alive_interval_s=keep_alive_interval_s,
        read_buffer=memoryview(bytearray(READ_SIZE)),
        next_request_id=itertools.count(1).__next__,
        clock=SystemClock(),
        **others,
    )
    await connection.open(timeout_s)
    return connection


@pytest.fixture
async def connection(peer):
    connection = await connect(peer)
    yield connection
    await connection.close()


class Side:
    """A producer or a consumer that remembers what it is told."""

    def __init__(self):
        self.told = []
        self.detached = asyncio.Event()

    def on_receipt(self, frame):
        self.told.append(("receipt", frame.command.send_receipt.sequence_id))

    def on_send_error(self, frame):
        self.told.append(("error", frame.command.send_error.sequence_id))

    def on_message(self, frame):
        self.told.append(("message", frame.entry))

    def on_active_change(self, frame):
        self.told.append(("active", frame.command.active_consumer_change.is_active))

    def on_end_of_topic(self):
        self.told.append(("end", None))

    def on_ack_response(self, request_id, error):
        self.told.append(("acknowledged", request_id, error))

    def on_topics(self, frame):
        self.told.append(("topics", frame.command.watchTopicUpdate.new_topics))

    def on_detached(self, connection, error, *, moved=False):
        assert isinstance(connection, Connection)
        self.told.append(("detached", error))
        self.detached.set()


def challenge():
    return encode(
        CommandAuthChallenge(
            challenge=AuthData(auth_method_name="token", auth_data=b"PulsarAuthRefresh")
        )
    )


def lookup(request_id):
    return requests.lookup(request_id, "persistent://public/default/t")


async def test_both_sides_agree_on_the_size_of_messages(peer, connection):
    assert connection.max_message_size == 5 << 20
    assert not connection.closed
    assert peer.of(BaseCommand.CONNECT)[0].connect.protocol_version == 21


async def test_requests_get_their_answers_or_errors(peer, connection):
    answer = await connection.request(lookup, 5)
    assert answer.command.lookupTopicResponse.brokerServiceUrl == peer.url
    peer.script(BaseCommand.LOOKUP, refuse("lookupTopic", NotReady("later")))
    with pytest.raises(NotReady, match="later"):
        await connection.request(lookup, 5)


async def test_a_refused_handshake_is_raised_as_what_it_is(peer):
    peer.script(
        BaseCommand.CONNECT,
        lambda c, _: c.write(replies.error(2**64 - 1, NotAuthenticated("who are you"))),
    )
    with pytest.raises(NotAuthenticated, match="who are you"):
        await connect(peer)


async def test_credentials_are_shown_and_their_refusal_names_the_method(peer):
    credentials = Credentials(AuthenticationToken("s3cret"))
    await (await connect(peer, credentials=credentials)).close()
    shown = peer.of(BaseCommand.CONNECT)[0].connect
    assert (shown.auth_method_name, shown.auth_data) == ("token", b"s3cret")
    assert shown.feature_flags.supports_auth_refresh
    peer.script(
        BaseCommand.CONNECT,
        lambda c, _: c.write(replies.error(2**64 - 1, NotAuthenticated("Failed to authenticate"))),
    )
    with pytest.raises(NotAuthenticated, match="method 'token'") as raised:
        await connect(peer, credentials=credentials)
    assert "s3cret" not in str(raised.value)


async def test_a_source_of_credentials_that_takes_too_long_is_named(peer):
    async def never():
        await asyncio.Event().wait()

    credentials = Credentials(AuthenticationToken(never))
    with pytest.raises(TimedOut, match=f"the source of credentials for {peer.address} did not"):
        await connect(peer, timeout_s=0.05, credentials=credentials)
    assert peer.commands == []


async def test_new_credentials_are_shown_when_the_broker_asks(peer):
    tokens = [b"one", b"two", b"three"]
    credentials = Credentials(AuthenticationToken(lambda: tokens.pop(0).decode()))
    connection = await connect(peer, credentials=credentials)
    for expected in (b"two", b"three"):
        peer.connections[0].write(challenge())
        answer = (await peer.saw(BaseCommand.AUTH_RESPONSE)).authResponse
        peer.commands.clear()
        assert (answer.response.auth_method_name, answer.response.auth_data) == ("token", expected)
        assert answer.client_version.startswith("Magnetar")
    side = Side()
    connection.producers[1] = side
    peer.connections[0].write(challenge())  # There is no fourth token.
    await asyncio.wait_for(side.detached.wait(), 5)
    assert "wants new credentials" in str(side.told[0][1])


async def test_a_challenge_before_the_answer_is_met_too(peer):
    peer.script(BaseCommand.CONNECT, lambda c, _: c.write(challenge()))
    peer.script(BaseCommand.AUTH_RESPONSE, lambda c, _: c.write(peer.hello()))
    connection = await connect(peer, credentials=Credentials(AuthenticationToken("t")))
    assert not connection.closed
    await connection.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it speaks HTTP"),
        (b"\x15\x03\x01\0\x02\x02\x46", "it speaks TLS: use pulsar.ssl"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "no Pulsar broker.*SSH-2.0"),
    ],
)
async def test_what_is_no_broker_is_told_by_what_it_says(peer, answer, reason):
    peer.script(BaseCommand.CONNECT, lambda c, _: c.write(answer))
    with pytest.raises(ConnectionLost, match=f"cannot connect to {peer.address}: .*{reason}"):
        await connect(peer)


async def test_one_that_nobody_uses_is_closed(peer):
    connection = await connect(peer, idle_max_s=0.05, keep_alive_interval_s=0.02)
    told = []
    connection.on_lost = told.append
    connection.producers[1] = Side()
    await peer.saw(BaseCommand.PING, 5)
    assert not connection.closed
    connection.producers.clear()
    await until(lambda: connection.closed)
    assert told == []
    await until(lambda: not peer.connections)


async def test_a_silent_broker_times_out_and_leaves_no_socket(peer):
    peer.script(BaseCommand.CONNECT, silence)
    with pytest.raises(TimedOut, match="did not answer within"):
        await connect(peer, timeout_s=0.05)
    await until(lambda: not peer.connections)


async def test_a_broker_that_hangs_up_is_told_as_lost(peer):
    peer.script(BaseCommand.CONNECT, hang_up)
    with pytest.raises(ConnectionLost, match="closed the connection"):
        await connect(peer)


async def test_cancelling_leaves_no_socket(peer):
    peer.script(BaseCommand.CONNECT, silence)
    opening = asyncio.ensure_future(connect(peer))
    await peer.saw(BaseCommand.CONNECT)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await until(lambda: not peer.connections)


async def test_a_ping_is_answered(peer, connection):
    peer.connections[0].write(replies.ping())
    await peer.saw(BaseCommand.PONG)
    assert not connection.closed


async def test_it_pings_and_gives_up_a_broker_that_is_gone(peer):
    connection = await connect(peer, keep_alive_interval_s=0.03)
    side = Side()
    connection.producers[1] = side
    await peer.saw(BaseCommand.PING, 2)
    assert not connection.closed
    peer.script(BaseCommand.PING, *[silence] * 9)
    await asyncio.wait_for(side.detached.wait(), 5)
    assert connection.closed
    assert "does not answer any more" in str(side.told[-1][1])


async def test_everyone_hears_of_what_concerns_them(peer, connection):
    producer, consumer = Side(), Side()
    connection.producers[1], connection.consumers[2] = producer, consumer
    entry = join(build("p", 1, 0), b"body")
    there = peer.connections[0]
    there.write(
        replies.send_receipt(1, 7, 0, 0),
        replies.send_receipt(9, 7, 0, 0),
        replies.send_error(1, 8, NotReady("x")),
        *replies.message(2, Position(0, 0), partition=-1, entry=entry, checksum=checksum(entry)),
        *replies.message(9, Position(0, 0), partition=-1, entry=entry, checksum=checksum(entry)),
        replies.active_consumer_change(2, active=True),
        replies.reached_end_of_topic(2),
        replies.close_producer(1),
        replies.close_consumer(2),
    )
    await asyncio.wait_for(consumer.detached.wait(), 5)
    assert producer.told == [("receipt", 7), ("error", 8), ("detached", None)]
    assert consumer.told == [
        ("message", entry),
        ("active", True),
        ("end", None),
        ("detached", None),
    ]
    assert not connection.producers
    assert not connection.consumers


async def test_a_command_for_one_that_is_gone_is_ignored(peer, connection):
    side = Side()
    for owners in (connection.producers, connection.consumers, connection.watchers):
        owners[1] = side
    peer.connections[0].write(
        replies.send_error(2, 8, NotReady("x")),
        replies.active_consumer_change(2, active=True),
        replies.reached_end_of_topic(2),
        replies.ack_response(2, 7, None),
        replies.close_producer(2),
        replies.close_consumer(2),
        replies.close_consumer(1),
    )
    await asyncio.wait_for(side.detached.wait(), 5)
    assert side.told == [("detached", None)]


async def test_losing_it_tells_all_once_and_fails_every_request(peer, connection):
    producer, consumer, watcher = Side(), Side(), Side()
    connection.producers[1], connection.consumers[2] = producer, consumer
    connection.watchers[3] = watcher
    peer.script(BaseCommand.LOOKUP, hang_up)
    with pytest.raises(ConnectionLost):
        await connection.request(lookup, 5)
    assert isinstance(producer.told[0][1], ConnectionLost)
    assert isinstance(consumer.told[0][1], ConnectionLost)
    assert connection.closed
    connection.abort(ConnectionLost("once more"))
    assert [len(each.told) for each in (producer, consumer, watcher)] == [1, 1, 1]
    with pytest.raises(ConnectionLost, match="closed the connection"):
        await connection.request(lookup, 5)


async def test_a_broker_that_breaks_the_protocol_is_left(peer, connection):
    side = Side()
    connection.consumers[2] = side
    entry = join(build("p", 1, 0), b"body")
    message = replies.message(
        2, Position(0, 0), partition=-1, entry=entry, checksum=checksum(entry)
    )
    peer.connections[0].write(*message, b"\0\0\0\x08\0\0\0\x04\xff\xff\xff\xff")
    await asyncio.wait_for(side.detached.wait(), 5)
    assert side.told[0] == ("message", entry)
    assert "broke the protocol" in str(side.told[1][1])
    assert connection.closed


async def test_commands_for_brokers_are_not_for_clients(peer, connection):
    side = Side()
    connection.producers[1] = side
    peer.connections[0].write(requests.flow(1, 1))
    await asyncio.wait_for(side.detached.wait(), 5)
    assert connection.closed


async def test_a_second_handshake_breaks_the_protocol(peer, connection):
    side = Side()
    connection.producers[1] = side
    peer.connections[0].write(replies.connected("Peer", 21, 1))
    await asyncio.wait_for(side.detached.wait(), 5)
    assert "in place of the CONNECTED" in str(side.told[0][1])


async def test_big_frames_arrive_whole(peer, connection):
    side = Side()
    connection.consumers[2] = side
    entries = [join(build("p", n, 0), bytes([n]) * (n << 20)) for n in (1, 4, 2)]
    for entry in entries:
        peer.connections[0].write(
            *replies.message(2, Position(0, 0), partition=-1, entry=entry, checksum=checksum(entry))
        )
    peer.connections[0].write(replies.close_consumer(2))
    await asyncio.wait_for(side.detached.wait(), 10)
    assert [told[1] for told in side.told[:3]] == entries


async def test_what_is_written_in_one_turn_leaves_together_and_in_order(peer, connection):
    for number in range(3):
        connection.write(requests.flow(number, 1))
    connection.write_pieces([requests.flow(3, 1)[:5], requests.flow(3, 1)[5:]])
    big = b"x" * (1 << 20)
    entry = join(build("p", 1, 0), big)
    connection.write_pieces(requests.send(1, 5, entry, checksum(entry)))
    connection.post(lambda request_id: requests.close_producer(1, request_id))
    await peer.saw(BaseCommand.CLOSE_PRODUCER)
    assert [c.flow.consumer_id for c in peer.of(BaseCommand.FLOW)] == [0, 1, 2, 3]
    assert peer.entries[0][0] == entry


async def test_closing_sends_what_was_written(peer, connection):
    connection.write(requests.flow(1, 1))
    await connection.close()
    await peer.saw(BaseCommand.FLOW)
    connection.write(requests.flow(2, 1))
    await connection.close()
    await until(lambda: not peer.connections)
    assert len(peer.of(BaseCommand.FLOW)) == 1


async def test_a_broker_that_takes_nothing_more_is_left_all_the_same(peer, connection):
    peer.script(BaseCommand.PONG, lambda c, _: c.reader_paused())
    peer.connections[0].write(replies.ping())
    await peer.saw(BaseCommand.PONG)
    entry = join(build("p", 1, 0), bytes(32 << 20))
    connection.write_pieces(requests.send(1, 5, entry, checksum(entry)))
    closing = asyncio.ensure_future(connection.close())
    await pass_time(CLOSE_TIMEOUT_S)
    await asyncio.wait_for(closing, 5)
    assert connection.closed


async def test_nobody_there_is_told_as_lost(peer):
    await peer.stop()
    with pytest.raises(ConnectionLost, match="cannot connect to"):
        await connect(peer)
    await peer.start()
