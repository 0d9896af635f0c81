"""What a broker is built of differently where traces are on; nothing of them is imported before."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from magnetar.broker.handlers.consume import ConsumeHandler
from magnetar.broker.session import Session
from magnetar.broker.threads import imported
from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.counts import TraceCounts
from magnetar.version import __version__

from .build_context import BuildContext
from .services import Services

if TYPE_CHECKING:
    from magnetar.broker.tracing.request_traces import RequestTraces

_SPANS: Final = "magnetar.broker.tracing.spans"


@dataclass(frozen=True, slots=True)
class TraceParts:
    """Without traces, what there always is."""

    new_session: Callable[..., Session] = Session
    consume: type[ConsumeHandler] = ConsumeHandler
    requests: "RequestTraces | None" = None


async def trace_parts(context: BuildContext, services: Services) -> TraceParts:
    """Get ready to make spans, where the settings say so. Raises InvalidValue without the SDK."""
    settings = context.config.traces
    if settings.disabled:
        return TraceParts()
    try:
        library = await imported(_SPANS)
    except ImportError as error:
        raise InvalidValue(
            f"otelSdkDisabled=false: traces need OpenTelemetry ({error}): install magnetar[traces],"
            " or leave the setting out"
        ) from None
    from magnetar.broker.handlers.traced_consume import TracedConsumeHandler  # noqa: PLC0415
    from magnetar.broker.tracing.request_traces import RequestTraces  # noqa: PLC0415
    from magnetar.broker.tracing.traced_session import TracedSession  # noqa: PLC0415
    from magnetar.broker.tracing.traces import Traces  # noqa: PLC0415

    counts = services.health.traces = TraceCounts()
    try:
        spans = library.Spans(
            counts,
            version=__version__,
            cluster=context.config.server.cluster,
            broker=services.address.name,
        )
    except ValueError as error:  # The SDK does not say of which.
        raise InvalidValue(f"one of the variables OTEL_... has a wrong value: {error}") from None
    traces = Traces(
        spans,
        settings,
        counts,
        log_times=services.health.log_times,
        clock=context.clock,
        iteration=context.iteration,
    )
    context.stack.push_async_callback(spans.close)
    return TraceParts(partial(TracedSession, traces), TracedConsumeHandler, RequestTraces(traces))
