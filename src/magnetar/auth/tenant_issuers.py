"""The issuers of tokens that tenants bring, from a file: whose tokens are checked by which keys.

``{"acme": {"issuer": "https://login.acme.example", "keys": "https://login.acme.example/jwks"}}``

A token says in its claim ``iss`` who made it. One that names such an issuer is checked by the keys
of that issuer and by no others, and any other token by the broker's own keys, so that nobody's keys
stand in for another's, whatever their ``kid`` is. Its role is ``SUBJECT@TENANT``.
"""

import asyncio
import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from magnetar.clock import Clock
from magnetar.errors import InvalidName, InvalidValue, NotAuthenticated
from magnetar.model.names import check_entity
from magnetar.tasks import Tasks

from .identity import Identity
from .key_set import KeySet
from .tenant_roles import TenantRoles, role_of, why_no_subject
from .token import TokenRules
from .watched_file import WatchedFile

log = logging.getLogger(__name__)

SETTING: Final = "tenantTokenIssuers"
_NEEDED: Final = frozenset({"issuer", "keys"})
_ALLOWED: Final = _NEEDED | {"audience", "roleClaim"}


class TenantIssuer(NamedTuple):
    """What the file says of the issuer of one tenant."""

    tenant: str
    issuer: str  # The claim ``iss`` of its tokens.
    keys: str  # A file or URL of its public keys.
    audience: str = ""  # Which its tokens must be for; "": as for the broker's own.
    role_claim: str = ""  # The same.

    def identity(self, found: Identity) -> Identity:
        """Who such a token is of, by its claims. Raises NotAuthenticated."""
        why = why_no_subject(found.role)
        if why:
            raise NotAuthenticated(f"the subject of the token names no role: {why}")
        if found.expires_at_ms is None:
            raise NotAuthenticated(
                "a token of a tenant's own issuer must end: have it made with the claim exp"
            )
        return Identity(role_of(found.role, self.tenant), found.expires_at_ms, self.tenant)

    def rules(self, own: TokenRules) -> TokenRules:
        """How the claims of its tokens are read."""
        if self.audience:
            own = replace(own, audience_claim="aud", audience=self.audience)
        return replace(own, role_claim=self.role_claim) if self.role_claim else own


class TenantIssuers:
    """The issuers that the file has, which is read again when it changes."""

    def __init__(self, where: str, clock: Clock, *, own: Collection[str] = ()) -> None:
        """``own``: roles that the broker's settings trust with more. Raises InvalidValue."""
        self.roles = TenantRoles()
        self._own = own
        self._clock = clock
        self._closing = Tasks("issuers")
        self._file = WatchedFile(SETTING, where)
        self._issuers: dict[str, tuple[TenantIssuer, KeySet]] = {}  # By ``iss``.
        self._take(self._parsed(self._file.read(), keys_may_come=False))

    def find(self, issuer: Any) -> tuple[TenantIssuer, KeySet] | None:
        """Whose tokens have this claim ``iss``, and the keys; None for none of a tenant."""
        self.renew()
        return self._issuers.get(issuer) if isinstance(issuer, str) else None

    def renew(self) -> None:
        """Read the file again if it changed; what cannot be used changes nothing."""
        found = self._file.read_if_changed(self._parsed)
        if found is not None:
            self._take(found)
            log.warning("tenant_issuers.renewed tenants=%s", self._tenants())

    async def close(self) -> None:
        await self._closing.close()
        await asyncio.gather(*(keys.close() for _, keys in self._issuers.values()))

    def _parsed(
        self, content: bytes, *, keys_may_come: bool = True
    ) -> dict[str, tuple[TenantIssuer, KeySet]]:
        """The issuers with their keys; those that were there go on. Raises InvalidValue.

        Keys of one tenant that cannot be read keep out that tenant, and hold up no other: what was
        taken from a tenant is taken at once.
        """
        found = {}
        for one in read_issuers(content):
            for role in self._own:
                if role.rpartition("@")[1:] == ("@", one.tenant):
                    raise InvalidValue(
                        f"{SETTING}: the role {role} of the broker's settings is one that the "
                        f"issuer of {one.tenant} gives: take it out of superUserRoles, proxyRoles "
                        "and anonymousUserRole"
                    )
            known = self._issuers.get(one.issuer)
            if known is not None and known[0].keys == one.keys:
                found[one.issuer] = one, known[1]
            else:
                setting = f"{SETTING}, keys of {one.tenant}"
                found[one.issuer] = (
                    one,
                    KeySet(one.keys, self._clock, setting=setting, may_come=keys_may_come),
                )
        return found

    def _take(self, found: dict[str, tuple[TenantIssuer, KeySet]]) -> None:
        kept = {keys for _, keys in found.values()}
        for _, keys in self._issuers.values():
            if keys not in kept:
                self._closing.spawn("keys", keys.close())
        self._issuers = found
        self.roles.replace(self._tenants())

    def _tenants(self) -> list[str]:
        return sorted(one.tenant for one, _ in self._issuers.values())


def read_issuers(content: bytes) -> list[TenantIssuer]:
    """What the file says. Raises InvalidValue."""
    try:
        read = json.loads(content, object_pairs_hook=_once)
    except ValueError as error:
        raise InvalidValue(f"{SETTING} is no JSON: {error}") from None
    if not isinstance(read, dict):
        raise InvalidValue(f'{SETTING} is an object: {{"TENANT": {{"issuer", "keys"}}}}')
    found = [_issuer(tenant, described) for tenant, described in read.items()]
    seen: set[str] = set()
    for one in found:
        if one.issuer in seen:
            raise InvalidValue(
                f"{SETTING}: {one.issuer} is the issuer of two tenants, and its tokens do not say "
                "of which: give each tenant an issuer of its own"
            )
        seen.add(one.issuer)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name stands there twice, of {sorted(found)}")
    return found


def _issuer(tenant: str, described: Any) -> TenantIssuer:
    where = f"{SETTING}, {tenant}"
    try:
        check_entity(tenant)
    except InvalidName as error:
        raise InvalidValue(f"{SETTING}: {error}") from None
    texts = isinstance(described, Mapping) and all(
        isinstance(each, str) and each.strip() for each in described.values()
    )
    if not texts or not _NEEDED <= described.keys() <= _ALLOWED:
        raise InvalidValue(
            f"{where} has the texts issuer and keys, and may have audience and roleClaim, and "
            "nothing else"
        )
    return TenantIssuer(
        tenant,
        described["issuer"],
        described["keys"],
        described.get("audience", ""),
        described.get("roleClaim", ""),
    )
