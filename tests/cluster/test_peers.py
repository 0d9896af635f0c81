"""Brokers ask each other as themselves, over TLS too, for who may ask."""

import json
import socket
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest
from cluster.conftest import two_brokers
from support.security import Security

from magnetar.broker.peers import Peers
from magnetar.clock import SystemClock
from magnetar.model.names import NamespaceName

NAMESPACE = NamespaceName("public", "default")
TOPIC = "/admin/v2/persistent/public/default/p"
TOKEN = "org.apache.pulsar.client.impl.auth.AuthenticationToken"


@asynccontextmanager
async def brokers_of(folder, **settings):
    """Two brokers that ask who asks; ``settings`` get the credentials of a superuser."""
    security = Security(folder, (0, 0))
    values = {
        **security.values,
        "authorizationEnabled": "true",
        "superUserRoles": "orders",
        "authenticationProviders": security.values["authenticationProviders"].split(",")[0],
        **settings,
    }
    del values["anonymousUserRole"]
    headers = {"Authorization": f"Bearer {security.token()}"}
    async with two_brokers(**values) as pair, aiohttp.ClientSession(headers=headers) as http:
        policies = await pair.registries[0]._resources.require_namespace(NAMESPACE)
        for index, bundle in enumerate(policies.bundles.of(NAMESPACE)):
            await pair.registries[index % 2].ownership.acquire(bundle)
        yield pair, http


async def ask(http, broker, method, path, body=None, **headers):
    """Ask a broker, and the one that it names, to which aiohttp would not show credentials."""
    data = None if body is None else json.dumps(body)
    sent = {"Content-Type": "application/json", **headers}
    url = broker.web_url + path
    while True:
        asked = http.request(method, url, data=data, headers=sent, allow_redirects=False)
        async with asked as response:
            if response.status != 307:
                return response.status, await response.text()
            url = response.headers["Location"]


@pytest.fixture
def credentials(tmp_path):
    token = Security(tmp_path, (0, 0)).token()
    return {
        "brokerClientAuthenticationPlugin": TOKEN,
        "brokerClientAuthenticationParameters": f"token:{token}",
    }


@pytest.mark.parametrize("tls", [False, True])
async def test_a_broker_shows_its_own_credentials(tmp_path, credentials, tls):
    files = {"brokerClientTlsEnabled": "true"} if tls else {}
    if tls:
        files["brokerClientTrustCertsFilePath"] = Security(tmp_path, (0, 0)).authority.file
        files["advertisedAddress"] = "localhost"
    async with brokers_of(tmp_path, **credentials, **files) as (pair, http):
        for broker in pair.brokers:
            assert (await ask(http, broker, "PUT", f"{TOPIC}/partitions", 8))[0] in (204, 409)
            status, text = await ask(http, broker, "GET", f"{TOPIC}/partitioned-stats")
            assert (status, len(json.loads(text)["partitions"])) == (200, 8)
        assert all(registry.loaded for registry in pair.registries)


async def test_who_may_not_ask_is_refused_by_the_first_broker(tmp_path, credentials):
    async with brokers_of(tmp_path, **credentials) as (pair, http):
        await ask(http, pair.brokers[0], "PUT", f"{TOPIC}/partitions", 8)
    async with brokers_of(tmp_path, **credentials, superUserRoles="boss") as (pair, http):
        status, text = await ask(http, pair.brokers[0], "PUT", f"{TOPIC}/partitions", 8)
        assert status == 403, text
        assert not any(registry.loaded for registry in pair.registries)


async def test_policies_of_topics_are_asked_of_their_owner_by_the_broker_itself(
    tmp_path, credentials
):
    """Who sets them may set them, and need not be a superuser to read events."""
    async with brokers_of(tmp_path, change_events=True, **credentials) as (pair, http):
        for broker in pair.brokers:
            path = f"/admin/v2/persistent/public/default/of-{broker.port}"
            assert (await ask(http, broker, "PUT", path))[0] == 204
            for asked in pair.brokers:
                assert await ask(http, asked, "POST", f"{path}/maxProducers", 5) == (204, "")
                assert await ask(http, asked, "GET", f"{path}/maxProducers") == (200, "5")
    async with brokers_of(tmp_path, change_events=True) as (pair, http):
        path = "/admin/v2/persistent/public/default/x"
        await ask(http, pair.brokers[0], "PUT", path)
        answers = [
            await ask(http, each, "POST", f"{path}/maxProducers", 5) for each in pair.brokers
        ]
        assert sorted(status for status, _ in answers) == [204, 503]
        assert "brokerClientAuthenticationPlugin" in max(answers)[1]


async def test_without_credentials_it_is_said_which_settings_are_missing(tmp_path):
    async with brokers_of(tmp_path) as (pair, http):
        status, text = await ask(http, pair.brokers[0], "PUT", f"{TOPIC}/partitions", 8)
        assert status == 503
        assert "set brokerClientAuthenticationPlugin" in json.loads(text)["reason"]


async def test_where_nobody_listens_a_broker_is_refused():
    async with two_brokers() as pair:
        here, there = (each.broker for each in pair.brokers)
        peers = Peers(here.address, {}, SystemClock(), tls=False)
        assert not await peers.refuses(there.address)
        connection = await peers.connect(there.address)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            nobody = replace(
                there.address, service_url=f"pulsar://127.0.0.1:{taken.getsockname()[1]}"
            )
            assert await peers.refuses(nobody)
        assert not await peers.refuses(
            replace(there.address, service_url="pulsar://unknown.invalid:1")
        )
        await peers.close()
        await connection.wait_closed()
