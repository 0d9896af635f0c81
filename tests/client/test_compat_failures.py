"""What programs for the official client are told when something ends or fails, by both alike."""

import asyncio
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pulsar as official
import pulsar.asyncio as official_asyncio
import pytest

import magnetar.compat.asyncio as compat_asyncio
from magnetar import compat
from magnetar.testing.local_broker import BrokerThread

pytestmark = pytest.mark.compatibility

INTERRUPTED = """
import {module} as pulsar

client = pulsar.Client("{url}", logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
try:
    receiver = client.{receiver}
    print("ready", flush=True)
    receiver.{receive}()
except pulsar.Interrupted as error:
    print(error)
finally:
    client.close()
"""


@pytest.fixture(params=[official, compat], ids=["official", "ours"])
def pulsar(request):
    return request.param


@pytest.fixture
def client(pulsar, broker):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(broker.service_url, logger=quiet, operation_timeout_seconds=20)
    yield client
    with suppress(official.AlreadyClosed, compat.AlreadyClosed):
        client.close()


@pytest.fixture
def topic(topic, request):
    return f"{topic}-{request.node.callspec.id}"


@pytest.mark.parametrize(
    ("receiver", "receive"),
    [("subscribe('{}', 's')", "receive"), ("create_reader('{}', START)", "read_next")],
    ids=["consumer", "reader"],
)
def test_ctrl_c_ends_a_receive_with_interrupted(pulsar, broker, topic, receiver, receive):
    start = "pulsar.MessageId.earliest"
    text = INTERRUPTED.format(
        module=pulsar.__name__,
        url=broker.service_url,
        receiver=receiver.format(topic).replace("START", start),
        receive=receive,
    )
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.5)  # Until it receives.
        running.send_signal(signal.SIGINT)
        printed, _ = running.communicate(timeout=30)
    assert printed == "Pulsar error: ResultInterrupted\n"
    assert running.returncode == 0


def test_an_id_without_its_topic_is_of_no_consumer_of_several(pulsar, client, topic):
    consumer = client.subscribe([topic, f"{topic}-2"], "s")
    sent = client.create_producer(topic).send(b"x")
    received = consumer.receive(10_000).message_id()
    bare = pulsar.MessageId.deserialize(received.serialize())
    for call in (consumer.acknowledge, consumer.acknowledge_cumulative, consumer.seek):
        for message_id in (sent, bare):
            with pytest.raises(pulsar.OperationNotSupported):
                call(message_id)
    consumer.negative_acknowledge(bare)
    consumer.acknowledge(received)


def test_what_is_closed_says_so(pulsar, client, topic):
    producer = client.create_producer(topic)
    producer.close()
    for call in (producer.close, producer.flush, lambda: producer.send(b"x")):
        with pytest.raises(pulsar.AlreadyClosed):
            call()
    client.shutdown()
    client.shutdown()
    client.close()
    with pytest.raises(pulsar.AlreadyClosed):
        client.create_producer(topic)


@pytest.mark.parametrize("method", ["basic", "oms3.0"])
def test_a_password_has_one_form_over_http(pulsar, method):
    shown = []

    class Asked(BaseHTTPRequestHandler):
        def do_GET(self):
            shown.append(self.headers["Authorization"])
            self.send_error(404)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    threading.Thread(target=server.serve_forever).start()
    try:
        client = pulsar.Client(
            f"http://127.0.0.1:{server.server_port}",
            authentication=pulsar.AuthenticationBasic("user", "password", method=method),
            logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
        )
        with pytest.raises(pulsar.PulsarException):
            client.create_producer("t")
        client.close()
    finally:
        server.shutdown()
        server.server_close()
    assert set(shown) == {"Basic dXNlcjpwYXNzd29yZA=="}


@pytest.fixture(params=[official_asyncio, compat_asyncio], ids=["official", "ours"])
def theirs(request):
    return request.param


async def refused(theirs, call, result):
    with pytest.raises(theirs.PulsarException) as told:
        await call
    assert told.value.error().name == result
    return str(told.value)


async def test_what_is_closed_says_so_in_asyncio(theirs, broker, topic):
    client = theirs.Client(broker.service_url)
    producer = await client.create_producer(topic)
    await producer.close()
    for call in (producer.close(), producer.flush(), producer.send(b"x")):
        await refused(theirs, call, "AlreadyClosed")
    await client.close()
    for call in (client.close(), client.create_producer(topic), client.subscribe(topic, "s")):
        await refused(theirs, call, "AlreadyClosed")


@pytest.mark.parametrize("used", [True, False])
async def test_nothing_is_made_after_a_shutdown(theirs, broker, topic, used):
    client = theirs.Client(broker.service_url)
    if used:
        await client.create_producer(topic)
    client.shutdown()
    for call in (
        client.create_producer(topic),
        client.subscribe(topic, "s"),
        client.get_topic_partitions(topic),
    ):
        await refused(theirs, call, "AlreadyClosed")
    await client.close()


async def test_a_token_that_cannot_be_had_is_told_with_its_reason(theirs, broker, topic):
    def token():
        raise RuntimeError("token supplier failed")

    pulsar = official if theirs is official_asyncio else compat
    shown = pulsar.AuthenticationToken(token)
    client = theirs.Client(broker.service_url, authentication=shown)
    text = await refused(theirs, client.create_producer(topic), "AuthenticationError")
    assert "RuntimeError: token supplier failed" in text
    await client.close()


class Provider:
    """Says where the cluster is; ``tell`` has the client go elsewhere."""

    def __init__(self, service_url, pulsar):
        self.closed = False
        self._first = pulsar.ServiceInfo(service_url)

    def initial_service_info(self):
        return self._first

    def initialize(self, on_service_info_update):
        self.tell = on_service_info_update

    def close(self):
        self.closed = True


def provider_of(pulsar, service_url):
    class Derived(Provider, pulsar.ServiceInfoProvider):
        pass

    return Derived(service_url, pulsar)


def first_value(pulsar, broker, topic):
    client = pulsar.Client(broker.service_url)
    value = client.create_reader(topic, pulsar.MessageId.earliest).read_next(10_000).data()
    client.close()
    return value


def test_a_provider_says_where_the_cluster_is_and_where_it_goes(pulsar, broker, topic):
    with BrokerThread() as elsewhere:
        provider = provider_of(pulsar, broker.service_url)
        client = pulsar.Client(provider)
        assert client.get_service_info().service_url == broker.service_url
        producer = client.create_producer(topic)
        producer.send(b"before")
        provider.tell(pulsar.ServiceInfo(elsewhere.service_url))
        assert client.get_service_info().service_url == elsewhere.service_url
        producer.send(b"after")
        client.close()
        assert provider.closed
        assert first_value(pulsar, broker, topic) == b"before"
        assert first_value(pulsar, elsewhere, topic) == b"after"


def test_a_provider_that_names_no_cluster_is_refused(pulsar):
    provider = provider_of(pulsar, "pulsar://127.0.0.1")
    provider.initial_service_info = lambda: "pulsar://127.0.0.1"
    with pytest.raises(ValueError, match=r"Expected a pulsar\.ServiceInfo"):
        pulsar.Client(provider)
    with pytest.raises(NotImplementedError):
        pulsar.Client(pulsar.ServiceInfoProvider())


async def test_a_provider_may_be_asked_in_asyncio(theirs, broker, topic):
    pulsar = official if theirs is official_asyncio else compat
    with BrokerThread() as elsewhere:
        provider = provider_of(pulsar, broker.service_url)
        client = theirs.Client(provider)
        producer = await client.create_producer(topic)
        await producer.send(b"before")
        await asyncio.to_thread(provider.tell, pulsar.ServiceInfo(elsewhere.service_url))
        await producer.send(b"after")
        await client.close()
        assert provider.closed
        assert await asyncio.to_thread(first_value, pulsar, elsewhere, topic) == b"after"
