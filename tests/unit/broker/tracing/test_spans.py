"""The queue before the collector; ``tests/compatibility/test_traces.py`` has a collector."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

from magnetar.broker.tracing import spans
from magnetar.model.trace_counts import TraceCounts


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


class Takes:
    def export(self, _spans):
        return SpanExportResult.SUCCESS
