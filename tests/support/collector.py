"""An OpenTelemetry collector that keeps what it is sent: OTLP over HTTP, as protocol buffers."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 20


class Span(NamedTuple):
    """A span as a collector sees it."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    start_ns: int
    end_ns: int
    failed: bool
    attributes: dict
    resource: dict


class Collector:
    """Listens from ``with`` on."""

    def __init__(self):
        self.spans = []
        self.refuses = False
        self.requests = 0
        self._more = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(400 if collector.refuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                collector._take(self.path, body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _take(self, path, body):
        assert path == "/v1/traces"
        with self._more:
            self.requests += 1
            if not self.refuses:
                self.spans += _spans(ExportTraceServiceRequest.FromString(body))
            self._more.notify_all()

    def wait(self, condition):
        """Return what ``condition`` finds in all spans, once that is true."""
        with self._more:
            self._more.wait_for(lambda: condition(self.spans), PATIENCE_S)
            found = condition(self.spans)
            assert found, [each.name for each in self.spans]
            return found

    def trace(self, trace_id, *names):
        """The spans of a trace by the first words of their names, when these are among them."""

        def complete(spans):
            mine = {each.name.split(" ")[0]: each for each in spans if each.trace_id == trace_id}
            return mine if mine.keys() >= set(names) else None

        return self.wait(complete)

    def until_asked(self, requests):
        """Return when it was sent something so often, taken or not."""
        with self._more:
            assert self._more.wait_for(lambda: self.requests >= requests, PATIENCE_S)


def _spans(request):
    for resource in request.resource_spans:
        its = _attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.kind,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    span.status.code == 2,
                    _attributes(span.attributes),
                    its,
                )


def _attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
