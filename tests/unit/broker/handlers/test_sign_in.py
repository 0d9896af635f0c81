"""What a client hears that shows who it is, and one that does not."""

import pytest
from support.clock import ManualClock
from support.tokens import TAKES_TOKENS, token
from unit.broker.peer import Peer

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker

MANY = {**TAKES_TOKENS, "proxyRoles": "proxy", "webServicePort": -1}


@pytest.fixture
async def broker():
    async with LocalBroker(settings=MANY) as broker:
        yield broker


def shows(data=b"", **values):
    return {"client_version": "test", "auth_method_name": "token", "auth_data": data} | values


async def open_with(broker, **values):
    peer = await Peer.open(broker.port, protocol_version=None)
    return peer, await peer.ask("connect", **values)


async def test_a_client_is_let_in_once_it_is_known(broker):
    peer, answer = await open_with(broker, **shows(token().encode()))
    assert answer.HasField("connected")
    peer.wire.close()


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (shows(token().encode() + b"x"), "signed with another key"),
        (shows(token(life_s=-5).encode()), "has expired"),
        (shows(b"\xff"), "no JSON Web Token"),
        (shows(b"me:x", auth_method_name="basic"), "use one of the methods token"),
        ({"client_version": "test"}, "no credentials"),
        ({"client_version": "test", "auth_method": pb.AuthMethodAthens}, "'athens' is not taken"),
    ],
)
async def test_any_other_hears_why_and_is_hung_up_on(broker, values, reason):
    peer, answer = await open_with(broker, **values)
    error = answer.error
    assert (error.request_id, error.error) == (2**64 - 1, pb.AuthenticationError)
    assert error.message.startswith("Failed to authenticate: ")
    assert reason in error.message
    assert await peer.hung_up_on()


async def test_nothing_is_taken_while_it_is_found_out(broker):
    for second in ("connect", "lookupTopic"):
        peer = await Peer.open(broker.port, protocol_version=None)
        more = {"client_version": "x"} if second == "connect" else {"topic": "x", "request_id": 1}
        peer.tell("connect", **shows(token().encode()))
        peer.tell(second, **more)
        assert await peer.hung_up_on()


async def test_a_client_of_the_cpp_library_hears_of_it_when_it_asks_for_something(broker):
    """Refused at once it would connect again, and again, and say nothing but that it timed out."""
    peer, answer = await open_with(broker, **shows(b"x", client_version="Pulsar-CPP-v4.2.0"))
    assert answer.HasField("connected")
    found = (await peer.ask("partitionMetadata", topic="x", request_id=1)).partitionMetadataResponse
    assert (found.request_id, found.error) == (1, pb.AuthenticationError)
    for field, values in [
        ("lookupTopic", {"topic": "x"}),
        ("producer", {"topic": "x", "producer_id": 1}),
        ("subscribe", {"topic": "x", "subscription": "s", "subType": 1, "consumer_id": 1}),
        ("getTopicsOfNamespace", {"namespace": "public/default"}),
        ("unsubscribe", {"consumer_id": 1}),
        ("getSchema", {"topic": "x"}),
    ]:
        answer = await peer.ask(field, request_id=2, **values)
        error = answer.lookupTopicResponse if field == "lookupTopic" else answer
        error = answer.getSchemaResponse if field == "getSchema" else error
        if field not in ("lookupTopic", "getSchema"):
            error = answer.error
        code = error.error_code if field == "getSchema" else error.error
        assert (error.request_id, code) == (2, pb.AuthenticationError)
    await peer.nothing_more()
    assert not broker.broker.registry.loaded
    peer.wire.close()


async def test_only_a_proxy_speaks_for_others_and_is_believed_where_nobody_authorises(broker):
    proxied = shows(token("proxy").encode(), original_principal="me", proxy_version="4")
    for values in (proxied, shows(token("me").encode(), original_principal="you")):
        peer, answer = await open_with(broker, **values)
        assert answer.HasField("connected")
        peer.wire.close()


async def test_who_is_greeted_out_of_tact_does_not_stay(clock):
    async with LocalBroker(
        settings={**MANY, "keepAliveIntervalSeconds": 30}, clock=clock
    ) as broker:
        peer, _ = await open_with(broker, **shows(b"x", client_version="Pulsar-CPP-v4.2.0"))
        await clock.advance(30)
        await clock.advance(30)
        while not await peer.hung_up_on():
            pass


REFRESHES = pb.FeatureFlags(supports_auth_refresh=True)
ENDS_S = 1100  # By the broker's clock, which begins at 1000; it looks every 60 s.


@pytest.fixture
async def clock():
    return ManualClock()


@pytest.fixture
async def fresh(clock):
    """A broker that looks for credentials that ended, when its clock moves."""
    settings = {**MANY, "keepAliveIntervalSeconds": 10_000, "authenticateOriginalAuthData": "true"}
    async with LocalBroker(settings=settings, clock=clock) as broker:
        yield broker


def until(ends_s, role="me"):
    return token(role, exp=ends_s).encode()


def answer(data):
    return {"response": pb.AuthData(auth_method_name="token", auth_data=data)}


async def test_a_client_is_asked_for_new_credentials_when_the_old_ones_ended(fresh, clock):
    peer, _ = await open_with(fresh, **shows(until(ENDS_S), feature_flags=REFRESHES))
    await clock.advance(60)
    await peer.nothing_more()
    await clock.advance(60)
    asked = (await peer.hear()).authChallenge
    assert asked.challenge.auth_method_name == "token"
    assert asked.challenge.auth_data == b"PulsarAuthRefresh"
    peer.tell("authResponse", client_version="test", **answer(until(ENDS_S + 100)))
    await peer.nothing_more()
    await clock.advance(60)
    await peer.nothing_more()  # At 1180 s the new ones still hold.
    await clock.advance(60)
    assert (await peer.hear()).HasField("authChallenge")
    peer.tell("authResponse", client_version="test", **answer(token().encode()))
    await peer.nothing_more()
    for _ in range(3):
        await clock.advance(60)
    await peer.nothing_more()  # These never end.
    peer.wire.close()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"rubbish", "no JSON Web Token"),
        (until(ENDS_S), "has expired"),
        (until(9999, "admin"), "same role"),
    ],
)
async def test_who_shows_other_ones_is_hung_up_on(fresh, clock, data, reason):
    peer, _ = await open_with(fresh, **shows(until(ENDS_S), feature_flags=REFRESHES))
    await clock.advance(60)
    await clock.advance(60)
    assert (await peer.hear()).HasField("authChallenge")
    error = (await peer.ask("authResponse", client_version="test", **answer(data))).error
    assert error.error == pb.AuthenticationError
    assert reason in error.message
    assert await peer.hung_up_on()


async def test_so_is_who_shows_none_or_cannot(fresh, clock):
    silent, _ = await open_with(fresh, **shows(until(ENDS_S), feature_flags=REFRESHES))
    old, _ = await open_with(fresh, **shows(until(ENDS_S)))
    lasting, _ = await open_with(fresh, **shows(token().encode()))
    await clock.advance(60)
    await clock.advance(60)
    assert await old.hung_up_on()
    assert (await silent.hear()).HasField("authChallenge")
    await clock.advance(60)
    assert await silent.hung_up_on()
    await lasting.nothing_more()
    lasting.wire.close()


async def test_nobody_answers_what_was_not_asked(fresh):
    peer, _ = await open_with(fresh, **shows(until(ENDS_S), feature_flags=REFRESHES))
    said = await peer.ask("authResponse", client_version="test", **answer(until(9999)))
    assert said.error.error == pb.AuthenticationError
    assert await peer.hung_up_on()


async def test_what_a_proxy_passes_on_is_checked_and_renewed(fresh, clock):
    proxied = shows(
        token("proxy").encode(),
        original_principal="me",
        original_auth_method="token",
        feature_flags=REFRESHES,
    )
    peer, said = await open_with(fresh, **proxied, original_auth_data="rubbish")
    assert said.error.error == pb.AuthenticationError
    assert await peer.hung_up_on()
    peer, said = await open_with(fresh, **proxied, original_auth_data=until(ENDS_S).decode())
    assert said.HasField("connected")
    await clock.advance(60)
    await clock.advance(60)
    assert (await peer.hear()).HasField("authChallenge")
    peer.tell("authResponse", client_version="test", **answer(until(9999)))
    await peer.nothing_more()
    peer.wire.close()
