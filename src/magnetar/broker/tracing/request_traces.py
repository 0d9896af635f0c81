"""Spans of requests to the admin API."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from .traceparent import parent_in
from .traces import Traces


class TracedRequest(Protocol):
    """A request, as far as its span tells of it: neither its query nor its body."""

    @property
    def method(self) -> str: ...
    @property
    def route(self) -> str:
        """The path with names in place of what was asked for; "" until it was found."""

    @property
    def role(self) -> str | None: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


class TracedReply(Protocol):
    @property
    def status(self) -> int: ...


R = TypeVar("R", bound=TracedReply)


class RequestTraces:
    """Makes a span of each request that is chosen, until its answer is there, or begins."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces

    async def around(self, request: TracedRequest, reply: Callable[[], Awaitable[R]]) -> R:
        """Answer a request, in a span where it is chosen."""
        traces = self._traces
        parent = parent_in(request.headers.get("traceparent", ""))
        if not (traces.sampling.wants(parent) and traces.sampling.admits(traces.clock.now())):
            return await reply()
        attributes = {"http.request.method": request.method, "url.scheme": "http"}
        span = traces.spans.start(request.method, parent, attributes, server=True)
        error: str | None = "abandoned"  # Until it is answered.
        try:
            answer = await reply()
            error = str(answer.status) if answer.status >= 500 else None
            span.set_attribute("http.response.status_code", answer.status)
            return answer
        finally:
            if request.route:
                span.update_name(f"{request.method} {request.route}")
                span.set_attribute("http.route", request.route)
            if request.role:
                span.set_attribute("user.id", request.role)
            traces.spans.end(span, error=error)
