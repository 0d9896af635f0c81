"""Authentication by OAuth 2.0: a token for the client's own credentials, renewed before it ends."""

import base64
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from magnetar.checks import check_positive, check_text
from magnetar.client.web_answer import whole
from magnetar.clock import Clock, SystemClock
from magnetar.errors import ConnectionLost, InvalidValue, NotAuthenticated

TIMEOUT_S: Final = 10.0
SIZE_MAX: Final = 1 << 20
RENEW_AT: Final = 0.9  # Of a token's life: one that ends on its way to the broker is no use.


class AuthenticationOAuth2:
    """Gets tokens from an authorization server (RFC 6749, 4.4: client credentials)."""

    method = "token"  # Brokers see the token, and not where it came from.

    def __init__(
        self,
        issuer_url: str,
        private_key: str,
        *,
        audience: str | None = None,
        scope: str | None = None,
        trust_certs_file: str | None = None,
        timeout_s: float = TIMEOUT_S,
        clock: Clock | None = None,
    ) -> None:
        """``issuer_url`` says at ``/.well-known/openid-configuration`` where tokens are.

        ``private_key`` is a JSON file with ``client_id`` and ``client_secret``, or its content as
        ``data:application/json;base64,...``. Raises InvalidValue.
        """
        for name, value in (("issuer_url", issuer_url), ("private_key", private_key)):
            check_text(name, value)
        if not issuer_url.startswith(("https://", "http://")) or "@" in issuer_url:
            raise InvalidValue("issuer_url is not of the form https://host/, without a password")
        check_positive("timeout_s", timeout_s)
        self._issuer_url = issuer_url.rstrip("/")
        self._private_key = private_key
        self._asked = {"audience": audience, "scope": scope}
        self._trust_certs_file = trust_certs_file
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._token = ""
        self._renew_at = self._ends_at = 0.0

    async def data(self) -> bytes:
        """A token that is still good for a while.

        Raises NotAuthenticated when the server refuses the client's credentials, ConnectionLost
        when it cannot be reached, OSError for a file that cannot be read.
        """
        if not self._token or self._clock.now() >= self._renew_at:
            try:
                await self._renew()
            except ConnectionLost:
                if self._clock.now() >= self._ends_at:
                    raise
        return self._token.encode()

    def __repr__(self) -> str:
        return f"AuthenticationOAuth2({self._issuer_url!r}, '...')"

    async def _renew(self) -> None:
        asked_at = self._clock.now()
        answer = await self._ask()
        token, life_s = answer.get("access_token"), answer.get("expires_in", 0)
        if not isinstance(token, str) or not token:
            raise NotAuthenticated(f"{self._issuer_url} answered without an access_token")
        if not isinstance(life_s, int | float):
            life_s = float(life_s) if isinstance(life_s, str) and life_s.isdecimal() else 0.0
        self._token = token
        self._renew_at, self._ends_at = asked_at + life_s * RENEW_AT, asked_at + life_s

    async def _ask(self) -> Mapping[str, object]:
        import aiohttp  # noqa: PLC0415 - who authenticates otherwise does not pay for it.

        trusted = ssl.create_default_context(cafile=self._trust_certs_file)
        timeout = aiohttp.ClientTimeout(total=self._timeout_s)
        form = {"grant_type": "client_credentials", **_credentials(self._private_key)}
        form |= {key: value for key, value in self._asked.items() if value}
        place = f"{self._issuer_url}/.well-known/openid-configuration"
        try:
            async with aiohttp.ClientSession(timeout=timeout, trust_env=True) as web:
                async with web.get(place, ssl=trusted) as answer:
                    known = _document(place, answer.status, await whole(answer.content, SIZE_MAX))
                place = str(known.get("token_endpoint"))
                async with web.post(place, data=form, ssl=trusted) as answer:
                    return _document(place, answer.status, await whole(answer.content, SIZE_MAX))
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise ConnectionLost(
                f"no token from {place}: {error or type(error).__name__}"
            ) from error


def _document(place: str, status: int, body: bytes) -> Mapping[str, object]:
    """The JSON that a server answered. What it refuses is said in its own words."""
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {}
    if status == 200 and document:
        return document
    said = ": ".join(
        str(document[key]) for key in ("error", "error_description") if key in document
    )
    why = f"{place} answered with status {status}{f', {said}' if said else ''}"
    if status in {400, 401, 403}:
        raise NotAuthenticated(f"no token for the client's credentials: {why}")
    raise ConnectionLost(f"no token: {why}")


def _credentials(private_key: str) -> dict[str, str]:
    """The client's id and secret."""
    try:
        if private_key.startswith("data:"):
            text = base64.b64decode(private_key.partition(",")[2]).decode()
        else:
            file = private_key.removeprefix("file://").removeprefix("file:")
            text = Path(file).read_text()
        content = json.loads(text)
        return {key: str(content[key]) for key in ("client_id", "client_secret")}
    except (KeyError, TypeError, ValueError):
        # The cause would show what is secret.
        raise NotAuthenticated(
            "private_key holds no JSON object with client_id and client_secret"
        ) from None
