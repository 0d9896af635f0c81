"""OpenTelemetry for messages: a pair of interceptors. Needs the package ``opentelemetry-api``.

The producer's makes a span for each message, from the call that sends it to its receipt, and writes
it into the message's properties as the propagator does that (``traceparent``). The consumer's makes
a span for each message that is received, as a child of that one, and ``processing`` one for what
the application does with it. Importing this module imports OpenTelemetry.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.propagate import get_global_textmap
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider

from magnetar.model.position import MessageId

from .consumers.interceptors import ConsumerInterceptor
from .message import Message
from .outgoing_message import OutgoingMessage
from .producers.interceptors import ProducerInterceptor

if TYPE_CHECKING:
    from .consumers.receiver import Receiver
    from .producers.producer import Producer

_TRACER: Final = "magnetar"


@dataclass(slots=True)
class _TracedMessage(OutgoingMessage[Any]):
    """A message and its span; a copy made by ``dataclasses.replace`` has the span, too."""

    span: Span = trace.INVALID_SPAN


class ProducerTracing(ProducerInterceptor):
    """Makes a span for each message that is sent. One object serves any number of producers.

    Let it be the last one, or let those behind it copy messages by ``dataclasses.replace``. A send
    that is cancelled while it waits for room has no span.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        propagator: TextMapPropagator | None = None,
    ) -> None:
        """Without arguments it takes the provider and the propagator of the process."""
        self._tracer = _tracer(tracer_provider)
        self._propagator = propagator or get_global_textmap()

    def before_send(
        self, producer: "Producer[Any]", message: OutgoingMessage[Any]
    ) -> OutgoingMessage[Any]:
        span = self._tracer.start_span(
            f"send {producer.topic}",
            kind=SpanKind.PRODUCER,
            attributes=_attributes(producer.topic, "send"),
        )
        traced = {each.name: getattr(message, each.name) for each in fields(OutgoingMessage)}
        carrier = dict(message.properties or {})
        self._propagator.inject(carrier, trace.set_span_in_context(span))
        return _TracedMessage(**{**traced, "properties": carrier}, span=span)

    def on_send_acknowledged(
        self,
        producer: "Producer[Any]",
        message: OutgoingMessage[Any],
        message_id: MessageId | None,
        error: Exception | None,
    ) -> None:
        if not isinstance(message, _TracedMessage):
            return
        if message_id is not None:
            message.span.set_attribute("messaging.message.id", str(message_id))
        if error is not None:
            message.span.record_exception(error)
            message.span.set_status(Status(StatusCode.ERROR, str(error)))
        message.span.end()


class ConsumerTracing(ConsumerInterceptor):
    """Makes a span for each message that is received. One object serves any number of consumers."""

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        propagator: TextMapPropagator | None = None,
    ) -> None:
        """Without arguments it takes the provider and the propagator of the process."""
        self._tracer = _tracer(tracer_provider)
        self._propagator = propagator or get_global_textmap()

    def before_consume(self, consumer: "Receiver[Any]", message: Message[Any]) -> Message[Any]:
        self._start("receive", message).end()
        return message

    def context_of(self, message: Message[Any]) -> Context:
        """The context that the message brought along, as the parent of spans."""
        return self._propagator.extract(message.properties)

    @contextmanager
    def processing(self, message: Message[Any]) -> Iterator[Span]:
        """A span around what the application does with a message; it is the current one there.

        What is raised is recorded in it.
        """
        with trace.use_span(self._start("process", message), end_on_exit=True) as span:
            yield span

    def _start(self, operation: str, message: Message[Any]) -> Span:
        attributes = _attributes(message.topic, operation)
        attributes["messaging.message.id"] = str(message.message_id)
        attributes["messaging.message.body.size"] = len(message.data)
        return self._tracer.start_span(
            f"{operation} {message.topic}",
            self.context_of(message),
            kind=SpanKind.CONSUMER,
            attributes=attributes,
        )


def _tracer(provider: TracerProvider | None) -> Tracer:
    return trace.get_tracer(_TRACER, tracer_provider=provider)


def _attributes(topic: str, operation: str) -> dict[str, str | int]:
    return {
        "messaging.system": "pulsar",
        "messaging.destination.name": topic,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
    }
