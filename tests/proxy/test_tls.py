"""TLS with clients, with brokers, and passed through by server name."""

import asyncio

import pulsar
from proxy.conftest import proxy_before
from support.certificates import Authority

from magnetar.testing.local_broker import LocalBroker


def _tls(authority):
    certificate, key = authority.issue("server")
    return {"tlsCertificateFilePath": certificate, "tlsKeyFilePath": key}


def _send(url, **options):
    client = pulsar.Client(url, **options)
    try:
        client.create_producer("secret").send(b"x")
    finally:
        client.close()


async def test_tls_ends_at_the_proxy_and_begins_again_with_the_broker(tmp_path):
    authority = Authority(tmp_path)
    files = _tls(authority)
    secure = {**files, "brokerServicePortTls": 0, "webServicePortTls": 0}
    async with LocalBroker(settings=secure) as broker:
        by_tls = {
            **files,
            "servicePortTls": 0,
            "tlsEnabledWithBroker": True,
            "brokerServiceURLTLS": f"pulsar+ssl://localhost:{broker.broker.port_tls}",
            "brokerClientTrustCertsFilePath": authority.file,
            "tlsHostnameVerificationEnabled": True,
        }
        async with proxy_before(broker, **by_tls) as proxy:
            url = f"pulsar+ssl://localhost:{proxy.port_tls}"
            await asyncio.to_thread(_send, url, tls_trust_certs_file_path=authority.file)
            assert proxy.counts.bytes


async def test_a_client_that_greets_a_broker_by_name_is_passed_through(tmp_path):
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    secure = {**_tls(authority), "brokerServicePortTls": 0, "advertisedAddress": "localhost"}
    async with LocalBroker(settings=secure) as broker:
        sni = {**_tls(other), "servicePortTls": 0, "sniRoutingEnabled": True}
        async with proxy_before(broker, **sni) as proxy:
            # Of another authority than the broker's, so that it is seen whose TLS a client got.
            url = f"pulsar+ssl://localhost:{proxy.port_tls}"
            await asyncio.to_thread(_send, url, tls_trust_certs_file_path=other.file)
            ended_here = proxy.counts.lookups
            assert ended_here
            proxy.brokers.replace([broker.broker.address])
            await asyncio.to_thread(_send, url, tls_trust_certs_file_path=authority.file)
            assert proxy.counts.lookups == ended_here, "it was asked, and not passed through"
        assert not proxy.counts.open


async def test_what_is_no_tls_at_all_is_closed(tmp_path):
    async with LocalBroker() as broker:
        sni = {**_tls(Authority(tmp_path)), "servicePortTls": 0, "sniRoutingEnabled": True}
        async with proxy_before(broker, **sni) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port_tls)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()
