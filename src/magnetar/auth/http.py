"""Who sends an HTTP request, by its headers or the certificate of its connection."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Final, NamedTuple

from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotAuthenticated
from magnetar.late_dataclass import dataclass

from .access import Access
from .authentication import NO_METHODS, Authentication
from .authorization import Principal
from .identity import Credentials
from .proxies import ProxyRules

METHOD_HEADER: Final = "X-Pulsar-Auth-Method-Name"
ORIGINAL_PRINCIPAL_HEADER: Final = "X-Original-Principal"
SAID_ONCE: Final = ("Authorization", METHOD_HEADER, ORIGINAL_PRINCIPAL_HEADER)
"""What a proxy adds behind what its client has sent must not be taken for the client's, or the
other way round."""
_SCHEMES: Final = {"bearer": "token", "basic": "basic"}


class Sender(NamedTuple):
    """Who sends a request, and for how long that holds: seconds; None: for ever."""

    principal: Principal
    life_s: float | None = None


@dataclass(slots=True, eq=False)
class HttpSignIn:
    """Finds out who sends requests."""

    authentication: Authentication
    clock: Clock
    proxies: ProxyRules
    _: KW_ONLY
    metrics: bool = False  # Who reads /metrics is asked, too.

    def asks(self, access: Access, path: str) -> bool:
        """Whether a request must show who sends it."""
        metrics = self.metrics and f"{path}/".startswith("/metrics/")
        return access is not Access.PUBLIC or metrics

    @property
    def challenge(self) -> str:
        """The WWW-Authenticate of a 401. No browser asks for a password where tokens are taken."""
        methods = self.authentication.methods
        return 'Basic realm="pulsar"' if methods == ("basic",) else 'Bearer realm="pulsar"'

    async def sender(self, headers: Mapping[str, str], certificate: str | None) -> Sender:
        """Who sends a request. Raises NotAuthenticated, and NotAuthorized for what no proxy is."""
        shown = self._shown(headers, certificate)
        identity = await self.authentication.authenticate(shown)
        original = headers.get(ORIGINAL_PRINCIPAL_HEADER, "")
        principal = self.proxies.principal(identity.role, original, may_repeat=True)
        if identity.expires_at_ms is None:
            return Sender(principal)
        return Sender(principal, (identity.expires_at_ms - self.clock.wall_ms()) / 1000)

    def note_refused(
        self, headers: Mapping[str, str], address: str | None, error: MagnetarError
    ) -> None:
        """Log who was not let in, and why; one that showed nothing has only begun to sign in."""
        if "Authorization" in headers or METHOD_HEADER in headers:
            scheme = headers.get("Authorization", "").partition(" ")[0].lower()
            method = headers.get(METHOD_HEADER) or _SCHEMES.get(scheme, "")
            self.authentication.note_refused(method, address or "", error)

    def _shown(self, headers: Mapping[str, str], certificate: str | None) -> Credentials:
        method = headers.get(METHOD_HEADER, "").strip()
        by_scheme, text = _scheme(headers)
        if not method:
            method = by_scheme or ("tls" if self._takes_certificate(certificate) else "none")
        if method == by_scheme:
            return Credentials(method, _data(method, text.strip()), certificate)
        if by_scheme and method not in NO_METHODS and method != "tls":
            raise NotAuthenticated(
                f"{METHOD_HEADER} is {method[:20]!r}, and Authorization is for {by_scheme}"
            )
        return Credentials(method, certificate=certificate)

    def _takes_certificate(self, certificate: str | None) -> bool:
        return certificate is not None and "tls" in self.authentication.methods


def shows_token(headers: Mapping[str, str]) -> bool:
    """Whether a request is checked by its token, and not by what browsers add themselves."""
    return headers.get(METHOD_HEADER, "token") == "token" == _scheme(headers)[0]


def _scheme(headers: Mapping[str, str]) -> tuple[str, str]:
    """The method of the Authorization, "" for none, and what is behind it."""
    scheme, _, text = headers.get("Authorization", "").partition(" ")
    if scheme and scheme.lower() not in _SCHEMES:
        raise NotAuthenticated(
            "Authorization is neither Bearer and a token nor Basic and user:password in base64"
        )
    return _SCHEMES.get(scheme.lower(), ""), text


def _data(method: str, text: str) -> bytes:
    """What the header shows, in the form that the binary protocol has."""
    if method != "basic":
        return text.encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotAuthenticated("Authorization: Basic is followed by no base64") from None
