"""Traces that go through the broker in the properties of messages."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from magnetar.client.tracing import ConsumerTracing, ProducerTracing


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


async def test_a_message_carries_its_trace_to_who_processes_it(client, topic, exporter, provider):
    tracing = ConsumerTracing(provider)
    consumer = await client.subscribe(topic, "s", interceptors=[tracing])
    producer = await client.create_producer(topic, interceptors=[ProducerTracing(provider)])
    tracer = trace.get_tracer("the application", tracer_provider=provider)
    with tracer.start_as_current_span("request"):
        stored = await producer.send(b"0", properties={"a": "b"})
    message = await consumer.receive(20)
    with tracing.processing(message), tracer.start_as_current_span("inner"):
        pass
    spans = {span.name.partition(" ")[0]: span for span in exporter.get_finished_spans()}
    assert set(spans) == {"request", "send", "receive", "process", "inner"}
    assert len({span.context.trace_id for span in spans.values()}) == 1
    parents = {"send": "request", "receive": "send", "process": "send", "inner": "process"}
    for child, parent in parents.items():
        assert spans[child].parent.span_id == spans[parent].context.span_id
    assert spans["send"].kind is SpanKind.PRODUCER
    assert spans["receive"].kind is spans["process"].kind is SpanKind.CONSUMER
    for name in ("send", "receive", "process"):
        assert spans[name].attributes["messaging.system"] == "pulsar"
        assert spans[name].attributes["messaging.destination.name"] == topic
        assert spans[name].attributes["messaging.message.id"] == str(stored)
    assert message.properties["a"] == "b"


async def test_a_list_has_a_span_for_each_message(client, topic, exporter, provider):
    producer = await client.create_producer(topic, interceptors=[ProducerTracing(provider)])
    ids = await producer.send_many([b"0", b"1", b"2"])
    spans = exporter.get_finished_spans()
    assert [span.attributes["messaging.message.id"] for span in spans] == list(map(str, ids))
    assert len({span.context.trace_id for span in spans}) == 3
