import asyncio

import pytest
from support.loop import until, until_idle

from magnetar.client.authentication.token import AuthenticationToken
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.endpoint import Endpoint
from magnetar.client.connections.sign_in import SignIn
from magnetar.errors import ConnectionLost, NotAuthenticated, NotReady, UnexpectedCommand
from magnetar.proto.PulsarApi_pb2 import CommandAuthChallenge
from magnetar.wire import replies
from magnetar.wire.frames import FrameDecoder, encode


class World:
    def __init__(self, token="t", physical="b:1"):
        self.written, self.aborted = [], []
        self.sign_in = SignIn(
            Endpoint("b:1", physical),
            Credentials(AuthenticationToken(token)),
            write=self.written.append,
            abort=self.aborted.append,
        )

    def told(self, command):
        for frame in FrameDecoder().feed(command):
            self.sign_in.commands[frame.command.type](frame)


def read(frame):
    [found] = FrameDecoder().feed(frame)
    return found.command


async def test_it_ends_with_the_brokers_answer():
    world = World(physical="proxy:1")
    hello = read(await world.sign_in.hello()).connect
    assert (hello.auth_method_name, hello.auth_data) == ("token", b"t")
    assert hello.proxy_to_broker_url == "b:1"
    done = asyncio.ensure_future(world.sign_in.done())
    await until_idle()
    assert not done.done()
    world.told(replies.connected("Peer", 21, 1000))
    await done
    assert world.sign_in.handshake.max_message_size == 1000
    assert world.sign_in.refusal(NotReady("later")) is None, "it answers a request"
    with pytest.raises(UnexpectedCommand):
        world.told(replies.connected("Peer", 21, 1000))


async def test_a_refusal_names_what_was_refused_and_the_end_is_raised():
    world = World()
    refused = world.sign_in.refusal(NotAuthenticated("no"))
    assert "method 'token'" in str(refused)
    later = NotReady("later")
    assert world.sign_in.refusal(later) is later
    world.sign_in.end(later)
    with pytest.raises(NotReady):
        await world.sign_in.done()


async def test_a_challenge_is_answered_with_credentials_of_that_moment():
    tokens = ["two", "one"]

    async def token():
        return tokens.pop()

    world = World(token)
    await world.sign_in.hello()
    world.told(encode(CommandAuthChallenge()))
    await until(lambda: world.written)
    [answer] = world.written
    assert read(answer).authResponse.response.auth_data == b"two"
    world.told(encode(CommandAuthChallenge()))  # There is no third.
    await until(lambda: world.aborted)
    [error] = world.aborted
    assert isinstance(error, ConnectionLost)
    assert "b:1 wants new credentials" in str(error)
