"""Who sends an HTTP request, by its headers or the certificate of its connection."""

import base64
import binascii
from collections.abc import Mapping
from typing import Final

from magnetar.errors import NotAuthenticated

from .access import Access
from .authentication import NO_METHODS, Authentication, Credentials
from .authorization import Principal
from .proxies import ProxyRules

METHOD_HEADER: Final = "X-Pulsar-Auth-Method-Name"
ORIGINAL_PRINCIPAL_HEADER: Final = "X-Original-Principal"
_SCHEMES: Final = {"bearer": "token", "basic": "basic"}


class HttpSignIn:
    """Finds out who sends requests."""

    def __init__(
        self, authentication: Authentication, proxies: ProxyRules, *, metrics: bool = False
    ) -> None:
        """``metrics``: who reads /metrics is asked, too."""
        self._authentication = authentication
        self._proxies = proxies
        self._metrics = metrics

    def asks(self, access: Access, path: str) -> bool:
        """Whether a request must show who sends it."""
        metrics = self._metrics and f"{path}/".startswith("/metrics/")
        return access is not Access.PUBLIC or metrics

    @property
    def challenge(self) -> str:
        """The WWW-Authenticate of a 401. No browser asks for a password where tokens are taken."""
        methods = self._authentication.methods
        return 'Basic realm="pulsar"' if methods == ("basic",) else 'Bearer realm="pulsar"'

    async def principal(self, headers: Mapping[str, str], certificate: str | None) -> Principal:
        """Who sends a request. Raises NotAuthenticated, and NotAuthorized for what no proxy is."""
        shown = self._shown(headers, certificate)
        identity = await self._authentication.authenticate(shown)
        original = headers.get(ORIGINAL_PRINCIPAL_HEADER, "")
        return self._proxies.principal(identity.role, original, may_repeat=True)

    def _shown(self, headers: Mapping[str, str], certificate: str | None) -> Credentials:
        method = headers.get(METHOD_HEADER, "").strip()
        scheme, _, text = headers.get("Authorization", "").partition(" ")
        by_scheme = _SCHEMES.get(scheme.lower(), "")
        if scheme and not by_scheme:
            raise NotAuthenticated(
                f"Authorization begins with {scheme[:20]!r}: send Bearer and a token, or Basic"
            )
        if not method:
            method = by_scheme or ("tls" if self._takes_certificate(certificate) else "none")
        if method == by_scheme:
            return Credentials(method, _data(method, text.strip()), certificate)
        if by_scheme and method not in NO_METHODS and method != "tls":
            raise NotAuthenticated(f"{METHOD_HEADER} is {method[:20]!r}, Authorization is {scheme}")
        return Credentials(method, certificate=certificate)

    def _takes_certificate(self, certificate: str | None) -> bool:
        return certificate is not None and "tls" in self._authentication.methods


def _data(method: str, text: str) -> bytes:
    """What the header shows, in the form that the binary protocol has."""
    if method != "basic":
        return text.encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotAuthenticated("Authorization: Basic is followed by no base64") from None
