"""A broker that speaks TLS, with clients of both libraries that show certificates or do not."""

import asyncio
import ssl
import time
from datetime import timedelta

import aiohttp
import pulsar
import pytest
from support.certificates import Authority
from support.clock import ManualClock
from support.tokens import PROVIDER
from unit.broker.peer import Peer

from magnetar import AuthenticationTls, Client
from magnetar.errors import NotAuthenticated, Unreachable
from magnetar.testing.local_broker import LocalBroker


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


def settings(authority, **more):
    certificate, key = authority.issue("broker")
    return {
        "brokerServicePortTls": 0,
        "webServicePortTls": 0,
        "advertisedAddress": "localhost",
        "tlsCertificateFilePath": certificate,
        "tlsKeyFilePath": key,
        "tlsTrustCertsFilePath": authority.file,
    } | more


BY_CERTIFICATE = {"authenticationEnabled": "true", "authenticationProviders": PROVIDER + "Tls"}


def urls(broker):
    tls = broker.broker
    return f"pulsar+ssl://localhost:{tls.port_tls}", f"https://localhost:{tls.web_port_tls}"


async def exchange(client, topic, payload=b"sealed"):
    consumer = await client.subscribe(topic, "s")
    await (await client.create_producer(topic)).send(payload)
    assert (await consumer.receive(10)).data == payload


def official(url, authority, shown):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    trust = {"tls_trust_certs_file_path": authority.file, "tls_validate_hostname": True}
    client = pulsar.Client(url, authentication=shown, logger=quiet, **trust)
    try:
        client.create_producer("official").send(b"x")
    finally:
        client.close()


async def test_a_certificate_says_who_a_client_is(authority):
    mine = authority.issue("orders", [])
    trust = {"tls_trust_certs_file": authority.file}
    async with LocalBroker(settings=settings(authority, **BY_CERTIFICATE)) as broker:
        for url in urls(broker):
            async with Client(url, authentication=AuthenticationTls(*mine), **trust) as client:
                await exchange(client, "ours", bytes(3 << 20))
                roles = {session.role for session in broker.broker.sessions()}
                assert roles == {"orders"}
            async with Client(url, **trust) as client:
                with pytest.raises(NotAuthenticated):
                    await client.create_producer("ours")
        shown = pulsar.AuthenticationTLS(*mine)
        await asyncio.to_thread(official, urls(broker)[0], authority, shown)


async def test_without_tls_a_name_is_not_believed(authority):
    async with LocalBroker(settings=settings(authority, **BY_CERTIFICATE)) as broker:
        peer = await Peer.open(broker.port, protocol_version=None)
        shown = {"client_version": "x", "auth_method_name": "tls", "auth_data": b"orders"}
        answer = await peer.ask("connect", **shown)
        assert "no certificate" in answer.error.message
        assert await peer.hung_up_on()


async def test_a_certificate_of_nobody_we_know_or_none_ends_it_where_one_is_required(
    authority, tmp_path
):
    strict = settings(authority, tlsRequireTrustedClientCertOnConnect="true")
    trust = {"tls_trust_certs_file": authority.file}
    stranger = AuthenticationTls(*Authority(tmp_path, "stranger").issue("orders", []))
    mine = AuthenticationTls(*authority.issue("orders", []))
    async with LocalBroker(settings=strict) as broker:
        for shown in (stranger, None):
            for url in urls(broker):
                async with Client(url, authentication=shown, **trust) as client:
                    with pytest.raises((NotAuthenticated, Unreachable)):
                        await client.create_producer("ours")
        async with Client(urls(broker)[0], authentication=mine, **trust) as client:
            await exchange(client, "ours")


async def test_lookups_and_the_cluster_tell_the_addresses_for_tls(authority):
    async with LocalBroker(settings=settings(authority)) as broker:
        url, web_url = urls(broker)
        trusts = ssl.create_default_context(cafile=authority.file)
        lookup = "/lookup/v2/topic/persistent/public/default/t"
        async with aiohttp.ClientSession(web_url) as session:
            async with session.get(lookup, ssl=trusts) as answer:
                found = await answer.json()
            async with session.get("/admin/v2/clusters/standalone", ssl=trusts) as answer:
                cluster = await answer.json()
        assert (found["brokerUrlTls"], found["httpUrlTls"]) == (url, web_url)
        assert cluster["brokerServiceUrlTls"] == url
        assert cluster["serviceUrlTls"] == web_url


async def test_clients_may_be_made_to_come_by_tls_only(authority):
    only = settings(authority, brokerServicePort=-1, webServicePort=-1)
    async with LocalBroker(settings=only) as broker:
        assert broker.broker.port == broker.broker.port_tls
        assert broker.broker.web_port is None
        for url in urls(broker):
            async with Client(url, tls_trust_certs_file=authority.file) as client:
                await exchange(client, "ours")


async def test_a_certificate_is_renewed_without_a_restart(tmp_path):
    authority, clock = Authority(tmp_path), ManualClock()
    renewed = settings(authority, tlsCertRefreshCheckDurationSec=60)
    async with LocalBroker(settings=renewed, clock=clock) as broker:

        async def shown():
            context = ssl.create_default_context(cafile=authority.file)
            _, writer = await asyncio.open_connection(
                "localhost", broker.broker.port_tls, ssl=context
            )
            serial = writer.get_extra_info("peercert")["serialNumber"]
            writer.close()
            return serial, writer

        first, open_before = await shown()
        authority.issue("broker")
        await clock.advance(60)
        second, _ = await shown()
        assert first != second
        assert open_before.get_extra_info("peercert")["serialNumber"] == first


async def test_who_never_finishes_the_handshake_costs_nobody_else(authority):
    async with LocalBroker(settings=settings(authority)) as broker:
        _, silent = await asyncio.open_connection("localhost", broker.broker.port_tls)
        silent.write(b"\x16\x03\x01rubbish")
        _, plain = await asyncio.open_connection("localhost", broker.broker.port_tls)
        plain.write(b"GET / HTTP/1.1\r\n\r\n")
        async with Client(urls(broker)[0], tls_trust_certs_file=authority.file) as client:
            await exchange(client, "ours")
        silent.close()
        plain.close()


async def test_metrics_tell_when_certificates_end(authority, caplog):
    certificate, key = authority.issue("short", lasts=timedelta(days=3))
    short = settings(authority, tlsCertificateFilePath=certificate, tlsKeyFilePath=key)
    async with LocalBroker(settings=short) as broker, aiohttp.ClientSession() as http:
        lines = (await (await http.get(f"{broker.web_url}/metrics/")).text()).splitlines()
    name = "magnetar_tls_certificate_expires_timestamp_seconds{"
    told = [line for line in lines if line.startswith(name)]
    assert len(told) == 2
    (ends,) = [line for line in told if 'setting="tlsCertificateFilePath"' in line]
    left_s = float(ends.rpartition(" ")[2]) - time.time()
    assert 2.9 * 86_400 < left_s < 3 * 86_400
    assert f"tls.certificate_expires tlsCertificateFilePath={certificate}" in caplog.text
