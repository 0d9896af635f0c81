"""Who a client is: its credentials are checked by the provider of their method."""

import hmac
import logging
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol

from magnetar.auth.audit import AuditLog
from magnetar.auth.identity import Credentials, Identity
from magnetar.errors import AccessError, MagnetarError, NotAuthenticated

from .tenant_roles import TenantRoles


class SharedSecretProvider:
    """A secret that a process made, and told another that it started, as a token."""

    method = "token"

    def __init__(self, secret: str, role: str) -> None:
        self._secret = secret.encode()
        self._role = role

    async def authenticate(self, credentials: Credentials) -> Identity:
        if not hmac.compare_digest(credentials.data, self._secret):
            raise NotAuthenticated("this is not for you: ask the broker")
        return Identity(self._role)

    async def close(self) -> None:
        """Nothing to close: it started nothing."""


class TlsProvider:
    """The certificates that TLS has verified."""

    method = "tls"

    async def authenticate(self, credentials: Credentials) -> Identity:
        if credentials.certificate is None:
            raise NotAuthenticated(
                "no certificate with a common name was shown: connect with TLS and a certificate "
                "of an authority that this broker trusts (tlsTrustCertsFilePath)"
            )
        return Identity(credentials.certificate)

    async def close(self) -> None:
        """Nothing to close: it started nothing."""


if TYPE_CHECKING:  # It imports jwt, which a broker that asks nobody does without.
    from .tenant_issuers import TenantIssuers

log = logging.getLogger(__name__)

NO_METHODS: Final = frozenset({"", "none"})
"""What a client calls its method when it shows nothing."""


class AuthenticationProvider(Protocol):
    """Checks the credentials of one method."""

    method: str

    async def authenticate(self, credentials: Credentials) -> Identity:
        """Who shows these. Raises NotAuthenticated, never with what was shown."""

    async def close(self) -> None:
        """End what it started."""


class Authentication:
    """The providers of a broker."""

    def __init__(
        self,
        providers: Iterable[AuthenticationProvider],
        *,
        anonymous_role: str = "",
        issuers: "TenantIssuers | None" = None,
    ) -> None:
        """``anonymous_role`` is that of clients that show nothing; "": they are refused."""
        self._issuers = issuers
        self.tenant_roles = TenantRoles() if issuers is None else issuers.roles
        self._providers = {provider.method: provider for provider in providers}
        self._anonymous_role = anonymous_role
        self.succeeded: Counter[str] = Counter()  # By method.
        self.failed: Counter[str] = Counter()
        self.audit: AuditLog | None = None  # Where it is told who was not let in.

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(self._providers)

    async def authenticate(self, credentials: Credentials) -> Identity:
        """Who shows these. Raises NotAuthenticated, which says what would be taken."""
        provider = self._providers.get(credentials.method)
        if provider is not None:
            return await self._counted(provider, credentials)
        if self._anonymous_role:
            identity = Identity(self._anonymous_role)
            self._check_issuer(identity)
            return identity
        self.failed["none"] += 1
        if credentials.method in NO_METHODS:
            raise NotAuthenticated(f"no credentials were shown: {self._remedy()}")
        raise NotAuthenticated(
            f"the method {credentials.method[:40]!r} is not taken here: {self._remedy()}"
        )

    async def _counted(
        self, provider: AuthenticationProvider, credentials: Credentials
    ) -> Identity:
        try:
            identity = await provider.authenticate(credentials)
            self._check_issuer(identity)
        except MagnetarError:
            self.failed[provider.method] += 1
            raise
        self.succeeded[provider.method] += 1
        return identity

    def note_refused(self, method: str, address: str, error: MagnetarError) -> None:
        """Log who was not let in, and why; ``address`` is without the port."""
        if not isinstance(error, AccessError):
            return
        if method not in self._providers:
            method = "another"  # What a client says there may be a credential in the wrong place.
        log.warning("authentication.refused address=%s method=%s error=%s", address, method, error)
        if self.audit is not None:
            self.audit.refused(method, address, str(error))

    def renew(self) -> None:
        """Look whether tenants have other issuers now."""
        if self._issuers is not None:
            self._issuers.renew()

    def _check_issuer(self, identity: Identity) -> None:
        """Raise NotAuthenticated for a role that another issuer has to itself, or nobody may have.

        A line end in a role would write lines of the log.
        """
        if not identity.role.isprintable():
            raise NotAuthenticated("the name of the role has characters that cannot be seen")
        tenant = self.tenant_roles.tenant_of(identity.role)
        if tenant != identity.tenant:
            raise NotAuthenticated(
                f"roles that end with @{tenant} are given by that tenant's own issuer only "
                "(tenantTokenIssuers)"
            )

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()

    def _remedy(self) -> str:
        return f"use one of the methods {', '.join(self._providers)}"
