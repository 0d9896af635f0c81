"""A broker that checks what roles may do, seen by clients of both libraries and over HTTP."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pulsar
import pytest
from support.elsewhere import until_elsewhere
from support.loop import GIVE_UP_S
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken, Client
from magnetar.broker.admin import events
from magnetar.errors import NotAuthorized, TopicNotFound
from magnetar.rest import server
from magnetar.testing.local_broker import LocalBroker

SETTINGS = {**TAKES_TOKENS, "authorizationEnabled": "true", "superUserRoles": "root"}
NAMESPACE = "/admin/v2/namespaces/public/default"
QUIET = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)


class World:
    def __init__(self, broker, http):
        self.broker = broker
        self._http = http

    async def ask(self, method, path, body=None, *, role="root", **headers):
        shown = {"Authorization": f"Bearer {token(role)}", **headers}
        async with self._http.request(method, path, json=body, headers=shown) as response:
            text = await response.text()
            return response.status, text

    def listen(self, path, role):
        return self._http.get(path, headers={"Authorization": f"Bearer {token(role)}"})

    async def grant(self, role, *actions):
        path = f"{NAMESPACE}/permissions/{role}"
        assert (await self.ask("POST", path, list(actions)))[0] == 204

    async def revoke(self, role):
        assert (await self.ask("DELETE", f"{NAMESPACE}/permissions/{role}"))[0] == 204

    @asynccontextmanager
    async def official(self, role):
        """The official client; what it does blocks, so that it is done in a thread."""
        shown = pulsar.AuthenticationToken(token(role))
        url = self.broker.service_url
        client = pulsar.Client(url, authentication=shown, logger=QUIET)
        try:
            yield client
        finally:
            await asyncio.to_thread(client.close)

    def ours(self, role):
        return Client(self.broker.service_url, authentication=AuthenticationToken(token(role)))


@asynccontextmanager
async def world_with(settings):
    async with (
        LocalBroker(settings={**SETTINGS, **settings}) as broker,
        aiohttp.ClientSession(broker.web_url) as http,
    ):
        yield World(broker, http)


@pytest.fixture
async def world():
    async with world_with({}) as made:
        yield made


async def test_a_role_may_do_what_it_was_granted(world):
    await world.grant("both", "produce", "consume")
    async with world.ours("both") as client, world.official("both") as official:
        consumer = await client.subscribe("granted", "s")
        reader = await asyncio.to_thread(official.subscribe, "granted", "t")
        await (await client.create_producer("granted")).send(b"ours")
        producer = await asyncio.to_thread(official.create_producer, "granted")
        await asyncio.to_thread(producer.send, b"official")
        assert [(await consumer.receive()).data for _ in range(2)] == [b"ours", b"official"]
        assert (await asyncio.to_thread(reader.receive, 5000)).data() == b"ours"


async def test_a_role_is_refused_what_it_was_not_granted_at_once(world):
    """Whoever tried again would get another error in the end: that the time is up."""
    await world.grant("writer", "produce")
    for role in ("writer", "nobody"):
        async with world.ours(role) as client, world.official(role) as official:
            says = f"Client is not authorized to .*: the role '{role}' on persistent://.*/refused"
            with pytest.raises(NotAuthorized, match=says):
                await client.subscribe("refused", "s")
            with pytest.raises(pulsar.AuthorizationError):
                await asyncio.to_thread(official.subscribe, "refused", "s")
    async with world.ours("nobody") as client:
        with pytest.raises(NotAuthorized):
            await client.create_producer("refused")
    status, _ = await world.ask("GET", "/admin/v2/persistent/public/default/refused/partitions")
    assert status == 404, "nobody without rights has a topic created"


async def test_a_tenant_that_is_missing_is_told_to_a_role_without_rights(world):
    missing, hidden = "persistent://none/shop/orders", "persistent://public/none/orders"
    async with world.ours("nobody") as client, world.official("nobody") as official:
        with pytest.raises(TopicNotFound, match="does not exist: none/shop"):
            await client.create_producer(missing)
        with pytest.raises(pulsar.TopicNotFound):
            await asyncio.to_thread(official.create_producer, missing)
        with pytest.raises(NotAuthorized):
            await client.create_producer(hidden)
        with pytest.raises(pulsar.AuthorizationError):
            await asyncio.to_thread(official.create_producer, hidden)


async def test_a_permission_that_goes_takes_producers_and_consumers_along(world):
    for role in ("leaver", "stayer"):
        await world.grant(role, "produce", "consume")
    async with (
        world.ours("leaver") as ours,
        world.ours("stayer") as other,
        world.official("leaver") as official,
    ):
        producer = await ours.create_producer("revoked")
        consumer = await ours.subscribe("revoked", "s")
        staying = await other.create_producer("revoked")
        sender = await asyncio.to_thread(official.create_producer, "revoked")
        await asyncio.to_thread(sender.send, b"1")
        await producer.send(b"2")
        assert {(await consumer.receive()).data for _ in range(2)} == {b"1", b"2"}
        await world.revoke("leaver")
        with pytest.raises(NotAuthorized):
            await producer.send(b"3")
        with pytest.raises(NotAuthorized):
            await consumer.receive(GIVE_UP_S)
        await until_elsewhere(
            lambda: not sender.is_connected(), "the official client closes its producer in a thread"
        )
        sender.send_async(b"4", lambda *_: None)  # It keeps this, as for a broker that is away.
        await staying.send(b"5")
    _, stats = await world.ask("GET", "/admin/v2/persistent/public/default/revoked/stats")
    assert '"msgInCounter":3' in stats


async def test_whoever_listens_over_http_hears_nothing_more_either(world, monkeypatch):
    monkeypatch.setattr(server, "ALLOWED_S", 0.0)
    await world.grant("reader", "consume")
    async with world.ours("root") as client:
        producer = await client.create_producer("tailed")
        path = "/admin/v2/persistent/public/default/tailed/messages/tail"
        async with world.listen(path, "reader") as tail, asyncio.timeout(GIVE_UP_S):
            await producer.send(b"before")
            while b"before" not in await tail.content.readline():
                pass
            await world.revoke("reader")
            await producer.send(b"after")
            assert b"after" not in await tail.content.read()


async def test_an_overview_is_of_what_a_role_sees(world, monkeypatch):
    monkeypatch.setattr(events, "SIGHT_S", 0.0)
    await world.grant("reader", "consume")

    async def seen(role):
        _, text = await world.ask("GET", "/admin/v2/magnetar/overview", role=role)
        return json.loads(text)["counts"]["namespaces"]

    assert [await seen(role) for role in ("root", "reader", "nobody")] == [2, 1, 0]
    async with (
        asyncio.timeout(GIVE_UP_S),
        world.listen("/admin/v2/magnetar/events", "reader") as heard,
    ):
        told = await heard.content.readuntil(b"\n\n")
        assert b'"namespaces":1' in told
        await world.revoke("reader")
        while b'"namespaces":0' not in await heard.content.readuntil(b"\n\n"):
            pass


async def test_a_proxy_and_its_client_must_both_be_allowed():
    settings = {**SETTINGS, "proxyRoles": "proxy"}
    async with (
        LocalBroker(settings=settings) as broker,
        aiohttp.ClientSession(broker.web_url) as http,
    ):
        world = World(broker, http)
        await world.grant("client", "produce")
        path = f"{NAMESPACE}/topics"
        through = {"X-Original-Principal": "client"}
        assert (await world.ask("GET", path, role="client"))[0] == 200
        assert (await world.ask("GET", path, role="proxy", **through))[0] == 403
        await world.grant("proxy", "produce")
        assert (await world.ask("GET", path, role="proxy", **through))[0] == 200
        await world.revoke("client")
        assert (await world.ask("GET", path, role="proxy", **through))[0] == 403


async def test_a_redrive_publishes_only_where_who_asks_may(world):
    """To consume letters is not to publish where they came from."""
    root = "/admin/v2/persistent/public/default"
    letter = {"value": "x", "properties": {"REAL_TOPIC": "persistent://public/default/origin"}}
    assert (await world.ask("PUT", f"{root}/origin", {}))[0] == 204
    await world.ask("PUT", f"{root}/letters/subscription/kept", "earliest")
    status, text = await world.ask("POST", f"{root}/letters/messages", {"messages": [letter]})
    assert status == 200, text
    await world.grant("reader", "consume")
    status, text = await world.ask("POST", f"{root}/letters/messages", {}, role="reader")
    assert status in (401, 403), text
    order = {"dryRun": True}
    status, text = await world.ask("POST", f"{root}/letters/redrive", order, role="reader")
    answer = json.loads(text)
    assert (status, answer["messages"]) == (200, 0)
    assert "Don't have permission to produce" in str(answer["skipped"])
    await world.grant("reader", "consume", "produce")
    _, text = await world.ask("POST", f"{root}/letters/redrive", order, role="reader")
    assert json.loads(text)["messages"] == 1, text


async def test_a_tenants_admin_names_buckets_where_the_broker_is_told_so():
    bucket = {"managedLedgerOffloadDriver": "aws-s3", "managedLedgerOffloadBucket": "theirs"}
    own = {**bucket, "s3ManagedLedgerOffloadServiceEndpoint": "http://s3.test"}
    folder = {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "file:///srv/tiered"}
    keys = {"gcsManagedLedgerOffloadServiceAccountKeyFile": "/etc/keys.json"}
    google = {**bucket, "managedLedgerOffloadDriver": "google-cloud-storage"}
    tenant = {"adminRoles": ["boss"], "allowedClusters": ["standalone"]}
    namespace, topic = "/admin/v2/namespaces/acme/n", "/admin/v2/persistent/acme/n/t"
    for allowed in ("false", "true"):
        async with world_with({"allowOffloadBucketsByTenantAdmins": allowed}) as world:
            assert (await world.ask("PUT", "/admin/v2/tenants/acme", tenant))[0] == 204
            assert (await world.ask("PUT", namespace, {}, role="boss"))[0] == 204
            assert (await world.ask("PUT", topic, {}, role="boss"))[0] == 204
            for place in (namespace, topic):
                path = f"{place}/offloadPolicies"
                for asked in (bucket, own, google):
                    status, _ = await world.ask("POST", path, asked, role="boss")
                    assert status == (204 if allowed == "true" else 401)
                for asked in (folder, google | keys, bucket | {"fileSystemURI": "file:///etc"}):
                    assert (await world.ask("POST", path, asked, role="boss"))[0] == 401
                assert (await world.ask("POST", path, bucket, role="nobody"))[0] in (401, 403)


async def test_only_a_superuser_says_where_copies_of_ledgers_go(world):
    """The broker writes there, in any folder of its machine, and with its own credentials."""
    tenant = {"adminRoles": ["boss"], "allowedClusters": ["standalone"]}
    assert (await world.ask("PUT", "/admin/v2/tenants/acme", tenant))[0] == 204
    namespace, topic = "/admin/v2/namespaces/acme/n", "/admin/v2/persistent/acme/n/t"
    there = {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": "file:///srv/tiered"}
    status, _ = await world.ask("PUT", namespace, {"offload_policies": there}, role="boss")
    assert status == 401
    assert (await world.ask("PUT", namespace, {}, role="boss"))[0] == 204
    assert (await world.ask("PUT", topic, {}, role="boss"))[0] == 204
    for path in (f"{namespace}/offloadPolicies", f"{topic}/offloadPolicies"):
        assert (await world.ask("POST", path, there, role="boss"))[0] == 401
    assert (await world.ask("POST", f"{namespace}/offloadPolicies", there))[0] == 204
    elsewhere = {**there, "fileSystemURI": "file:///etc"}
    assert (await world.ask("POST", f"{topic}/offloadPolicies", elsewhere, role="boss"))[0] == 401
    sooner = {**there, "managedLedgerOffloadThresholdInBytes": 0}
    for path in (f"{namespace}/offloadPolicies", f"{topic}/offloadPolicies"):
        assert (await world.ask("POST", path, sooner, role="boss"))[0] == 204


async def test_a_set_up_script_that_only_puts_ends_with_what_it_asked_for(world):
    tenant = {"adminRoles": ["anonymous"], "allowedClusters": ["standalone"]}
    assert (await world.ask("PUT", "/admin/v2/tenants/public", tenant))[0] == 204
    granted = {"namespace_auth": {"anonymous": ["produce", "consume"]}}
    body = {"replication_clusters": ["standalone"], "auth_policies": granted}
    assert (await world.ask("PUT", NAMESPACE, body))[0] == 204
    async with world.ours("anonymous") as client:
        producer = await client.create_producer("set-up")
        await producer.send(b"x")
    # What somebody has changed is taken, so that a script that runs again takes nothing away.
    for path, again in (("/admin/v2/tenants/public", tenant), (NAMESPACE, {})):
        assert (await world.ask("PUT", path, again))[0] == 409
    assert (
        json.loads((await world.ask("GET", f"{NAMESPACE}/permissions"))[1])
        == granted["namespace_auth"]
    )
    bundles = {"bundles": {"numBundles": 16}}
    status, _ = await world.ask("PUT", "/admin/v2/namespaces/pulsar/system", bundles)
    assert status == 204
    _, shown = await world.ask("GET", "/admin/v2/namespaces/pulsar/system/bundles")
    assert json.loads(shown)["numBundles"] == 4
