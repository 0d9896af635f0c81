"""Clusters that ask who a broker is, and speak TLS."""

import pytest
from replication.test_two_clusters import TOPIC, published
from support.certificates import Authority
from support.loop import until
from support.regions import LocalRegion, introduce
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken, Client
from magnetar.client.admin_api import AsyncAdminApi
from magnetar.testing.ports import free_port

ROOT = AuthenticationToken(token("root"))
PLUGIN = "org.apache.pulsar.client.impl.auth.AuthenticationToken"


class SafeRegion(LocalRegion):
    """One whose broker asks for a token, and has ports for TLS alone."""

    def __init__(self, name, authority):
        certificate, key = authority.issue(name)
        ports = {"brokerServicePortTls": free_port(), "webServicePortTls": free_port()}
        super().__init__(
            name,
            None,
            {
                **TAKES_TOKENS,
                **ports,
                "authorizationEnabled": "true",
                "superUserRoles": f"root,{name}",
                "tlsCertificateFilePath": certificate,
                "tlsKeyFilePath": key,
                "tlsTrustCertsFilePath": authority.file,
                "brokerClientTlsEnabled": "true",
                "brokerClientTrustCertsFilePath": authority.file,
                "brokerClientAuthenticationPlugin": PLUGIN,
                "brokerClientAuthenticationParameters": f"token:{token(name)}",
            },
        )
        self.service_url_tls = f"pulsar+ssl://localhost:{ports['brokerServicePortTls']}"
        self.web_url_tls = f"https://localhost:{ports['webServicePortTls']}"
        self.admin = AsyncAdminApi(
            self.web_url_tls, authentication=ROOT, tls_trust_certs_file=str(authority.file)
        )

    async def tell(self, other, **more):
        """Say where another one is, and what it is to be shown."""
        urls = {"serviceUrlTls": other.web_url_tls, "brokerServiceUrlTls": other.service_url_tls}
        await self.send("POST", f"clusters/{other.name}", {**urls, **more})


@pytest.fixture
async def pair(tmp_path):
    authority = Authority(tmp_path)
    found = [SafeRegion(name, authority) for name in ("west", "east")]
    for region in found:
        await region.up()
    await introduce(found)
    for region, other in (found, found[::-1]):
        await region.tell(other)
        await region.client.close()
        region.client = Client(
            region.service_url_tls, authentication=ROOT, tls_trust_certs_file=str(authority.file)
        )
    yield found
    for region in found:
        await region.client.close()
        await region.down()


async def test_a_cluster_is_shown_what_its_record_says(pair):
    west, east = pair
    await published(west, count=10)
    await until(lambda: "not allowed" in trouble(west) or "not authorized" in trouble(west))
    await west.tell(
        east, authenticationPlugin=PLUGIN, authenticationParameters=f"token:{token('root')}"
    )
    consumer = await east.client.subscribe(TOPIC, "s")
    await until(lambda: not west.replicator(TOPIC, "east").backlog)
    await published(west, count=1, first=10)
    assert (await consumer.receive(20)).data
    shown = (await west.replication(TOPIC))["east"]
    assert shown["connected"]
    assert shown["outboundConnection"] == east.service_url_tls.replace("pulsar+ssl:/", "")


def trouble(region):
    return region.replicator(TOPIC, "east")._remote.trouble
