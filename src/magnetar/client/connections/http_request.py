"""One request over HTTP, in asyncio: with credentials and TLS, and sent on to where brokers say."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from magnetar.client.web_answer import whole
from magnetar.errors import ConnectionLost, InvalidValue, NotAllowed

from .credentials import Credentials
from .tls import Tls, trouble
from .transport import REFUSED

if TYPE_CHECKING:  # Who speaks the binary protocol does not pay for it.
    from aiohttp import ClientSession

REDIRECTS: Final = frozenset({302, 307})
# How the credentials of a method go into a header; certificates need none.
_SCHEMES: Final = {"token": "Bearer ", "basic": "Basic "}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server answered, and the URL that was asked last."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


@dataclass(frozen=True, slots=True)
class HttpRequests:
    """How brokers are asked. It holds no connection, so there is nothing to close."""

    credentials: Credentials
    tls: Tls | None
    timeout_s: float
    connection_timeout_s: float
    redirects: int  # How many it follows.
    answer_bytes: int  # No answer has more.
    is_broker: Callable[[str], bool] = lambda _: True
    """Whether a ``host:port`` that a redirect names is a broker's: others get no credentials, as
    they are not asked at all."""

    async def ask(
        self,
        bases: Sequence[str],
        target: str,
        method: str = "GET",
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpAnswer:
        """Ask the first of some addresses, ``http://host:port``, that can be connected to.

        ``target`` is a path, encoded, with its query. Raises ConnectionLost where no address
        answers, NotAllowed for a redirect to what is no broker or has another scheme, and what
        the credentials raise. An answer of any status is returned.
        """
        import aiohttp  # noqa: PLC0415 - as above.

        shown = credential_headers(self.credentials, await self.credentials.data())
        timeout = aiohttp.ClientTimeout(
            total=self.timeout_s, sock_connect=self.connection_timeout_s
        )
        away = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
        refused: list[str] = []
        async with aiohttp.ClientSession(
            timeout=timeout, headers={**(headers or {}), **shown}
        ) as web:
            for base in bases:
                try:
                    return await self._followed(web, method, base + target, body)
                except (aiohttp.ClientError, OSError) as error:
                    refused.append(self._why(base, error))
                    if not isinstance(error, away) or len(refused) == len(bases):
                        raise ConnectionLost("; ".join(refused)) from error
        raise InvalidValue("no address to ask")

    async def _followed(
        self, web: "ClientSession", method: str, url: str, body: bytes | None
    ) -> HttpAnswer:
        """Ask, and ask the owner that an answer names in the same way."""
        from yarl import URL  # noqa: PLC0415 - aiohttp's.

        asked, scheme = url, urlsplit(url).scheme
        for _ in range(self.redirects + 1):
            context = True if self.tls is None else self.tls.context()
            async with web.request(
                method,
                URL(url, encoded=True),
                data=body,
                ssl=context,
                allow_redirects=False,
                skip_auto_headers=("Content-Type",),  # What is sent is called what it was called.
            ) as answer:
                found = HttpAnswer(
                    answer.status,
                    answer.headers.copy(),
                    await whole(answer.content, self.answer_bytes),
                    url,
                )
            location = found.headers.get("Location")
            if found.status not in REDIRECTS or not location:
                break
            url = urljoin(url, location)
            there = urlsplit(url)
            if there.scheme != scheme or not self.is_broker(there.netloc):
                what = f"not {scheme}" if there.scheme != scheme else "no broker"
                raise NotAllowed(f"{asked} sends us on to {url}, which is {what}")
        return found

    def _why(self, base: str, error: Exception) -> str:
        scheme, _, address = base.partition("://")
        cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", error)
        why = str(cause) or type(cause).__name__
        if isinstance(cause, ConnectionRefusedError):
            why = REFUSED
        elif isinstance(cause, TimeoutError):
            why = f"no answer within {self.timeout_s:g} s"
        elif isinstance(cause, OSError) and scheme == "https":
            why = trouble(cause, "http://")
        return f"cannot ask {address} over {scheme}: {why}"


def credential_headers(credentials: Credentials, data: bytes | None) -> dict[str, str]:
    """What shows credentials in HTTP. Raises NotAllowed for a method that has no form there."""
    if data is None:
        return {}
    method, headers = credentials.http_method, {}
    if method == credentials.method:  # A broker that is told no name finds out by the form.
        headers["X-Pulsar-Auth-Method-Name"] = method
    if method in _SCHEMES:
        shown = base64.b64encode(data) if method == "basic" else data
        headers["Authorization"] = _SCHEMES[method] + shown.decode()
    elif method != "tls":
        raise NotAllowed(f"authentication method {method!r} has no form in HTTP: use pulsar://")
    return headers
