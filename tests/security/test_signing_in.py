"""A broker that asks who its clients are, seen by clients of both libraries and over HTTP."""

import asyncio
import logging

import aiohttp
import pulsar
import pytest
from support.clock import ManualClock
from support.loop import until
from support.tokens import TAKES_TOKENS, token
from yarl import URL

from magnetar import AuthenticationToken, Client
from magnetar.errors import NotAuthenticated
from magnetar.testing.local_broker import LocalBroker

LIFE_S = 10  # Of a token.
LOOKED_AT_S = LIFE_S + 1
"""How often the broker looks for tokens that ended. Its pings are further apart."""


def quiet():
    return pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)


@pytest.fixture
async def broker():
    async with LocalBroker(settings=TAKES_TOKENS) as broker:
        yield broker


def official(url, shown):
    """A producer of the official client sends a message."""
    client = pulsar.Client(url, authentication=shown, logger=quiet())
    try:
        client.create_producer("official").send(b"x")
    finally:
        client.close()


async def test_who_has_a_token_is_let_in(broker, caplog):
    caplog.set_level(logging.DEBUG)
    shown = AuthenticationToken(token())
    for url in (broker.service_url, broker.web_url):
        async with Client(url, authentication=shown) as client:
            await (await client.create_producer("ours")).send(b"x")
    await asyncio.to_thread(official, broker.service_url, pulsar.AuthenticationToken(token()))
    assert "connection." in caplog.text
    assert "connection.signed_in" in caplog.text
    assert token() not in caplog.text
    async with (
        aiohttp.ClientSession(broker.web_url) as session,
        session.get("/metrics/") as answer,
    ):
        lines = (await answer.text()).splitlines()
    counted = [line for line in lines if line.startswith("pulsar_authentication_success_total{")]
    [by_token] = [line for line in counted if 'auth_method="token"' in line]
    assert float(by_token.rpartition(" ")[2]) >= 3


@pytest.mark.parametrize("data", [None, token() + "x"])
async def test_any_other_is_told_so_at_once(broker, data, caplog):
    caplog.set_level(logging.DEBUG)
    shown = data and AuthenticationToken(data)
    for url in (broker.service_url, broker.web_url):
        async with Client(url, authentication=shown) as client:
            with pytest.raises(NotAuthenticated) as refused:
                await client.create_producer("ours")
        assert not data or data not in str(refused.value)
    shown = data and pulsar.AuthenticationToken(data)
    with pytest.raises(pulsar.AuthenticationError):  # Its tries would end with Timeout.
        await asyncio.to_thread(official, broker.service_url, shown)
    assert "connection.refused" in caplog.text
    assert not data or data not in caplog.text


async def test_http_asks_before_it_reads_or_says_anything(broker, caplog):
    shown = {"Authorization": f"Bearer {token()}"}
    clusters, policy = "/admin/v2/clusters", "/admin/v2/namespaces/public/default/messageTTL"
    async with aiohttp.ClientSession(broker.web_url) as session:
        assert (await session.get(clusters, headers=shown)).status == 200
        for headers in ({}, {"Authorization": shown["Authorization"] + "x"}):
            refused = await session.post(policy, data=b"{" * 500_000, headers=headers)
            assert (refused.status, refused.headers["WWW-Authenticate"]) == (
                401,
                'Bearer realm="pulsar"',
            )
            assert (await refused.json())["reason"].startswith("Authentication required: ")
    assert token() not in caplog.text


async def test_metrics_are_for_everybody_unless_a_setting_says_otherwise(broker):
    settings = {**TAKES_TOKENS, "authenticateMetricsEndpoint": "true"}
    shown = {"Authorization": f"Bearer {token()}"}
    async with LocalBroker(settings=settings) as strict, aiohttp.ClientSession() as http:
        for path in ("/metrics", "/metrics/", "/metrics?x", "/metrics/?x=%2F"):
            for method in ("GET", "HEAD"):
                url = f"{broker.web_url}{path}"
                assert (await http.request(method, url)).status == 200, (method, path)
                url = f"{strict.web_url}{path}"
                assert (await http.request(method, url)).status == 401, (method, path)
                assert (await http.request(method, url, headers=shown)).status == 200
        for path in ("/Metrics", "//metrics/", "/%6detrics/", "/metrics//", "/./metrics/"):
            url = URL(f"{strict.web_url}{path}", encoded=True)
            assert (await http.get(url)).status in (401, 404), path


async def test_probes_ask_without_a_token_where_a_setting_says_so(broker):
    settings = {**TAKES_TOKENS, "authorizationEnabled": "true", "superUserRoles": "root"}
    open_to_probes = {**settings, "authenticateHealthEndpoints": "false"}
    async with LocalBroker(settings=open_to_probes) as probed, aiohttp.ClientSession() as http:
        for name in ("health", "ready"):
            path = f"/admin/v2/brokers/{name}"
            assert (await http.get(f"{broker.web_url}{path}")).status == 401
            answer = await http.get(f"{probed.web_url}{path}")
            assert (answer.status, await answer.text()) == (200, "ok")
        assert (await http.get(f"{probed.web_url}/admin/v2/brokers/version")).status == 401


@pytest.mark.parametrize(
    "sent",
    ["Authorization : Bearer {}", "Authorization: Bearer {}\0", "Authorization: {}"],
)
async def test_a_token_in_a_header_that_is_wrong_is_not_repeated(broker, sent, caplog):
    caplog.set_level(logging.DEBUG)
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.web_port)
    head = f"GET /admin/v2/clusters HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{sent}\r\n\r\n"
    writer.write(head.format(token()).encode())
    assert (await reader.read()).split()[1] in (b"400", b"401")
    writer.close()
    await writer.wait_closed()
    assert "admin." in caplog.text
    assert token()[:20] not in caplog.text


async def test_the_official_client_shows_a_new_token_when_it_is_asked():
    """The broker's clock moves on when the test says so: no token ends before it is shown."""
    clock, asked = ManualClock(), []
    settings = {**TAKES_TOKENS, "authenticationRefreshCheckSeconds": LOOKED_AT_S}

    def supply():
        asked.append(token(exp=clock.wall_ms() // 1000 + LIFE_S))
        return asked[-1]

    shown = pulsar.AuthenticationToken(supply)
    async with LocalBroker(settings=settings, clock=clock) as broker:
        client = pulsar.Client(broker.service_url, authentication=shown, logger=quiet())
        try:
            producer = await asyncio.to_thread(client.create_producer, "official")
            await asyncio.to_thread(producer.send, b"still here")
            opened = len(asked)
            await clock.advance(LOOKED_AT_S)
            await until(lambda: len(asked) > opened)
            await asyncio.to_thread(producer.send, b"and after it")
        finally:
            await asyncio.to_thread(client.close)
