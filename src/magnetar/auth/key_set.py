"""The public keys of who signs tokens, from a file or from a server.

They are a JSON Web Key Set, or a single key in PEM or DER.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from magnetar.clock import Clock
from magnetar.errors import InvalidValue, NotAuthenticated
from magnetar.model.broker_address import is_loopback
from magnetar.tasks import Tasks

from .token import ELLIPTIC, RSA, RSA_BITS, TokenKey, public_key
from .watched_file import WatchedFile

log = logging.getLogger(__name__)

KEY_SET_BYTES_MAX: Final = 1024 * 1024
KEYS_MAX: Final = 100
"""Keys of a set. Reading thousands would take a broker's time from its clients."""
AGE_S: Final = 900.0  # A set of a server is fetched again after this.
UNKNOWN_KEY_S: Final = 10.0  # For a key that it does not have, not sooner than after this.
FETCH_TIMEOUT_S: Final = 5.0
SETTING: Final = "tokenJwks"


class KeySet:
    """Finds the key of a token by its ``kid``."""

    def __init__(
        self, where: str, clock: Clock, *, setting: str = SETTING, may_come: bool = False
    ) -> None:
        """``where``: a file, its content as ``data:``, or a URL. Raises InvalidValue.

        With ``may_come`` a file that cannot be read yet is no error: it has no keys until it can.
        """
        self._setting = setting
        self._url = where if where.startswith(("http://", "https://")) else ""
        if self._url and "@" in urlsplit(where).netloc:
            raise InvalidValue(
                f"{setting} has a user or a password in its URL, which logs and the configuration "
                "would show: use a URL that asks for none"
            )
        self._clock = clock
        self._tasks = Tasks("keys of tokens")
        self._fetching: asyncio.Task[None] | None = None
        self._fetched_at = float("-inf")
        self._keys: list[tuple[str | None, TokenKey]] = []
        if not self._url:
            self._file = WatchedFile(setting, where)
            try:
                self._keys = self._read(self._file.read())
            except InvalidValue as error:
                if not may_come:
                    raise
                log.warning("authentication.no_keys nobody is let in by them: %s", error)
        elif where.startswith("http:") and not is_loopback(urlsplit(where).hostname or ""):
            log.warning(
                "authentication.keys_over_http %s: who is in between can make any token; use "
                "https://",
                where,
            )

    async def find(self, header: Mapping[str, Any]) -> TokenKey | None:
        """The key for the header of a token. Raises NotAuthenticated while there are none."""
        if not self._url:
            self._keys = self._file.read_if_changed(self._read) or self._keys
            return self._of(header)
        age_s = self._clock.now() - self._fetched_at
        key = self._of(header)
        if key is not None and age_s < AGE_S:
            return key  # Whoever shows tokens of unknown keys has nobody else wait.
        if age_s >= (AGE_S if key is not None else UNKNOWN_KEY_S) or self._fetching:
            await self._fetch_once()
            key = self._of(header)
        if not self._keys:
            raise NotAuthenticated("the keys of tokens cannot be fetched now: try again later")
        return key

    async def close(self) -> None:
        await self._tasks.close()

    def _read(self, content: bytes) -> list[tuple[str | None, TokenKey]]:
        return read_key_set(content, self._setting)

    def _of(self, header: Mapping[str, Any]) -> TokenKey | None:
        """A token without ``kid`` is for the only key of its algorithm, one with it for its own.

        A key without ``kid`` is for both.
        """
        algorithm, kid = header.get("alg"), header.get("kid")
        fitting = [each for each in self._keys if algorithm in each[1].algorithms]
        if kid is not None:
            named = [each for each in fitting if each[0] == kid]
            fitting = named or [each for each in fitting if each[0] is None]
        return fitting[0][1] if len(fitting) == 1 else None

    async def _fetch_once(self) -> None:
        """Fetch the set, together with all who ask meanwhile."""
        if self._fetching is None:
            self._fetching = self._tasks.start("fetch", self._fetch())
        await asyncio.shield(self._fetching)

    async def _fetch(self) -> None:
        """Fetch the set; if that fails the keys there are stay."""
        try:
            self._keys = self._read(await _content_of(self._url))
        except (InvalidValue, OSError, TimeoutError) as error:
            log.warning("authentication.keys_not_fetched url=%s error=%s", self._url, error)
        finally:
            self._fetched_at = self._clock.now()
            self._fetching = None


def read_key_set(content: bytes, setting: str = SETTING) -> list[tuple[str | None, TokenKey]]:
    """The public keys of a set by their ``kid``, those for signatures. Raises InvalidValue.

    What is no JSON is a single key, without a ``kid``.
    """
    if not content.lstrip().startswith((b"{", b"[")):
        return [(None, _single(content, setting))]
    try:
        described = json.loads(content)["keys"]
        found = [_key(each) for each in described[: KEYS_MAX + 1]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InvalidValue(f'{setting} is no JSON Web Key Set: {{"keys": [...]}}') from None
    if len(found) > KEYS_MAX:
        raise InvalidValue(f"{setting} has {len(described)} keys, and may have {KEYS_MAX}")
    keys = [key for key in found if key is not None]
    if not keys:
        raise InvalidValue(f"{setting} has no public key of RSA or an elliptic curve")
    return keys


def _single(content: bytes, setting: str) -> TokenKey:
    for algorithm in (RSA[0], ELLIPTIC[0]):
        try:
            return public_key(content, algorithm)
        except InvalidValue:
            continue
    raise InvalidValue(
        f"{setting} is neither a JSON Web Key Set nor a public key in PEM or DER, of RSA with "
        f"{RSA_BITS} bits or more or of P-256, P-384 or P-521"
    )


def _key(described: Mapping[str, Any]) -> tuple[str | None, TokenKey] | None:
    """One key of a set; None where it is none of a signature that we check.

    A secret (``oct``) is none either: who can read the set could sign.
    """
    if described.get("use", "sig") != "sig" or described.get("kty") not in ("RSA", "EC"):
        return None
    try:
        key = jwt.PyJWK.from_dict(dict(described))
    except (jwt.PyJWTError, TypeError):  # The latter for an ``alg`` that is no text.
        return None
    if hasattr(key.key, "private_numbers"):
        return None
    if described["kty"] == "RSA" and key.key.key_size < RSA_BITS:
        return None
    fitting = RSA if described["kty"] == "RSA" else ELLIPTIC
    named = {key.algorithm_name} if described["kty"] == "EC" or "alg" in described else set(RSA)
    taken = tuple(each for each in fitting if each in named)
    return (described.get("kid"), TokenKey(key.key, taken)) if taken else None


async def _content_of(url: str) -> bytes:
    """Fetch a document. Raises OSError, TimeoutError and InvalidValue."""
    import aiohttp  # noqa: PLC0415 - only who fetches keys needs it

    timeout = aiohttp.ClientTimeout(total=FETCH_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                raise InvalidValue(f"status {answer.status}")
            content = await answer.content.read(KEY_SET_BYTES_MAX + 1)
            while not answer.content.at_eof() and len(content) <= KEY_SET_BYTES_MAX:
                content += await answer.content.read(KEY_SET_BYTES_MAX + 1)
    except aiohttp.ClientError as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
    if len(content) > KEY_SET_BYTES_MAX:
        raise InvalidValue(f"more than {KEY_SET_BYTES_MAX} bytes")
    return content
