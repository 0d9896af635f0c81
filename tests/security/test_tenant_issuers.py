"""A tenant brings its own issuer of tokens: what that signs leads nowhere but into the tenant."""

import asyncio

import aiohttp
import pulsar
import pytest
from support.clock import ManualClock
from support.issuers import Issuers
from support.tokens import TAKES_TOKENS, token
from unit.broker.peer import Peer

from magnetar import AuthenticationToken, Client
from magnetar.errors import NotAuthenticated, NotAuthorized
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.local_broker import LocalBroker


class World:
    def __init__(self, broker, http, issuers, clock):
        self.broker, self._http, self.issuers, self.clock = broker, http, issuers, clock

    async def ask(self, method, path, body=None, *, shown=None, **headers):
        headers["Authorization"] = f"Bearer {shown or token('root')}"
        url = f"/admin/v2/{path}"
        async with self._http.request(method, url, json=body, headers=headers) as answer:
            return answer.status

    def client(self, shown):
        return Client(self.broker.service_url, authentication=AuthenticationToken(shown))

    async def signed_in(self, **shown):
        peer = await Peer.open(self.broker.port, protocol_version=None)
        flags = pb.FeatureFlags(supports_auth_refresh=True)
        answer = await peer.ask(
            "connect",
            client_version="t",
            protocol_version=21,
            auth_method_name="token",
            feature_flags=flags,
            **shown,
        )
        return peer, answer


@pytest.fixture
async def world(tmp_path):
    issuers, clock = Issuers(tmp_path, "acme", "shop"), ManualClock()
    settings = {
        **TAKES_TOKENS,
        "tenantTokenIssuers": f"file://{issuers.file}",
        "authorizationEnabled": "true",
        "superUserRoles": "root",
        "proxyRoles": "proxy",
        "keepAliveIntervalSeconds": 3600,
    }
    async with (
        LocalBroker(settings=settings, clock=clock) as broker,
        aiohttp.ClientSession(broker.web_url) as http,
    ):
        world = World(broker, http, issuers, clock)
        # Each tenant trusts the other's administrator, too, which must not matter.
        tenant = {"adminRoles": ["boss@acme", "boss@shop"], "allowedClusters": ["standalone"]}
        for name in ("acme", "shop"):
            assert await world.ask("PUT", f"tenants/{name}", tenant) == 204
            assert await world.ask("PUT", f"namespaces/{name}/n", {}) == 204
        yield world


async def test_an_administrator_of_a_tenant_is_at_home_there_and_nowhere_else(world):
    boss = world.issuers.token("acme", "boss")
    grant = "namespaces/{}/n/permissions/worker@acme"
    actions = ["produce", "consume", "functions"]
    assert await world.ask("POST", grant.format("acme"), actions, shown=boss) == 204
    assert await world.ask("POST", grant.format("shop"), actions, shown=boss) in (401, 403)
    assert await world.ask("POST", grant.format("shop"), actions) == 204
    for path in ("tenants", "brokers/configuration/runtime", "tenants/shop", "tenants/none"):
        assert await world.ask("GET", path, shown=boss) == 401, path
    worker = world.issuers.token("acme", "worker")
    async with world.client(worker) as client:
        consumer = await client.subscribe("acme/n/t", "s")
        await (await client.create_producer("acme/n/t")).send(b"at home")
        assert (await consumer.receive(5)).data == b"at home"
        with pytest.raises(NotAuthorized):
            await client.create_producer("shop/n/t")
    official = pulsar.Client(
        world.broker.service_url,
        authentication=pulsar.AuthenticationToken(worker),
        logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    )
    try:
        sender = await asyncio.to_thread(official.create_producer, "acme/n/t")
        await asyncio.to_thread(sender.send, b"official")
        with pytest.raises(pulsar.AuthorizationError):
            await asyncio.to_thread(official.create_producer, "shop/n/t")
    finally:
        await asyncio.to_thread(official.close)


@pytest.mark.parametrize("subject", ["root", "proxy", "boss@shop", "../root", "root%40"])
async def test_no_subject_makes_anything_else_of_a_token(world, subject):
    shown = world.issuers.token("acme", subject)
    assert await world.ask("GET", "tenants", shown=shown) == 401
    assert await world.ask("GET", "namespaces/shop", shown=shown) in (401, 403)
    said = {"X-Original-Principal": "root"}
    assert await world.ask("GET", "tenants", shown=shown, **said) in (401, 403)
    _, answer = await world.signed_in(auth_data=shown.encode(), original_principal="root")
    assert answer.error.error == pb.AuthorizationError


async def test_a_proxy_that_asks_for_such_a_role_gets_no_more_than_both_may(world):
    boss = {"X-Original-Principal": "boss@acme"}
    proxy = token("proxy")
    assert await world.ask("GET", "namespaces/acme", shown=proxy, **boss) in (401, 403)
    tenant = {"adminRoles": ["proxy", "boss@acme"], "allowedClusters": ["standalone"]}
    for name in ("acme", "shop"):
        assert await world.ask("POST", f"tenants/{name}", tenant) == 204
    assert await world.ask("GET", "namespaces/acme", shown=proxy, **boss) == 200
    assert await world.ask("GET", "namespaces/shop", shown=proxy, **boss) in (401, 403)


async def test_a_connection_never_goes_over_to_another_issuer(world):
    """Not when it is asked for a new token, either."""
    first = world.issuers.token("acme", "me", life_s=None, exp=world.clock.now() + 1)
    shop, own = world.issuers.token("shop", "me"), token("me")
    peers = {}
    for other in (shop, own, world.issuers.token("acme", "you")):
        peer, answer = await world.signed_in(auth_data=first.encode())
        assert answer.HasField("connected")
        peers[other] = peer
    await world.clock.advance(60)
    for other, peer in peers.items():
        assert (await peer.hear(5)).HasField("authChallenge")
        response = pb.AuthData(auth_method_name="token", auth_data=other.encode())
        refused = await peer.ask("authResponse", protocol_version=21, response=response)
        assert refused.error.error == pb.AuthenticationError
        assert await peer.hung_up_on()


async def test_an_issuer_that_goes_takes_everything_along(world):
    boss = world.issuers.token("acme", "boss")
    other = world.issuers.token("shop", "boss")
    async with world.client(boss) as client, world.client(other) as staying:
        producer = await client.create_producer("acme/n/t")
        kept = await staying.create_producer("shop/n/t")
        await producer.send(b"1")
        del world.issuers.described["acme"]
        world.issuers.write()
        await world.clock.advance(60)
        with pytest.raises((NotAuthorized, NotAuthenticated)):
            await producer.send(b"2")
        await kept.send(b"3")
    assert await world.ask("GET", "namespaces/acme", shown=boss) == 401
    assert await world.ask("GET", "namespaces/shop", shown=other) == 200


async def test_roles_of_an_issuer_make_no_functions(world):
    """Those run with the credentials of the functions worker."""
    boss = world.issuers.token("acme", "boss")
    shown = {"Authorization": f"Bearer {boss}"}
    async with aiohttp.ClientSession(world.broker.web_url, headers=shown) as http:
        for kind in ("functions", "sources", "sinks"):
            async with http.get(f"/admin/v3/{kind}/acme/n") as answer:
                assert answer.status == 401, kind
