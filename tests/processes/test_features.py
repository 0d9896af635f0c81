"""What one process does, several do together: transactions, TLS, credentials, offload, SIGHUP."""

import asyncio
import json
import os
import signal
import socket
import ssl
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pulsar
import pytest
from offload.conftest import SETTINGS as OFFLOADING
from processes.conftest import ManyProcesses, client_of, read_all
from support.admin import ask
from support.security import USER, Security

from magnetar import Client, InitialPosition
from magnetar.testing.ports import free_port
from magnetar.testing.processes import BrokerProcess

TOPICS = [f"persistent://public/default/t-{number}" for number in range(12)]
WAIT_S = 30


def until(holds, what):
    """Wait for what another process does in its own time."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def at_both(broker):
    """Whether the topics are shared out."""
    served_by = {
        broker.admin(f"lookup/v2/topic/{topic.replace('://', '/')}")["brokerUrl"]
        for topic in TOPICS
    }
    return len(served_by) > 1


@pytest.fixture
def transactional(start):
    return start(2, transactionCoordinatorEnabled=True, acknowledgmentAtBatchIndexLevelEnabled=True)


@pytest.fixture
async def client(transactional):
    async with Client(
        transactional.service_url, operation_timeout_s=60, backoff_first_s=0.02
    ) as client:
        yield client


async def received(consumers):
    """The next message of each, and no more."""
    found = [(await each.receive(20)).data for each in consumers]
    for each in consumers:
        with pytest.raises(TimeoutError):
            await each.receive(0.05)
    return found


async def test_transactions_reach_topics_of_both(transactional, client):
    producers = [await client.create_producer(topic) for topic in TOPICS]
    consumers = [
        await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
        for topic in TOPICS
    ]
    assert at_both(transactional)
    async with client.transaction() as txn:
        await asyncio.gather(*(each.send(b"never", txn=txn) for each in producers))
        await txn.abort()
    async with client.transaction() as txn:
        await asyncio.gather(*(each.send(b"all", txn=txn) for each in producers))
        with pytest.raises(TimeoutError):
            await consumers[0].receive(0.2)
    assert await received(consumers) == [b"all"] * len(TOPICS)


async def test_a_transaction_outlives_either_process(transactional, client):
    producers = [await client.create_producer(topic) for topic in TOPICS]
    consumers = [
        await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
        for topic in TOPICS
    ]
    for worker in transactional.workers():
        async with client.transaction() as txn:
            await asyncio.gather(*(each.send(b"%d" % worker, txn=txn) for each in producers))
            os.kill(worker, signal.SIGKILL)
            until(lambda gone=worker: gone not in transactional.workers(), "it is replaced")
        for each in consumers:
            message = await each.receive(30)
            assert message.data == b"%d" % worker
            await each.acknowledge(message)


@pytest.fixture
def security(tmp_path):
    return Security(tmp_path, (free_port(2), free_port(2)))


@pytest.fixture
def guarded(start, security):
    """Processes that speak TLS, let nobody in without a name, and ask each other by both."""
    values = {key: value for key, value in security.values.items() if key != "anonymousUserRole"}
    return start(
        2,
        **values,
        advertisedAddress="localhost",
        authorizationEnabled=True,
        superUserRoles=USER,
        brokerClientTlsEnabled=True,
        brokerClientTrustCertsFilePath=security.authority.file,
        brokerClientAuthenticationPlugin=("org.apache.pulsar.client.impl.auth.AuthenticationToken"),
        brokerClientAuthenticationParameters=f"token:{security.token()}",
    )


@pytest.mark.usefixtures("guarded")
def test_tls_and_tokens_hold_at_each(security):
    trust = {"tls_trust_certs_file_path": security.authority.file, "use_tls": True}
    quiet = {"logger": pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)}
    token = pulsar.AuthenticationToken(security.token())
    client = pulsar.Client(security.url, authentication=token, **trust, **quiet)
    for topic in TOPICS:
        consumer = client.subscribe(topic, "s")
        client.create_producer(topic).send(topic.encode())
        assert consumer.receive(20_000).data() == topic.encode()
    client.close()
    context = ssl.create_default_context(cafile=security.authority.file)

    def stats(topic, **headers):
        path = topic.replace("://", "/")
        asked = Request(f"{security.web_url}/admin/v2/{path}/stats", headers=headers)
        with urlopen(asked, context=context, timeout=20) as answer:
            return json.load(answer)

    named = {"Authorization": f"Bearer {security.token()}"}
    # One connection each, of which the system gives some to either process.
    assert {stats(topic, **named)["msgInCounter"] for topic in TOPICS for _ in range(3)} == {1}
    for topic in TOPICS:
        with pytest.raises(HTTPError, match="401"):
            stats(topic)
    nobody = pulsar.Client(security.url, **trust, **quiet)
    with pytest.raises(pulsar.PulsarException, match="Authentication"):
        nobody.create_producer(TOPICS[0])
    nobody.close()


def test_what_either_has_offloaded_is_read_by_either(start, tmp_path):
    settings = {**OFFLOADING, "fileSystemURI": (tmp_path / "tiered").as_uri()}
    broker = start(2, **settings)
    client = client_of(broker.service_url)
    for topic in TOPICS:
        producer = client.create_producer(topic, batching_enabled=False)
        for number in range(25):
            producer.send(b"%d" % number)
    client.close()
    assert at_both(broker)

    def ledgers(topic):
        return ask(broker, "GET", f"{topic.replace('://', '/')}/internalStats")["ledgers"]

    for topic in TOPICS:
        upto = {"ledgerId": ledgers(topic)[-1]["ledgerId"], "entryId": 0}
        ask(broker, "PUT", f"{topic.replace('://', '/')}/offload", upto)
    for topic in TOPICS:
        until(
            lambda topic=topic: all(
                each.get("copy", {}).get("only") for each in ledgers(topic)[:-1]
            ),
            f"{topic} is offloaded",
        )
    assert broker.terminate() == 0
    # Fewer serve what the others have offloaded.
    for count in (2, 1):
        again = start(count, **settings)
        for topic in TOPICS:
            assert read_all(again.service_url, topic) == [b"%d" % each for each in range(25)]
        assert again.terminate() == 0


class Configured(ManyProcesses):
    """Their settings are in a file, which SIGHUP has them read again."""

    def __init__(self, folder, count, conf, **settings):
        super().__init__(folder, count, **settings)
        self._conf = conf

    def begin(self, command, **how):
        return BrokerProcess.begin([*command, "--conf", str(self._conf)], **how)


def shown_at(port):
    """The certificate that a client is shown."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain) as shown,
    ):
        return shown.getpeercert(binary_form=True)


def test_each_takes_what_changed_by_sighup_and_so_does_who_replaces_one(tmp_path, security):
    conf = tmp_path / "broker.conf"
    conf.write_text("logLevel=warning\n")
    keys = ("tlsCertificateFilePath", "tlsKeyFilePath", "brokerServicePortTls")
    certificate, key, port = (security.values[each] for each in keys)
    tls = dict(zip(keys, (certificate, key, port), strict=True))
    folder = tmp_path / "data"
    with Configured(folder, 2, conf, **tls, tlsCertRefreshCheckDurationSec=0) as broker:
        own = [port + 100, port + 102]
        before = {shown_at(each) for each in own}
        assert len(before) == 1
        conf.write_text("logLevel=info\n")
        for file, other in zip((certificate, key), security.authority.issue("newer"), strict=True):
            Path(other).replace(file)
        os.kill(broker.pid, signal.SIGHUP)
        reloaded = "configuration.reloaded level=info"
        until(lambda: broker.life_log().count(reloaded) == 2, "both have read the file again")
        now = {shown_at(each) for each in (*own, port)}
        assert len(now) == 1
        assert now != before
        os.kill(broker.workers()[1], signal.SIGKILL)
        until(lambda: broker.life_log().count(reloaded) == 3, "so has who replaces one")
        assert {shown_at(each) for each in own} == now
