"""The attributes of spans; ``tests/client/test_tracing.py`` follows messages through a broker."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.tracing import ProducerTracing
from magnetar.errors import MessageTooLarge, QueueFull


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


async def test_a_send_that_fails_says_so_in_its_span(client, exporter, provider):
    tracing = ProducerTracing(provider)
    producer = await client.create_producer(
        "t", interceptors=[tracing], max_pending_messages=1, batch_delay_s=60
    )
    with pytest.raises(MessageTooLarge):
        await producer.send(bytes(6 << 20))
    producer.send_nowait(b"0")
    with pytest.raises(QueueFull):
        producer.send_nowait(b"1")
    failed = exporter.get_finished_spans()
    assert [span.status.status_code for span in failed] == [StatusCode.ERROR] * 2
    assert [span.events[0].attributes["exception.type"] for span in failed] == [
        "magnetar.errors.MessageTooLarge",
        "magnetar.errors.QueueFull",
    ]


async def test_everything_else_of_a_message_stays(client, provider):
    producer = await client.create_producer("t", interceptors=[ProducerTracing(provider)])
    message = OutgoingMessage(b"0", key="k", properties={"a": "b"}, event_time_ms=5)
    await producer.send(message)
    assert message.properties == {"a": "b"}
    reader = await client.create_reader("t")
    received = await reader.receive(5)
    assert (received.key, received.event_time_ms) == ("k", 5)
    assert sorted(received.properties) == ["a", "traceparent"]


def test_the_client_does_not_bring_it_along():
    program = "import sys, magnetar; magnetar.Client; magnetar.ProducerInterceptor; "
    program += "print([name for name in ('opentelemetry', 'cryptography') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_what_a_thread_sends_belongs_to_the_span_it_is_in(
    blocking_client, topic, exporter, provider
):
    tracer = provider.get_tracer("the application")
    producer = blocking_client.create_producer(topic, interceptors=[ProducerTracing(provider)])
    with tracer.start_as_current_span("request") as request:
        producer.send(b"0")
        producer.send_many([b"1", b"2"])
        producer.send_nowait(b"3")
        producer.submit(b"4")
        producer.flush()
    sent = [span for span in exporter.get_finished_spans() if span.name.startswith("send")]
    assert len(sent) == 5
    assert {span.parent.span_id for span in sent} == {request.get_span_context().span_id}
