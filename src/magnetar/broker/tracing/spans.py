"""Makes spans with OpenTelemetry, and sends them to a collector: the only file that knows it.

Spans wait in a queue of the SDK, whose thread sends them. Where to, and how, is in its variables
(``OTEL_EXPORTER_OTLP_ENDPOINT`` and so on). Importing this module imports OpenTelemetry.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)

from magnetar.model.counts import TraceCounts

from .traceparent import Parent

log = logging.getLogger(__name__)

SPANS_WAITING_MAX: Final = 2048
"""Spans that wait for the collector, where ``OTEL_BSP_MAX_QUEUE_SIZE`` says nothing else."""
SPANS_SENT_MAX: Final = 512
"""Spans that are sent at once, where ``OTEL_BSP_MAX_EXPORT_BATCH_SIZE`` says nothing else."""
TEXT_LENGTH_MAX: Final = 4096
"""Characters of a span's name and of each text in it: clients choose the names of consumers. For
the latter, ``OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT`` may say something else.
"""
FLUSH_S_MAX: Final = 3.0
"""So long a broker that stops waits for the collector to take what is left."""
_LIBRARY_LOG: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"

Attributes: TypeAlias = Mapping[str, str | int | float | bool]


class Spans:
    """Makes spans, which are sent when they end."""

    def __init__(self, counts: TraceCounts, *, version: str, cluster: str, broker: str) -> None:
        self._exporter = _Exporter(OTLPSpanExporter(), counts)
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource(
                {
                    "service.version": version,
                    "service.instance.id": broker,
                    "pulsar.cluster": cluster,
                }
            ).merge(_named(Resource.create())),
            span_limits=SpanLimits(
                max_span_attribute_length=_number(
                    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
                    _number("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", TEXT_LENGTH_MAX),
                )
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(_Queue(self._exporter, counts))
        self._tracer = self._provider.get_tracer("magnetar.broker", version)

    def start(
        self,
        name: str,
        parent: "Parent | Span | None",
        attributes: Attributes,
        *,
        server: bool = False,
    ) -> Span:
        """Start a span. ``server``: it answers a span of another process."""
        return self._started(name, parent, attributes, server=server)

    def part(
        self, name: str, whole: Span, start_s: float, end_s: float, attributes: Attributes
    ) -> None:
        """A span within another, from and until so many seconds after that started."""
        began = _start_of(whole)
        span = self._started(name, whole, attributes, start_ns=began + int(start_s * 1e9))
        span.end(began + int(end_s * 1e9))

    def end(
        self,
        span: Span,
        attributes: Attributes | None = None,
        *,
        error: BaseException | str | None = None,
        end_s: float | None = None,
    ) -> None:
        """Let a span end now, or so many seconds after it started, as its parts do.

        ``error`` is why what it is about failed.
        """
        if attributes:
            span.set_attributes(attributes)
        if error is not None:
            kind = error if isinstance(error, str) else type(error).__name__
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR, str(error)[:TEXT_LENGTH_MAX]))
        span.end(None if end_s is None else _start_of(span) + int(end_s * 1e9))

    async def close(self) -> None:
        """Send what waits, and return when that is done, or after ``FLUSH_S_MAX``."""
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # The loop did not wait for it.
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=send, name="magnetar-traces", daemon=True).start()
        try:
            await asyncio.wait_for(sent.wait(), FLUSH_S_MAX)
        except TimeoutError:
            self._exporter.shutdown()
            log.warning("traces.unsent remedy=is the collector at OTEL_EXPORTER_OTLP_ENDPOINT up?")

    def _started(
        self,
        name: str,
        parent: "Parent | Span | None",
        attributes: Attributes,
        *,
        server: bool = False,
        start_ns: int | None = None,
    ) -> Span:
        span = self._tracer.start_span(
            name[:TEXT_LENGTH_MAX],
            None if parent is None else trace.set_span_in_context(_as_span(parent)),
            kind=SpanKind.SERVER if server else SpanKind.INTERNAL,
            attributes=attributes,
            start_time=start_ns,
        )
        assert isinstance(span, Span), "the sampler takes them all"
        return span


class _Queue(SpanProcessor):
    """The SDK's queue and thread; what does not fit into it is counted, not logged."""

    def __init__(self, exporter: "_Exporter", counts: TraceCounts) -> None:
        self._most = _number("OTEL_BSP_MAX_QUEUE_SIZE", SPANS_WAITING_MAX)
        at_once = _number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", SPANS_SENT_MAX)
        self._exporter = exporter
        self._counts = counts
        self._ended = 0
        self._batches = BatchSpanProcessor(
            exporter, max_queue_size=self._most, max_export_batch_size=min(at_once, self._most)
        )

    def on_end(self, span: ReadableSpan) -> None:
        if self._ended - self._exporter.taken >= self._most:
            self._counts.dropped += 1
            return
        self._ended += 1
        self._batches.on_end(span)

    def shutdown(self) -> None:
        self._batches.shutdown()  # type: ignore[no-untyped-call]

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._batches.force_flush(timeout_millis)


class _Exporter(SpanExporter):
    """Counts what the collector takes, and logs once that it does not; the SDK's thread calls."""

    def __init__(self, exporter: OTLPSpanExporter, counts: TraceCounts) -> None:
        self.taken = 0
        """Spans that were taken from the queue."""
        self._exporter = exporter
        self._counts = counts
        self._failing = False
        logging.getLogger(_LIBRARY_LOG).setLevel(logging.CRITICAL + 1)  # It logs each attempt.

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.taken += len(spans)
        result = self._exporter.export(spans)
        failing = result is not SpanExportResult.SUCCESS
        if failing:
            self._counts.failed += len(spans)
        else:
            self._counts.exported += len(spans)
        if failing != self._failing:
            self._failing = failing
            if failing:
                log.warning(
                    "traces.not_taken remedy=is the collector at OTEL_EXPORTER_OTLP_ENDPOINT up? "
                    "magnetar_trace_spans_total counts what is lost"
                )
            else:
                log.info("traces.taken_again")
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


def _number(variable: str, default: int) -> int:
    """What one of OpenTelemetry's variables says, where that is a number above 0."""
    value = os.environ.get(variable, "")
    return (int(value) if value.isdecimal() else 0) or default


def _named(resource: Resource) -> Resource:
    """With a name, where ``OTEL_SERVICE_NAME`` and ``OTEL_RESOURCE_ATTRIBUTES`` give none."""
    if str(resource.attributes.get("service.name", "unknown_service")).startswith("unknown"):
        return resource.merge(Resource({"service.name": "magnetar-broker"}))
    return resource


def _as_span(parent: "Parent | Span") -> trace.Span:
    if isinstance(parent, Span):
        return parent
    flags = TraceFlags(TraceFlags.SAMPLED if parent.sampled else TraceFlags.DEFAULT)
    context = SpanContext(parent.trace_id, parent.span_id, is_remote=True, trace_flags=flags)
    return NonRecordingSpan(context)


def _start_of(span: Span) -> int:
    assert span.start_time is not None, "it was started"
    return span.start_time
