"""Who the client of a connection is: found out before CONNECTED, and again when that ends."""

import logging
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from typing import Final, Protocol

from magnetar.auth.authentication import Authentication
from magnetar.auth.identity import Credentials
from magnetar.auth.proxies import ProxyRules
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotAuthenticated, NotAuthorized
from magnetar.late_dataclass import dataclass
from magnetar.wire.commands import CommandConnect
from magnetar.wire.handshake import challenge

log = logging.getLogger(__name__)

FAILED: Final = "Failed to authenticate"
NOT_A_PROXY: Final = "Must not set proxyVersion without connecting as a ProxyRole."


class SigningIn(Protocol):
    """The connection of a client that says who it is: a broker's session, or a proxy's."""

    address: str
    certificate: str | None
    role: str | None
    proxy_role: str | None
    protocol_version: int
    when_closed: Callable[[], None] | None

    @property
    def closed(self) -> bool: ...

    def reply(self, data: bytes) -> None: ...

    def hang_up(self, reason: str) -> None: ...


@dataclass(slots=True)
class CredentialExpiry:
    """A client whose credentials expire."""

    method: str
    expires_at_ms: int
    of_original: bool  # They are those of a proxy's client.
    renewable: bool  # The client shows new ones when it is asked.
    challenged: bool = False  # It was asked, and did not answer yet.


@dataclass(slots=True, eq=False)
class SignIn:
    """Finds out who clients are."""

    authentication: Authentication
    clock: Clock
    _: KW_ONLY
    proxies: ProxyRules
    original_credentials: bool = False  # Those that a proxy passes on are checked, too.
    _ending: dict[SigningIn, CredentialExpiry] = field(default_factory=dict, init=False)
    """Of open connections."""

    async def connect(self, session: SigningIn, command: CommandConnect) -> None:
        """Give the session its role. Raises NotAuthenticated and NotAuthorized, or NotReady."""
        shown = _shown(session, command)
        identity = own = await self.authentication.authenticate(shown)
        original = command.original_principal
        of_original = bool(original and self.original_credentials)
        if of_original:
            shown = _shown_to_proxy(command)
            identity = await self.authentication.authenticate(shown)
            original = identity.role
        principal = self.proxies.principal(own.role, original)
        if command.proxy_version and self.proxies.strict and not principal.proxy_role:
            raise NotAuthorized(NOT_A_PROXY)
        session.role, session.proxy_role = principal
        log.info(
            "connection.signed_in address=%s method=%s role=%s proxy_role=%s",
            session.address,
            shown.method,
            *principal,
        )
        if identity.expires_at_ms is not None and not session.closed:
            refreshes = command.feature_flags.supports_auth_refresh
            self._ending[session] = CredentialExpiry(
                shown.method,
                identity.expires_at_ms,
                of_original,
                renewable=refreshes and (of_original or principal.proxy_role is None),
            )
            session.when_closed = lambda: self._forget(session)

    async def answered(self, session: SigningIn, data: bytes) -> None:
        """Check what a client shows that was asked for it. Raises NotAuthenticated, NotReady."""
        ending = self._ending.get(session)
        if ending is None or not ending.challenged:
            raise NotAuthenticated("nobody asked for new credentials")
        certificate = None if ending.of_original else session.certificate
        shown = Credentials(ending.method, data, certificate)
        identity = await self.authentication.authenticate(shown)
        if identity.role != session.role:
            raise NotAuthenticated("new credentials must be of the same role")
        log.info("connection.refreshed address=%s role=%s", session.address, session.role)
        if session not in self._ending:
            return  # It is closed.
        if identity.expires_at_ms is None:
            self._forget(session)
        else:
            ending.expires_at_ms, ending.challenged = identity.expires_at_ms, False

    def note_refused(self, session: SigningIn, method: str, error: MagnetarError) -> None:
        """Log that a client was not let in, and why."""
        if not method and (ending := self._ending.get(session)) is not None:
            method = ending.method
        self.authentication.note_refused(method, session.address.rpartition(":")[0], error)

    async def keep_fresh(self, interval_s: float) -> None:
        """Ask for new credentials, for ever, where the old ones ended."""
        while True:
            await self.clock.sleep(interval_s)
            self.authentication.renew()
            now_ms = self.clock.wall_ms()
            for session, ending in list(self._ending.items()):
                if ending.expires_at_ms < now_ms:
                    self._ask(session, ending)

    def _ask(self, session: SigningIn, ending: CredentialExpiry) -> None:
        if ending.challenged:
            session.hang_up("it was asked for new credentials and showed none")
        elif not ending.renewable:
            session.hang_up("its credentials ended, and it cannot be asked for new ones")
        else:
            ending.challenged = True
            session.reply(challenge(ending.method, session.protocol_version))

    def _forget(self, session: SigningIn) -> None:
        self._ending.pop(session, None)


def _shown_to_proxy(command: CommandConnect) -> Credentials:
    """The credentials that a proxy's client showed the proxy."""
    method = command.original_auth_method or "none"
    return Credentials(method, command.original_auth_data.encode())


def _shown(session: SigningIn, command: CommandConnect) -> Credentials:
    return Credentials(_method(command), command.auth_data, session.certificate)


def _method(command: CommandConnect) -> str:
    """The name of a client's method; old ones send the number of an enumeration."""
    if command.HasField("auth_method_name") or not command.HasField("auth_method"):
        return command.auth_method_name or "none"
    return _OLD_METHODS.get(command.auth_method, "none")


_OLD_METHODS: Final = {1: "ycav1", 2: "athens"}


def failure(error: MagnetarError) -> MagnetarError:
    """The answer to a client: that authentication failed, and why."""
    if isinstance(error, NotAuthenticated):
        return NotAuthenticated(f"{FAILED}: {error}")
    return error
