"""The queue before the collector; ``tests/compatibility/test_traces.py`` has a collector."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from magnetar.broker.tracing import spans
from magnetar.model.counts import TraceCounts


class Slow:
    """A collector that takes nothing before it is told to."""

    def __init__(self):
        self.taken = 0

    def on_end(self, _span):
        self.taken += 1


@pytest.mark.parametrize(("variable", "most"), [("", spans.SPANS_WAITING_MAX), ("3", 3)])
def test_what_finds_no_room_is_counted(monkeypatch, variable, most):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", variable)
    monkeypatch.setattr(spans, "BatchSpanProcessor", lambda *_, **__: batches)
    batches, counts = Slow(), TraceCounts()
    exporter = spans._Exporter(Takes(), counts)
    queue = spans._Queue(exporter, counts)
    span = TracerProvider().get_tracer("test").start_span("0")
    for _ in range(most + 2):
        queue.on_end(span)
    assert (batches.taken, counts.dropped) == (most, 2)
    exporter.export([span] * 2)
    for _ in range(3):
        queue.on_end(span)
    assert (batches.taken, counts.dropped, counts.exported) == (most + 2, 3, 2)


@pytest.mark.parametrize(("queue", "at_once"), [("100", ""), ("3", "7"), ("x", "0"), ("²", "-1")])
def test_a_queue_may_be_shorter_than_what_is_sent_at_once(monkeypatch, queue, at_once):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", queue)
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", at_once)
    counts = TraceCounts()
    spans._Queue(spans._Exporter(Takes(), counts), counts).shutdown()


@pytest.mark.parametrize(("variable", "most"), [("", spans.TEXT_LENGTH_MAX), ("5", 5)])
async def test_clients_choose_names_and_not_how_long_they_are(monkeypatch, variable, most):
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", variable)
    monkeypatch.setattr(spans, "OTLPSpanExporter", Takes)
    made = spans.Spans(TraceCounts(), version="1", cluster="c", broker="b")
    span = made.start("deliver " + "n" * 5000, None, {"magnetar.consumer.name": "n" * 5000})
    made.end(span, error="e" * 5000)
    assert span.attributes["magnetar.consumer.name"] == "n" * most
    assert len(span.attributes["error.type"]) == most
    assert len(span.name) == len(span.status.description) == spans.TEXT_LENGTH_MAX
    await made.close()


class Takes:
    def export(self, _spans):
        return SpanExportResult.SUCCESS

    def shutdown(self):
        """There is nothing to close."""
