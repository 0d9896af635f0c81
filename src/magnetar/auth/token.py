"""Checks JSON Web Tokens, as Pulsar's AuthenticationProviderToken does."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import jwt

from magnetar.clock import Clock
from magnetar.errors import InvalidValue, NotAuthenticated

from .identity import Credentials, Identity

if TYPE_CHECKING:
    from .tenant_issuers import TenantIssuers

SECRET_BYTES: Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""How long a secret must be for each algorithm that takes one."""
RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ELLIPTIC: Final = ("ES256", "ES384", "ES512")
RSA_BITS: Final = 2048  # Shorter ones can be broken.
_PEM: Final = b"-----BEGIN"


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A key, and the algorithms that it may be used with: nobody else chooses them."""

    key: Any
    algorithms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Which claims of a token count."""

    role_claim: str = "sub"
    audience_claim: str = ""  # "": tokens for any audience are taken.
    audience: str = ""
    clock_skew_s: int = 0


class TokenKeys(Protocol):
    """Where the key of a token is found."""

    async def find(self, header: Mapping[str, Any]) -> TokenKey | None:
        """The key for the header of a token; None where there is none. Raises NotAuthenticated."""

    async def close(self) -> None:
        """End what it started."""


def secret_key(content: bytes) -> TokenKey:
    """A secret that signs tokens and checks them. Raises InvalidValue for one too short."""
    algorithms = [name for name, size in SECRET_BYTES.items() if len(content) >= size]
    if not algorithms:
        raise InvalidValue(
            f"tokenSecretKey has {len(content)} bytes: a key that nobody guesses has 32 or more "
            "(`magnetar tokens create-secret-key` makes one)"
        )
    return TokenKey(content, tuple(algorithms))


def public_key(content: bytes, algorithm: str) -> TokenKey:
    """The public key of those who sign tokens, in PEM or DER. Raises InvalidValue."""
    family = next((each for each in (RSA, ELLIPTIC) if algorithm in each), None)
    if family is None:
        raise InvalidValue(
            f"tokenPublicAlg={algorithm!r}: use one of {', '.join((*RSA, *ELLIPTIC))}"
        )
    pem = content if content.lstrip().startswith(_PEM) else _pem(content)
    for name in family:
        try:
            key = jwt.get_algorithm_by_name(name).prepare_key(pem)
        except (ValueError, TypeError, jwt.PyJWTError):
            continue  # It is of another curve, or no key at all.
        if hasattr(key, "private_numbers"):
            raise InvalidValue("tokenPublicKey is a private key: give the broker the public one")
        if family is RSA and key.key_size < RSA_BITS:
            raise InvalidValue(f"tokenPublicKey has {key.key_size} bits: use one of {RSA_BITS}")
        return TokenKey(key, RSA if family is RSA else (name,))
    kind = "RSA key" if family is RSA else "key of P-256, P-384 or P-521"
    raise InvalidValue(
        f"tokenPublicKey is no public {kind} in PEM or DER, which tokenPublicAlg={algorithm} asks "
        "for"
    )


class FixedKeys:
    """Keys that never change: the first one for the algorithm of a token is its key."""

    def __init__(self, *keys: TokenKey) -> None:
        self._keys = keys

    async def find(self, header: Mapping[str, Any]) -> TokenKey | None:
        return next((key for key in self._keys if header.get("alg") in key.algorithms), None)

    async def close(self) -> None:
        """They started nothing."""


class TokenProvider:
    """The tokens that some keys have signed."""

    method = "token"

    def __init__(
        self,
        keys: Sequence[TokenKeys],
        rules: TokenRules,
        clock: Clock,
        issuers: "TenantIssuers | None" = None,
    ) -> None:
        """The first of ``keys`` that has one for a token is asked, unless a tenant's ``issuers``
        say that it is one of theirs.
        """
        self._keys = keys
        self._rules = rules
        self._clock = clock
        self._issuers = issuers

    async def authenticate(self, credentials: Credentials) -> Identity:
        try:
            token = credentials.data.decode("ascii").strip()
            header = jwt.get_unverified_header(token)
            of_tenant = self._issuers and self._issuers.find(_issuer(token))
            keys = (of_tenant[1],) if of_tenant else self._keys
            key = await _key(keys, header)
            if key is None:
                raise NotAuthenticated(
                    "no key of this broker is for such a token: have it signed with the broker's"
                )
            claims = jwt.decode(token, key.key, algorithms=list(key.algorithms), options=_UNCHECKED)
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise NotAuthenticated(f"the token is not valid: {_why(error)}") from None
        if of_tenant:
            rules = of_tenant[0].rules(self._rules)
            return of_tenant[0].identity(identity_of(claims, rules, self._clock.wall_ms()))
        return identity_of(claims, self._rules, self._clock.wall_ms())

    async def close(self) -> None:
        if self._issuers is not None:
            await self._issuers.close()
        for keys in self._keys:
            await keys.close()


async def _key(sources: Sequence[TokenKeys], header: Mapping[str, Any]) -> TokenKey | None:
    for keys in sources:
        key = await keys.find(header)
        if key is not None:
            return key
    return None


def _issuer(token: str) -> Any:
    """Who a token says that made it, before anything of it is checked."""
    options: Any = {**_UNCHECKED, "verify_signature": False}
    return jwt.decode(token, options=options).get("iss")


def identity_of(claims: Mapping[str, Any], rules: TokenRules, now_ms: int) -> Identity:
    """Whose the claims of a token are at a time. Raises NotAuthenticated."""
    skew_ms = rules.clock_skew_s * 1000
    expires_at_ms = _time_of(claims, "exp")
    if expires_at_ms is not None and expires_at_ms + skew_ms < now_ms:
        raise NotAuthenticated("the token has expired: show a new one")
    not_before_ms = _time_of(claims, "nbf")
    if not_before_ms is not None and not_before_ms - skew_ms > now_ms:
        raise NotAuthenticated("the token is not valid yet (nbf): compare the clocks")
    if rules.audience_claim:
        audience = claims.get(rules.audience_claim)
        if rules.audience not in (audience if isinstance(audience, list) else [audience]):
            raise NotAuthenticated(
                f"the token is for another audience ({rules.audience_claim}): this is "
                f"{rules.audience}"
            )
    role = claims.get(rules.role_claim)
    if isinstance(role, list) and role:
        role = role[0]
    if not isinstance(role, str) or not role.strip():
        raise NotAuthenticated(f"the token has no claim {rules.role_claim} with a role")
    return Identity(role, None if expires_at_ms is None else expires_at_ms + skew_ms)


# The claims are checked above, by one clock and by Pulsar's rules; here only the signature is.
_UNCHECKED: Final[Any] = {
    f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")
}


def _time_of(claims: Mapping[str, Any], name: str) -> int | None:
    """A claim in seconds since the epoch, in milliseconds."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e14:
        raise NotAuthenticated(f"the claim {name} of the token is no time")
    return int(value * 1000)


def _why(error: Exception) -> str:
    """What is wrong with it, without anything of it."""
    if isinstance(error, jwt.InvalidSignatureError):
        return "it was signed with another key"
    if isinstance(error, jwt.InvalidAlgorithmError):
        return "its algorithm is not one of the key's"
    return "it is no JSON Web Token (header.claims.signature)"


def _pem(der: bytes) -> bytes:
    return b"-----BEGIN PUBLIC KEY-----\n" + base64.encodebytes(der) + b"-----END PUBLIC KEY-----\n"
