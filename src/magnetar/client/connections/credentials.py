"""What a connection shows the broker, and what becomes of it when it cannot be had."""

from magnetar.client.authentication.authentication import Authentication
from magnetar.client.authentication.basic import AuthenticationBasic
from magnetar.errors import MagnetarError, NotAuthenticated, NotReady
from magnetar.wire.requests import OnBehalf


class Credentials:
    """The client's authentication, or none."""

    method: str  # As the broker knows it.
    http_method: str  # Which form it has in HTTP.

    def __init__(
        self,
        authentication: Authentication | None = None,
        on_behalf: OnBehalf | None = None,
    ) -> None:
        """``on_behalf``: for whom a proxy asks."""
        self.on_behalf = on_behalf
        self.method = "none" if authentication is None else authentication.method
        # A user and a password under another name have the form of any in HTTP.
        self.http_method = (
            "basic" if isinstance(authentication, AuthenticationBasic) else self.method
        )
        self._authentication = authentication
        self._had = False

    async def data(self) -> bytes | None:
        """What the broker is shown; None without authentication.

        Raises NotAuthenticated when it cannot be had, but NotReady when it once could: a file that
        is being replaced, or a service that is down, must not end what worked until now.
        """
        if self._authentication is None:
            return None
        try:
            data = await self._authentication.data()
        except MagnetarError:
            raise
        except Exception as error:
            # Its text may be anything; an OSError names the file and the cause.
            why = str(error) if isinstance(error, OSError) else type(error).__name__
            kind = NotReady if self._had else NotAuthenticated
            raise kind(f"no credentials for method {self.method!r}: {why}") from error
        self._had = True
        return data

    def refusal(self, address: str, error: NotAuthenticated) -> NotAuthenticated:
        """The broker's refusal, with what was refused."""
        if self._authentication is None:
            return NotAuthenticated(
                f"{address} wants to know who connects ({error}): give the client "
                "authentication=, a command PULSAR_TOKEN or --auth-params"
            )
        return NotAuthenticated(
            f"{address} refused the credentials of {type(self._authentication).__name__}, method "
            f"{self.method!r}: {error}"
        )
