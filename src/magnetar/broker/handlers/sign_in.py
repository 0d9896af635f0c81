"""Who the client of a connection is: found out before CONNECTED, and again when that ends."""

import logging
from typing import Final

from magnetar.broker.auth.authentication import Authentication, Credentials, Identity
from magnetar.broker.auth.proxies import ProxyRules
from magnetar.broker.session import Session
from magnetar.clock import Clock
from magnetar.errors import NotAuthenticated, NotAuthorized
from magnetar.wire.commands import CommandConnect

log = logging.getLogger(__name__)

FAILED: Final = "Failed to authenticate"
NOT_A_PROXY: Final = "Must not set proxyVersion without connecting as a ProxyRole."


class SignIn:
    """Finds out who clients are."""

    def __init__(
        self,
        authentication: Authentication,
        clock: Clock,
        *,
        proxies: ProxyRules,
        original_credentials: bool = False,
    ) -> None:
        """``original_credentials``: those that a proxy passes on are checked, too."""
        self._authentication = authentication
        self._clock = clock
        self._proxies = proxies
        self._original_credentials = original_credentials

    async def connect(self, session: Session, command: CommandConnect) -> None:
        """Give the session its role. Raises NotAuthenticated and NotAuthorized."""
        own = await self._authentication.authenticate(_shown(session, command))
        original = command.original_principal
        if original and self._original_credentials:
            original = (await self._original(command)).role
        principal = self._proxies.principal(own.role, original)
        if command.proxy_version and self._proxies.strict and not principal.proxy_role:
            raise NotAuthorized(NOT_A_PROXY)
        session.role, session.proxy_role = principal

    async def _original(self, command: CommandConnect) -> Identity:
        shown = Credentials(
            command.original_auth_method or "none", command.original_auth_data.encode()
        )
        return await self._authentication.authenticate(shown)


def _shown(session: Session, command: CommandConnect) -> Credentials:
    return Credentials(_method(command), command.auth_data, session.certificate)


def _method(command: CommandConnect) -> str:
    """The name of a client's method; old ones send the number of an enumeration."""
    if command.HasField("auth_method_name") or not command.HasField("auth_method"):
        return command.auth_method_name or "none"
    return _OLD_METHODS.get(command.auth_method, "none")


_OLD_METHODS: Final = {1: "ycav1", 2: "athens"}


def failure(error: NotAuthenticated | NotAuthorized) -> NotAuthenticated | NotAuthorized:
    """What a client is told: that it failed, and why."""
    if isinstance(error, NotAuthorized):
        return error
    return NotAuthenticated(f"{FAILED}: {error}")
