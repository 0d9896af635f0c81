"""Takes one client: who was told the secret."""

import hmac

from magnetar.errors import NotAuthenticated

from .identity import Credentials, Identity


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
