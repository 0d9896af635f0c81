"""Clients and brokers that speak TLS: whom a client trusts, and whom it says it is."""

import asyncio
import ssl

import pytest
from support.certificates import Authority, speaking_tls

from magnetar import Client
from magnetar.client import blocking
from magnetar.errors import InvalidValue, Unreachable


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.issue("broker")


@pytest.fixture
def trust(authority):
    return {"tls_trust_certs_file": authority.file}


@pytest.fixture
async def address(broker, certificate):
    async with speaking_tls(broker.service_url, certificate) as address:
        yield address


async def exchange(client, topic):
    consumer = await client.subscribe(topic, "s")
    await (await client.create_producer(topic)).send(b"sealed")
    assert (await consumer.receive(20)).data == b"sealed"


@pytest.mark.one_broker
async def test_messages_go_over_tls_to_a_broker_that_is_trusted(address, authority, topic):
    trust = {"tls_trust_certs_file": authority.file, "tls_minimum_version": "TLSv1.3"}
    async with Client(f"pulsar+ssl://{address}", **trust) as client:
        await exchange(client, topic)
        large = bytes(3 << 20)
        assert await (await client.create_producer(topic)).send(large)


@pytest.mark.one_broker
async def test_the_loop_of_blocking_clients_speaks_it_too(address, authority, topic):
    def talk():
        url, trust = f"pulsar+ssl://{address}", authority.file
        with blocking.Client(url, tls_trust_certs_file=trust) as client:
            consumer = client.subscribe(topic, "s")
            client.create_producer(topic).send(bytes(1 << 20))
            return len(consumer.receive(20).data)

    assert await asyncio.to_thread(talk) == 1 << 20


@pytest.mark.parametrize(
    ("host", "settings", "expected"),
    [
        ("localhost", {}, (Unreachable, "certificate is not trusted .*tls_trust_certs_file")),
        ("elsewhere", {"trusted": True}, (Unreachable, "another name .*tls_verify_hostname")),
        ("elsewhere", {"trusted": True, "tls_verify_hostname": False}, None),
        ("localhost", {"tls_allow_insecure": True}, None),
        ("localhost", {"tls_trust_certs_file": "/no.pem"}, (InvalidValue, "/no.pem")),
    ],
)
@pytest.mark.one_broker
async def test_who_is_trusted_is_for_the_settings_to_say(
    broker, authority, *, host, settings, expected
):
    topic = f"trust-{host}-{expected is None}"
    certificate = authority.issue(f"broker-of-{host}", [host])
    settings = dict(settings)
    if settings.pop("trusted", False):
        settings["tls_trust_certs_file"] = authority.file
    async with (
        speaking_tls(broker.service_url, certificate) as address,
        Client(f"pulsar+ssl://{address}", **settings) as client,
    ):
        if expected is None:
            await exchange(client, topic)
            return
        error, reason = expected
        with pytest.raises(error, match=reason) as raised:
            await client.create_producer(topic)
        assert error is InvalidValue or address in str(raised.value)


async def test_an_older_version_than_the_least_is_refused(broker, authority, certificate, topic):
    async with speaking_tls(
        broker.service_url, certificate, version=ssl.TLSVersion.TLSv1_2
    ) as address:
        options = {"tls_trust_certs_file": authority.file, "tls_minimum_version": "TLSv1.3"}
        async with Client(f"pulsar+ssl://{address}", **options) as client:
            with pytest.raises(Unreachable, match="version too old"):
                await client.create_producer(topic)


@pytest.mark.one_broker
async def test_a_broker_may_ask_for_the_clients_certificate(broker, authority, certificate, topic):
    mine, key = authority.issue("client", [])
    async with speaking_tls(broker.service_url, certificate, clients_of=authority.file) as address:
        url, trust = f"pulsar+ssl://{address}", {"tls_trust_certs_file": authority.file}
        async with Client(url, tls_certificate_file=mine, tls_key_file=key, **trust) as client:
            await exchange(client, topic)
        async with Client(url, **trust) as client:
            with pytest.raises(Unreachable, match=f"{address} .* client certificate"):
                await client.create_producer(topic)


@pytest.mark.parametrize("plain", [True, False])
async def test_plain_and_tls_mixed_up_is_told_at_once(broker, address, topic, plain):
    url = broker.service_url
    wrong = f"pulsar://{address}" if plain else url.replace("pulsar://", "pulsar+ssl://")
    async with Client(wrong) as client:
        reason = "for pulsar.ssl://" if plain else "port for pulsar://"
        with pytest.raises(Unreachable, match=reason):
            await client.create_producer(topic)
