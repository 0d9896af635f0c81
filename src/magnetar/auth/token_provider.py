"""Checks JSON Web Tokens, as Pulsar's AuthenticationProviderToken does."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jwt

from magnetar.clock import Clock
from magnetar.errors import NotAuthenticated
from magnetar.late_dataclass import dataclass

from .identity import Credentials, Identity
from .tenant_issuers import TenantIssuers
from .token import TokenKey, TokenKeys, TokenRules, identity_of

# ``identity_of`` checks the claims, by one clock and Pulsar's rules; here only the signature is.
_UNCHECKED: Final[Any] = {
    f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")
}


@dataclass(slots=True, eq=False)
class TokenProvider:
    """Takes the tokens that some keys have signed.

    The first of ``keys`` that has one for a token is asked, unless a tenant's ``issuers`` say that
    it is one of theirs.
    """

    method = "token"

    keys: Sequence[TokenKeys]
    rules: TokenRules
    clock: Clock
    issuers: TenantIssuers | None = None

    async def authenticate(self, credentials: Credentials) -> Identity:
        try:
            token = credentials.data.decode("ascii").strip()
            header = jwt.get_unverified_header(token)
            of_tenant = self.issuers and self.issuers.find(_issuer(token))
            keys = (of_tenant[1],) if of_tenant else self.keys
            key = await _key(keys, header)
            if key is None:
                raise NotAuthenticated(
                    "no key of this broker is for such a token: have it signed with the broker's"
                )
            claims = jwt.decode(token, key.key, algorithms=list(key.algorithms), options=_UNCHECKED)
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise NotAuthenticated(f"the token is not valid: {_why(error)}") from None
        if of_tenant:
            rules = of_tenant[0].rules(self.rules)
            return of_tenant[0].identity(identity_of(claims, rules, self.clock.wall_ms()))
        return identity_of(claims, self.rules, self.clock.wall_ms())

    async def close(self) -> None:
        if self.issuers is not None:
            await self.issuers.close()
        for keys in self.keys:
            await keys.close()


async def _key(sources: Sequence[TokenKeys], header: Mapping[str, Any]) -> TokenKey | None:
    for keys in sources:
        key = await keys.find(header)
        if key is not None:
            return key
    return None


def _issuer(token: str) -> Any:
    """Return the issuer that a token names, before anything of it is checked."""
    options: Any = {**_UNCHECKED, "verify_signature": False}
    return jwt.decode(token, options=options).get("iss")


def _why(error: Exception) -> str:
    """Return what is wrong with a token, without any of its content."""
    if isinstance(error, jwt.InvalidSignatureError):
        return "it was signed with another key"
    if isinstance(error, jwt.InvalidAlgorithmError):
        return "its algorithm is not one of the key's"
    return "it is no JSON Web Token (header.claims.signature)"
