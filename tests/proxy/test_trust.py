"""Who clients are at the edge, what brokers are told, and what is not passed on."""

import asyncio
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from proxy.conftest import proxy_before
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken, Client
from magnetar.errors import NotAuthenticated, NotAuthorized
from magnetar.proxy.frame_reader import FrameReader
from magnetar.testing.local_broker import LocalBroker
from magnetar.wire import requests
from magnetar.wire.commands import BaseCommand

SECURE = {
    **TAKES_TOKENS,
    "authorizationEnabled": "true",
    "superUserRoles": "admin,proxy",
    "proxyRoles": "proxy",
}
AT_THE_EDGE = {
    **TAKES_TOKENS,
    "brokerClientAuthenticationPlugin": "token",
    "brokerClientAuthenticationParameters": token("proxy"),
}


def client_of(proxy, role):
    return Client(proxy.service_url, authentication=AuthenticationToken(token(role)))


def http(proxy, path, role=None, method="GET", body=None):
    headers = {"Content-Type": "application/json"}
    if role:
        headers["Authorization"] = f"Bearer {token(role)}"
    asked = Request(proxy.web_url + path, body, headers, method=method)
    with urlopen(asked) as answer:
        return answer.read()


async def test_the_broker_grants_what_the_clients_own_role_may(topic):
    async with LocalBroker(settings=SECURE) as broker, proxy_before(broker, **AT_THE_EDGE) as proxy:
        path = "/admin/v2/namespaces/public/default/permissions/me"
        await asyncio.to_thread(http, proxy, path, "admin", "POST", b'["produce"]')
        async with client_of(proxy, "me") as client:
            await (await client.create_producer(topic)).send(b"x")
            session = next(each for each in broker.broker.sessions() if each.role == "me")
            assert session.proxy_role == "proxy"
            with pytest.raises(NotAuthorized):
                await client.subscribe(topic, "s")
        async with client_of(proxy, "stranger") as client:
            with pytest.raises(NotAuthorized):
                await client.create_producer(topic)


async def test_who_shows_nothing_is_not_let_in(topic):
    async with LocalBroker() as broker, proxy_before(broker, **TAKES_TOKENS) as proxy:
        async with Client(proxy.service_url) as client:
            with pytest.raises(NotAuthenticated):
                await client.create_producer(topic)
        for path in ("/admin/v2/clusters", "/metrics"):
            with pytest.raises(HTTPError, match="401"):
                await asyncio.to_thread(http, proxy, path)
        assert b"pulsar_proxy" in await asyncio.to_thread(http, proxy, "/metrics", "me")


async def test_http_asks_the_broker_in_the_clients_name():
    async with LocalBroker(settings=SECURE) as broker, proxy_before(broker, **AT_THE_EDGE) as proxy:
        await asyncio.to_thread(http, proxy, "/admin/v2/clusters", "admin")
        with pytest.raises(HTTPError, match="401"):
            await asyncio.to_thread(http, proxy, "/admin/v2/tenants/public", "me", "DELETE")


async def test_what_a_client_shows_is_passed_on_where_that_is_wanted(topic):
    checks = {**SECURE, "authenticateOriginalAuthData": "true", "superUserRoles": "me,proxy"}
    forwards = {**AT_THE_EDGE, "forwardAuthorizationCredentials": True}
    async with (
        LocalBroker(settings=checks) as broker,
        proxy_before(broker, **forwards) as proxy,
        client_of(proxy, "me") as client,
    ):
        await (await client.create_producer(topic)).send(b"x")


async def test_credentials_that_expire_end_a_connection_that_was_passed_on(topic):
    fresh = {**AT_THE_EDGE, "authenticationRefreshCheckSeconds": 1}
    async with LocalBroker(settings=SECURE) as broker, proxy_before(broker, **fresh) as proxy:
        shown = AuthenticationToken(token("admin", life_s=2))
        async with Client(proxy.service_url, authentication=shown) as client:
            producer = await client.create_producer(topic)
            await producer.send(b"x")
            async with asyncio.timeout(20):
                while proxy._splices:  # noqa: ASYNC110 - the proxy tells nobody.
                    await asyncio.sleep(0.05)


async def frames(proxy, *sent):
    """What the proxy answers to these, until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"".join(sent))
    answers = FrameReader()
    answers.feed(await asyncio.wait_for(reader.read(), 10))
    writer.close()
    found = []
    while (one := answers.next()) is not None:
        found.append(one[0].command)
    return found


@pytest.mark.parametrize("there", ["127.0.0.1:1", "169.254.169.254:80", "://", "host"])
async def test_nobody_is_connected_to_what_is_no_broker(there):
    async with LocalBroker() as broker, proxy_before(broker) as proxy:
        (refused,) = await frames(proxy, requests.connect("c", 21, proxy_to_broker_url=there))
        assert refused.type == BaseCommand.ERROR


async def test_a_port_that_is_not_allowed_is_refused_even_of_a_broker():
    async with (
        LocalBroker() as broker,
        proxy_before(broker, brokerProxyAllowedTargetPorts="1-2") as proxy,
    ):
        address = broker.service_url.partition("://")[2]
        (refused,) = await frames(proxy, requests.connect("c", 21, proxy_to_broker_url=address))
        assert "brokerProxyAllowedTargetPorts" in refused.error.message


async def test_addresses_are_checked_behind_their_names():
    allowed = {"brokerProxyAllowedHostNames": "*", "brokerProxyAllowedIPAddresses": "10.0.0.0/8"}
    async with LocalBroker() as broker, proxy_before(broker, **allowed) as proxy:
        connect = requests.connect("c", 21, proxy_to_broker_url="localhost:6650")
        (refused,) = await frames(proxy, connect)
        assert "brokerProxyAllowedIPAddresses" in refused.error.message


async def test_a_command_for_a_broker_ends_the_connection():
    async with LocalBroker() as broker, proxy_before(broker) as proxy:
        found = await frames(proxy, requests.connect("c", 21), requests.producer(1, 2, "t"))
        assert [each.type for each in found] == [BaseCommand.CONNECTED]
        assert await frames(proxy, requests.ping()) == []


@pytest.mark.parametrize(
    "limit", ["maxConcurrentInboundConnections", "maxConcurrentInboundConnectionsPerIp"]
)
async def test_too_many_connections_are_turned_away(limit):
    async with LocalBroker() as broker, proxy_before(broker, **{limit: 1}) as proxy:
        _, first = await asyncio.open_connection("127.0.0.1", proxy.port)
        (refused,) = await frames(proxy)
        assert "maximum number of connections" in refused.error.message
        assert proxy.counts.refused == 1
        first.close()


async def test_who_reads_no_answers_is_not_read(monkeypatch):
    monkeypatch.setattr("magnetar.proxy.connection.UNREAD_MAX", -1)
    async with LocalBroker() as broker, proxy_before(broker) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(requests.connect("c", 21))
        assert await reader.read(65536)
        (connection,) = proxy._asking
        writer.write(requests.ping())
        assert await reader.read(65536)
        assert not connection._transport.is_reading()
        writer.close()


async def test_too_many_lookups_are_refused_one_by_one():
    async with (
        LocalBroker() as broker,
        proxy_before(broker, maxConcurrentLookupRequests=1) as proxy,
    ):
        asked = [requests.lookup(number, "t") for number in range(3)]
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"".join([requests.connect("c", 21), *asked]))
        answers, found = FrameReader(), {}
        async with asyncio.timeout(10):
            while len(found) < 3:
                answers.feed(await reader.read(65536))
                while (one := answers.next()) is not None:
                    told = one[0].command
                    if told.type == BaseCommand.LOOKUP_RESPONSE:
                        found[told.lookupTopicResponse.request_id] = told.lookupTopicResponse
        assert [found[number].HasField("error") for number in range(3)] == [False, True, True]
        assert found[0].proxy_through_service_url
        writer.close()
