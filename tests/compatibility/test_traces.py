"""Spans of the broker, as a collector gets them, between those of both clients."""

import asyncio
import json
import secrets
from itertools import pairwise
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pulsar
import pytest
from compatibility.conftest import open_client
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from support.collector import Collector

from magnetar import Client
from magnetar.client.tracing import ConsumerTracing, ProducerTracing
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port

SERVER, INTERNAL, PRODUCER, CONSUMER = 2, 1, 4, 5
PARTS = {"wait", "write", "sync", "answer"}


@pytest.fixture(scope="module")
def collector():
    with Collector() as collector, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        environment.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
        environment.setenv("OTEL_SERVICE_NAME", "broker-of-the-test")
        yield collector


@pytest.fixture(scope="module")
def broker(collector, tmp_path_factory):  # noqa: ARG001 - the collector comes first
    """It traces what its clients do, and nothing else."""
    settings = {"otelSdkDisabled": "false", "otelTracesSampler": "parentbased_always_off"}
    with BrokerThread(tmp_path_factory.mktemp("data"), settings=settings) as broker:
        yield broker


def traceparent(*, sampled=True):
    trace_id = secrets.token_hex(16)
    return trace_id, f"00-{trace_id}-{secrets.token_hex(8)}-{'01' if sampled else '00'}"


def test_our_client_and_the_broker_make_one_trace(broker, collector, topic):
    provider = TracerProvider(resource=Resource({"service.name": "application"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))

    async def main():
        async with Client(broker.service_url) as client:
            tracing = ConsumerTracing(provider)
            consumer = await client.subscribe(topic, "s", interceptors=[tracing])
            producer = await client.create_producer(topic, interceptors=[ProducerTracing(provider)])
            stored = await producer.send(b"0")
            message = await consumer.receive(20)
            with tracing.processing(message) as span:
                await consumer.acknowledge(message)
            return stored, format(span.get_span_context().trace_id, "032x")

    stored, trace_id = asyncio.run(main())
    spans = collector.trace(trace_id, "send", "publish", *PARTS, "deliver", "receive", "process")
    publish, deliver = spans["publish"], spans["deliver"]
    assert publish.parent_id == spans["send"].span_id
    assert deliver.parent_id == publish.span_id
    assert spans["receive"].parent_id == spans["send"].span_id
    assert (publish.kind, deliver.kind) == (SERVER, INTERNAL)
    assert (spans["send"].kind, spans["receive"].kind) == (PRODUCER, CONSUMER)
    for part in PARTS:
        assert spans[part].parent_id == publish.span_id
    # They lie behind one another, and fill the span of the whole.
    times = [
        (spans[part].start_ns, spans[part].end_ns) for part in ("wait", "write", "sync", "answer")
    ]
    assert times[0][0] == publish.start_ns
    assert all(one[1] <= next_[0] + 1 for one, next_ in pairwise(times))
    assert all(start <= end for start, end in times)
    assert times[-1][1] == publish.end_ns
    assert publish.resource["service.name"] == "broker-of-the-test"
    attributes = publish.attributes
    assert attributes["messaging.system"] == "pulsar"
    assert attributes["messaging.destination.name"] == topic
    assert str(stored).startswith(attributes["messaging.message.id"] + ":")
    assert attributes["magnetar.outcome"] == "stored"
    assert spans["sync"].attributes["magnetar.group.size_bytes"] > 0
    assert deliver.attributes["messaging.destination.subscription.name"] == "s"
    assert deliver.attributes["magnetar.outcome"] == "acknowledged"


@pytest.mark.parametrize("batching", [True, False])
def test_what_the_official_client_sends_in_a_trace_is_in_it(broker, collector, topic, batching):
    """As instrumentations do it: a property of the message."""
    sampled, header = traceparent()
    not_sampled, other = traceparent(sampled=False)
    client = open_client(broker.service_url)
    try:
        consumer = client.subscribe(topic, "s")
        producer = client.create_producer(
            topic, batching_enabled=batching, batching_max_publish_delay_ms=50
        )
        sent = [{"traceparent": other}, {}, {"traceparent": header, "a": "b"}]
        for properties in sent:
            producer.send_async(b"0" * 1000, None, properties=properties)
        producer.flush()
        for _ in sent:
            consumer.acknowledge(consumer.receive(20_000))
    finally:
        client.close()
    spans = collector.trace(sampled, "publish", *PARTS, "deliver")
    assert spans["publish"].parent_id == header.split("-")[2]
    assert spans["publish"].attributes["messaging.batch.message_count"] == (3 if batching else 1)
    assert not [each for each in collector.spans if each.trace_id == not_sampled]


def test_a_delivery_ends_when_it_is_given_back_and_begins_again(broker, collector, topic):
    trace_id, header = traceparent()
    client = open_client(broker.service_url)
    try:
        consumer = client.subscribe(topic, "s", negative_ack_redelivery_delay_ms=50)
        client.create_producer(topic).send(b"0", properties={"traceparent": header})
        consumer.negative_acknowledge(consumer.receive(20_000))
        consumer.receive(20_000)
        consumer.close()
    finally:
        client.close()

    def outcomes(spans):
        mine = [each for each in spans if each.trace_id == trace_id and each.name == "deliver s"]
        found = [each.attributes["magnetar.outcome"] for each in mine]
        return found if len(found) == 2 else None

    assert collector.wait(outcomes) == ["given back", "given back"]


def test_so_many_acknowledgements_are_awaited(broker, collector, topic, monkeypatch):
    monkeypatch.setattr("magnetar.broker.tracing.traced_session.DELIVERIES_OPEN_MAX", 2)
    trace_id, header = traceparent()
    client = open_client(broker.service_url)
    try:
        consumer = client.subscribe(topic, "s")
        producer = client.create_producer(topic, batching_enabled=False)
        for _ in range(3):
            producer.send(b"0", properties={"traceparent": header})
            last = consumer.receive(20_000)
        consumer.acknowledge_cumulative(last)

        def outcomes(spans):
            mine = [
                each for each in spans if each.trace_id == trace_id and each.name == "deliver s"
            ]
            found = [each.attributes["magnetar.outcome"] for each in mine]
            return found if len(found) == 3 else None

        assert collector.wait(outcomes) == ["not awaited", "acknowledged", "acknowledged"]
    finally:
        client.close()


def test_a_refused_publish_says_why(broker, collector, topic):
    trace_id, header = traceparent()
    path = topic.replace("://", "/")
    client = open_client(broker.service_url)
    try:
        producer = client.create_producer(topic, batching_enabled=False)
        ask(broker, f"{path}/maxMessageSize", "POST", b"10")
        with pytest.raises(pulsar.PulsarException):
            producer.send(b"0" * 100, properties={"traceparent": header})
    finally:
        client.close()
    span = collector.trace(trace_id, "publish")["publish"]
    assert (span.failed, span.attributes["error.type"]) == (True, "NotAllowed")


def ask(broker, path, method="GET", body=None, headers=None):
    request = Request(f"{broker.web_url}/admin/v2/{path}", body, method=method)
    request.add_header("Content-Type", "application/json")
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    with urlopen(request) as answer:
        return answer.read()


def test_a_request_of_an_administrator_is_a_span_of_its_trace(broker, collector):
    trace_id, header = traceparent()
    other, unsampled = traceparent(sampled=False)
    ask(broker, "namespaces/public", headers={"traceparent": unsampled})
    with pytest.raises(HTTPError, match="404"):
        ask(
            broker, "persistent/public/default/none/stats?secret=1", headers={"traceparent": header}
        )
    span = collector.trace(trace_id, "GET")["GET"]
    assert span.name == "GET /admin/v2/persistent/{tenant}/{namespace}/{topic}/stats"
    assert span.parent_id == header.split("-")[2]
    assert span.attributes["http.response.status_code"] == 404
    assert "secret" not in json.dumps(span)
    assert not [each for each in collector.spans if each.trace_id == other]


def test_a_broker_traces_a_share_of_its_own(collector, topic):
    """Of clients that know nothing of traces; to a non-persistent topic, too."""
    settings = {"otelSdkDisabled": "false", "otelTracesSamplerArg": "1"}
    with BrokerThread(settings=settings) as broker:
        client = open_client(broker.service_url)
        try:
            for name in (topic, topic.replace("persistent", "non-persistent")):
                consumer = client.subscribe(name, "s")
                client.create_producer(name).send(b"0")
                consumer.acknowledge(consumer.receive(20_000))
        finally:
            client.close()
        ask(broker, "clusters")
    # A broker that stops sends what it has.
    spans = {each.name: each for each in collector.spans}
    kept = spans[f"publish {topic}"]
    assert kept.parent_id == ""
    assert spans["store"].parent_id == kept.span_id
    assert spans["deliver s"].parent_id == kept.span_id
    passed_on = spans[f"publish {topic.replace('persistent', 'non-persistent')}"]
    assert passed_on.attributes["magnetar.outcome"] == "passed on"
    assert spans["GET /admin/v2/clusters"].attributes["http.response.status_code"] == 200


def test_a_collector_that_refuses_is_logged_once_and_harms_nothing(topic, monkeypatch, caplog):
    settings = {"otelSdkDisabled": "false", "otelTracesSampler": "always_on"}
    with Collector() as refusing:
        refusing.refuses = True
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", refusing.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
        with BrokerThread(settings=settings) as broker:
            client = open_client(broker.service_url)
            try:
                producer = client.create_producer(topic)
                for requests in (1, 2, 3):
                    producer.send(b"0")
                    refusing.until_asked(requests)
            finally:
                client.close()
            with urlopen(f"{broker.web_url}/metrics/") as answer:
                metrics = answer.read().decode()
    assert metric(metrics, "magnetar_trace_spans_total", outcome="failed") > 0
    assert metric(metrics, "magnetar_trace_spans_total", outcome="exported") == 0
    logged = [each for each in caplog.records if "traces." in each.message]
    assert [each.message.split()[0] for each in logged] == ["traces.not_taken"]


def metric(text, name, **labels):
    """The value of the one line with these labels."""
    shown = [f'{key}="{value}"' for key, value in labels.items()]
    lines = [each for each in text.splitlines() if each.startswith(name)]
    (found,) = [each for each in lines if all(label in each for label in shown)]
    return float(found.split()[-1])


def test_a_collector_that_is_gone_holds_up_the_end_only_for_a_moment(topic, monkeypatch, caplog):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setattr("magnetar.broker.tracing.spans.FLUSH_S_MAX", 0.2)
    settings = {"otelSdkDisabled": "false", "otelTracesSampler": "always_on"}
    with BrokerThread(settings=settings) as broker:
        client = open_client(broker.service_url)
        client.create_producer(topic).send(b"0")
        client.close()
    assert "traces.unsent" in caplog.text
