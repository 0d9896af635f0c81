"""The keys that JSON Web Tokens are signed with, and what the claims of a token say."""

import base64
from collections.abc import Mapping
from typing import Any, Final, Protocol

import jwt

from magnetar.errors import InvalidValue, NotAuthenticated
from magnetar.late_dataclass import dataclass

from .identity import Identity

SECRET_BYTES: Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""How long a secret must be for each algorithm that takes one."""
RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ELLIPTIC: Final = ("ES256", "ES384", "ES512")
RSA_BITS: Final = 2048  # Shorter ones can be broken.
_PEM: Final = b"-----BEGIN"


@dataclass(frozen=True, slots=True)
class TokenKey:
    """A key, and the algorithms that it may be used with: a token does not choose them."""

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


def identity_of(claims: Mapping[str, Any], rules: TokenRules, now_ms: int) -> Identity:
    """Return the identity that the claims of a token give at a time. Raises NotAuthenticated."""
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


def _time_of(claims: Mapping[str, Any], name: str) -> int | None:
    """A claim in seconds since the epoch, in milliseconds."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e14:
        raise NotAuthenticated(f"the claim {name} of the token is no time")
    return int(value * 1000)


def _pem(der: bytes) -> bytes:
    return b"-----BEGIN PUBLIC KEY-----\n" + base64.encodebytes(der) + b"-----END PUBLIC KEY-----\n"
