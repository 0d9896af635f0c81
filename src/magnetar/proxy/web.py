"""HTTP of a proxy: its own metrics and status, and what is passed on to brokers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from magnetar.auth.access import Access
from magnetar.auth.http import METHOD_HEADER, ORIGINAL_PRINCIPAL_HEADER
from magnetar.broker.peers import passed_on
from magnetar.client.connections.http_request import HttpRequests
from magnetar.errors import ConnectionLost, NotAllowed, NotReady
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request
from magnetar.rest.router import ANY, ANY_METHOD, Route, Routes

from .brokers import Brokers
from .counts import ProxyCounts

PASSED_ON: Final = ("/admin", "/lookup", "/ready")
_OF_WORKERS: Final = ("functions", "sources", "sinks", "worker", "worker-stats")


@dataclass(frozen=True, slots=True)
class WebServices:
    """What the routes answer with."""

    brokers: Brokers
    workers: tuple[str, ...]  # URLs of functions workers; none: brokers are asked.
    requests: HttpRequests
    counts: ProxyCounts
    status_file: Path | None
    own_credentials: bool  # The proxy shows brokers who it is; else what the client shows.


def routes(*, stats: bool) -> Routes:
    """``stats``: with what tells of the proxy itself."""
    found = [
        Route(ANY_METHOD, path, _pass_on, access=Access.AUTHENTICATED, gives=ANY)
        for path in PASSED_ON
    ]
    found.append(Route("GET", "/status.html", _status, access=Access.PUBLIC, gives=ANY))
    if stats:
        found.append(Route("GET", "/metrics", _metrics, access=Access.PUBLIC, gives=ANY))
    return Routes(found)


async def _metrics(services: WebServices, _: Request) -> Reply:
    return Reply(200, services.counts.text().encode(), "text/plain; version=0.0.4; charset=utf-8")


async def _status(services: WebServices, _: Request) -> Reply:
    """For load balancers: whether this proxy is to be used, as an operator says with a file."""
    if services.status_file is None or not services.status_file.exists():
        raise Rejection(404, "statusFilePath is not there: this proxy is not to be used")
    return Reply(200, b"OK", "text/plain")


async def _pass_on(services: WebServices, request: Request) -> Reply:
    """What a broker answers; it sends what another one serves on to that, which is followed."""
    ask = partial(
        passed_on, services.requests, request=request, headers=_headers(services, request)
    )
    lost: Exception = NotReady("no broker answers")
    for base in _bases(services, request.path):
        try:
            return await ask(base)
        except ConnectionLost as error:
            lost = error
            if request.method not in ("GET", "HEAD") and "refused" not in str(error):
                break  # It may have been done, although nobody says so.
        except NotAllowed as error:
            raise NotReady(str(error)) from error
    raise NotReady(f"no broker answers: {lost}") from lost


def _bases(services: WebServices, path: str) -> list[str]:
    parts = path.split("/")
    if services.workers and len(parts) > 3 and parts[3] in _OF_WORKERS:
        return list(services.workers)
    return services.brokers.to_ask_web()


def _headers(services: WebServices, request: Request) -> Mapping[str, str]:
    """What the broker is told of who asks."""
    if request.role is not None:
        return {ORIGINAL_PRINCIPAL_HEADER: request.role}
    if services.own_credentials:
        return {}
    names = ("Authorization", METHOD_HEADER)
    return {name: request.headers[name] for name in names if name in request.headers}
