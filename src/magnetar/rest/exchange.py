"""A request and its reply, as the routes see them: no HTTP library in sight. Pure."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final, Protocol

from magnetar.late_dataclass import dataclass

JSON: Final = "application/json"
WITHOUT_EFFECT: Final = "X-Magnetar-Without-Effect"
OCTETS: Final = "application/octet-stream"
EVENTS: Final = "text/event-stream"
BODY_BYTES_MAX: Final = 1024 * 1024
"""The largest body of a request, where no packages of functions are sent."""


@dataclass(slots=True)
class Request:
    """An HTTP request. ``path``, and ``segments``, its named parts, are still encoded.

    ``role`` is who asks; None where nobody is asked who it is. ``proxy_role`` is the proxy's that
    passes the request on, which needs the permissions, too. ``headers`` are found in any case of
    letters. After ``life_s`` nobody knows any more who it is; None: for ever. ``route`` is the path
    of its route, once that is found.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = "*/*"
    content_type: str | None = None
    body: bytes = b""
    segments: dict[str, str] = field(default_factory=dict)
    role: str | None = None
    proxy_role: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    life_s: float | None = None
    route: str = ""

    def accepts(self, content_type: str) -> bool:
        """Whether the client takes this type, by itself or by a wildcard."""
        family = content_type.partition("/")[0]
        offers = {offer.partition(";")[0].strip().lower() for offer in self.accept.split(",")}
        return not offers.isdisjoint({content_type, f"{family}/*", "*/*", ""})

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A query parameter, on when it is ``true``."""
        text = self.query.get(name)
        return default if text is None else text.strip().lower() == "true"


class Tracer(Protocol):
    """Makes a span of a request."""

    async def around(
        self, request: Request, answer: Callable[[], Awaitable["Reply"]]
    ) -> "Reply": ...


class Stream(Protocol):
    """A body that goes on until it ends, or its reader is gone. Whoever has it must close it."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


@dataclass(slots=True)
class Reply:
    """An HTTP response. Without a body it has no content type. A ``stream`` goes on."""

    status: int
    body: bytes = b""
    content_type: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    stream: Stream | None = None


def shown(value: Any) -> Reply:
    """A value, as JSON."""
    return Reply(200, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), JSON)


def text(value: str) -> Reply:
    """Plain text, which Pulsar labels as JSON."""
    return Reply(200, value.encode(), JSON)


def done(without_effect: Iterable[str] = (), *, status: int = 204) -> Reply:
    """The answer to a change that has no body.

    A header names what is kept of it, and shown, and otherwise ``without_effect`` here.
    """
    names = ", ".join(without_effect)
    return Reply(status, headers={WITHOUT_EFFECT: names} if names else {})
