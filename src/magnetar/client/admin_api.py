"""Asks Pulsar's admin REST API: a request and its answer, with the client's credentials and TLS.

``AdminApi`` blocks, on the standard library alone, so that a command asks its question and ends;
``AsyncAdminApi`` is its twin for an event loop. Every address of a URL with several is tried in
turn; an owner that the broker names is asked as we were told.
"""

import asyncio
import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse, RemoteDisconnected
from typing import IO, Any, Final, Unpack
from urllib.parse import quote, urlencode, urljoin, urlsplit

from magnetar.client.admin_refusals import Allowed, allowed, of_role
from magnetar.client.config import ClientConfig, ClientOptions
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.http_request import (
    REDIRECTS,
    HttpRequests,
    credential_headers,
)
from magnetar.client.connections.tls import Tls, trouble
from magnetar.client.service_url import ServiceUrl, without_secrets
from magnetar.errors import (
    Conflict,
    InvalidValue,
    MagnetarError,
    NotAllowed,
    NotAuthenticated,
    NotAuthorized,
    NotFound,
    NotReady,
    Refused,
    Unreachable,
)
from magnetar.model.names import TopicName

TIMEOUT_S: Final = 60.0
ANSWER_SIZE_MAX: Final = 1 << 30  # A package that is downloaded may be large.
REDIRECTS_MAX: Final = 5
_REASON_CHARACTERS: Final = 600
_JSON: Final = {"Content-Type": "application/json"}
_UNEXPECTED: Final = re.compile(r"\s*--- An unexpected.*?Message: (.*?)Stacktrace:", re.DOTALL)
_WITHOUT_EFFECT: Final = "X-Magnetar-Without-Effect"
_TLS: Final = "pulsar+ssl://localhost"  # Not connected to: just the settings are of use here.

_ERRORS: Final[Mapping[int, type[MagnetarError]]] = {
    401: NotAuthenticated,
    403: NotAuthorized,
    404: NotFound,
    409: Conflict,
    502: NotReady,
    503: NotReady,
    504: NotReady,
}

Query = Mapping[str, object]
"""Parameters of a request; None is left out, and True and False are written as Java does."""


@dataclass(frozen=True, slots=True)
class AdminAnswer:
    """What the API answered to a request that it granted."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def value(self) -> Any:
        """The JSON of the body; its text where it is none, None where there is no body."""
        if not self.body.strip():
            return None
        try:
            return json.loads(self.body)
        except ValueError:
            return self.body.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Remedies:
    """What whoever asks may do, in its own terms: which option says it."""

    away: str = "is a broker running there"
    unknown: str = "say who you are with authPlugin and authParams"
    forbidden: str = "ask for the permission, or ask as another role"
    """For what can be granted."""
    admin: str = "ask as an admin of the tenant or a superuser"
    superuser: str = "ask as a superuser"
    untrusted: str = ""
    port: str = "is it the port of an admin API (8080)"

    def of(self, who: Allowed) -> str:
        """What a role may do that was refused what others may."""
        remedies = {Allowed.SUPERUSER: self.superuser, Allowed.ADMIN: self.admin}
        return remedies.get(who, self.forbidden)


class _Admin:
    """Where an admin API is, how it is asked, and which error a refusal becomes."""

    def __init__(
        self,
        url: str,
        timeout_s: float,
        remedies: Remedies | None,
        options: ClientOptions,
    ) -> None:
        parsed = ServiceUrl.parse(url) if url.startswith(("http://", "https://")) else None
        if parsed is None:
            raise InvalidValue(
                f"{without_secrets(url)!r} is no URL of an admin API: http://host:8080 or https://"
            )
        self.url = url.rstrip("/")
        self._bases = [f"{parsed.scheme}://{address}" for address in parsed.addresses]
        self._timeout_s = timeout_s
        self._remedies = remedies or Remedies()
        config = ClientConfig(service_url=_TLS, **options)
        self._credentials = Credentials(config.authentication)
        self._tls = Tls(config)

    def _refusal(self, status: int, body: bytes, method: str, url: str) -> MagnetarError:
        reason = _reason(body)
        where = url.partition("?")[0]
        said = f"{reason} ({status} {_phrase(status)}: {method} {where})"
        kind = _ERRORS.get(status, Refused if status < 500 else MagnetarError)
        if status == HTTPStatus.UNAUTHORIZED and of_role(reason):
            kind = NotAuthorized
        if kind is NotAuthenticated and self._credentials.method == "none":
            said += f"; {self._remedies.unknown}"
        elif kind is NotAuthorized:
            said += f"; {self._remedies.of(allowed(reason))}"
        return kind(said)


class AdminApi(_Admin):
    """Asks a broker's admin API: tenants, namespaces, topics, subscriptions, policies, stats.

    It holds no connection: there is nothing to close, and any thread may use it. Calls block; in a
    coroutine, ``AsyncAdminApi``. Every method raises Unreachable where
    nobody answers, NotReady for who is starting or stopping, and else what the status says:
    NotAuthenticated, NotAuthorized, NotFound, Conflict, Refused.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        remedies: Remedies | None = None,
        without_effect: Callable[[str], None] | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """``url`` is ``http[s]://host[:8080][,host...]``; ``timeout_s`` is that of each request.

        ``options`` are those of ``Client``, of which authentication and TLS are used; ``remedies``
        is what errors advise. ``without_effect`` is called with the names of what a request set
        that the broker keeps, and does nothing about. Raises InvalidValue.
        """
        super().__init__(url, timeout_s, remedies, options)
        self._without_effect = without_effect

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AdminAnswer:
        """Ask, and return the answer.

        ``path`` is what follows the address, ``/admin/v2/tenants``, its names encoded as
        ``topic_path`` does. ``query`` is what follows its question mark.
        """
        with self.opened(method, path, body, query=query, headers=headers) as answer:
            data = answer.read(ANSWER_SIZE_MAX + 1)
            if len(data) > ANSWER_SIZE_MAX:
                raise Refused(f"{path}: the answer has more than {ANSWER_SIZE_MAX} bytes")
            if answer.length:  # What is missing, where it was said how long it is.
                raise NotReady(f"{self.url} broke off its answer to {method} {path}")
            names = answer.headers.get(_WITHOUT_EFFECT)
            if names and self._without_effect is not None:
                self._without_effect(names)
            return AdminAnswer(answer.status, dict(answer.headers.items()), data)

    def get(self, path: str, **query: object) -> Any:
        """Ask by GET; the value of the answer. ``query`` is what follows the question mark."""
        return self.ask("GET", path, query=query).value()

    def send(self, method: str, path: str, value: object = None, **query: object) -> Any:
        """Send a value as JSON, by PUT, POST or DELETE; None sends no body. The answer's value."""
        body = None if value is None else json.dumps(value).encode()
        return self.ask(method, path, body, query=query, headers=_JSON).value()

    @staticmethod
    def topic_path(topic: str) -> str:
        """``persistent/tenant/namespace/name``, encoded, as paths have it. Raises InvalidName."""
        return topic_path(topic)

    @contextmanager
    def opened(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[HTTPResponse]:
        """The answer while it arrives: for what is long, or does not end."""
        target = _with_query(path, query)
        shown = credential_headers(self._credentials, self._shown())
        asked = {"Accept": "application/json", **(headers or {}), **shown}
        try:
            with self._first_answer(method, target, body, asked) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(1 << 20)
                raise self._refusal(error.code, said, method, error.url or "") from error
        except (HTTPException, BrokenPipeError, ConnectionResetError) as error:
            why = f"{type(error).__name__} {error}".strip()
            if isinstance(error, RemoteDisconnected):
                why = f"it hung up without an answer: {self._remedies.port}"
            raise NotReady(f"{self.url} broke off its answer: {why}") from error
        except TimeoutError as error:
            raise NotReady(
                f"{self.url} did not answer {method} {path} within {self._timeout_s:g} s"
            ) from error

    def _shown(self) -> bytes | None:
        # Without credentials there is nothing to wait for, and no event loop to make.
        return None if self._credentials.method == "none" else asyncio.run(self._credentials.data())

    def _first_answer(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> HTTPResponse:
        """Of the first address that answers. Raises HTTPError, Unreachable, NotAllowed for TLS."""
        refused: list[str] = []
        for base in self._bases:
            try:
                return self._answer(method, base + target, body, headers)
            except urllib.error.HTTPError:
                raise
            except urllib.error.URLError as error:
                if isinstance(error.reason, ssl.SSLError):
                    why = trouble(error.reason, "http://")
                    if isinstance(error.reason, ssl.SSLCertVerificationError):
                        why += self._remedies.untrusted
                    raise NotAllowed(f"{base}: {why}") from error
                refused.append(f"{base}: {_why(error.reason)}")
        raise Unreachable(f"no admin API answers at {'; '.join(refused)}: {self._remedies.away}")

    def _answer(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> HTTPResponse:
        scheme = urlsplit(url).scheme
        context = self._tls.context() if scheme == "https" else None
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),  # A proxy for the web knows no broker.
            urllib.request.HTTPSHandler(context=context),
            _NoRedirect(),
        )
        for _ in range(REDIRECTS_MAX):
            request = urllib.request.Request(  # noqa: S310 - http and https only, as parsed
                url, body, dict(headers), method=method
            )
            try:
                answer: HTTPResponse = opener.open(request, timeout=self._timeout_s)
            except urllib.error.HTTPError as error:
                location = error.headers.get("Location")
                if error.code not in REDIRECTS or not location:
                    raise
                url = urljoin(url, location)
                error.close()
                if urlsplit(url).scheme != scheme:
                    raise Refused(f"the broker sends us on to {url}, not {scheme}") from None
            else:
                return answer
        raise NotReady(f"the brokers send each other's questions on, the last to {url}")


class AsyncAdminApi(_Admin):
    """The twin of ``AdminApi`` whose calls are awaited.

    What it raises is the same, but for ConnectionLost where no address answers, or one hangs up.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        is_broker: Callable[[str], bool] = lambda _: True,
        **options: Unpack[ClientOptions],
    ) -> None:
        """``is_broker`` says of a ``host:port`` that an answer names whether it may be asked.

        Everything else is as of ``AdminApi``. Raises InvalidValue.
        """
        super().__init__(url, timeout_s, None, options)
        self._requests = HttpRequests(
            self._credentials,
            self._tls,
            timeout_s=timeout_s,
            connection_timeout_s=timeout_s,
            redirects=REDIRECTS_MAX,
            answer_bytes=ANSWER_SIZE_MAX,
            is_broker=is_broker,
        )

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        query: Query | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AdminAnswer:
        """Ask, and return the answer, as ``AdminApi.ask`` does."""
        said = await self._requests.ask(
            self._bases,
            _with_query(path, query),
            method,
            body=body,
            headers={"Accept": "application/json", **(headers or {})},
        )
        if not 200 <= said.status < 300:
            raise self._refusal(said.status, said.body, method, said.url)
        return AdminAnswer(said.status, said.headers, said.body)

    async def get(self, path: str, **query: object) -> Any:
        """Ask by GET; the value of the answer. ``query`` is what follows the question mark."""
        return (await self.ask("GET", path, query=query)).value()

    async def send(self, method: str, path: str, value: object = None, **query: object) -> Any:
        """Send a value as JSON, by PUT, POST or DELETE; None sends no body. The answer's value."""
        body = None if value is None else json.dumps(value).encode()
        return (await self.ask(method, path, body, query=query, headers=_JSON)).value()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Urllib would follow with GET alone, and forget the body."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, *_: Any
    ) -> None:
        return None


def segment(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


def topic_path(topic: str) -> str:
    """``persistent/tenant/namespace/local``, encoded. Raises InvalidName."""
    name = TopicName.parse(topic)
    return f"{name.domain}/{name.tenant}/{name.namespace_local}/{segment(name.local)}"


def _with_query(path: str, query: Query | None) -> str:
    """None is left out; a list is its parameter several times."""
    pairs = []
    for key, value in (query or {}).items():
        several = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        pairs += [(key, _text(one)) for one in several if one is not None]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _why(reason: object) -> str:
    return getattr(reason, "strerror", None) or str(reason)


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "unknown status"


def _reason(body: bytes) -> str:
    """Why it refuses: Pulsar's ``reason``, its servlets' ``message``, or what else it says."""
    said = body.decode(errors="replace")
    try:
        found = json.loads(said)
    except ValueError:
        found = None
    if isinstance(found, dict):
        said = str(found.get("reason") or found.get("message") or said)
    unexpected = _UNEXPECTED.match(said)  # Pulsar's own say at which lines of Java, too.
    said = unexpected[1] if unexpected else said
    return " ".join(said.split())[:_REASON_CHARACTERS] or "it does not say why"
