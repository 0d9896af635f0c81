"""What every method of authentication has."""

from typing import Protocol, runtime_checkable


@runtime_checkable
class Authentication(Protocol):
    """Who the client says it is. Any object with these two may be given to a client.

    Neither its ``repr`` nor the text of an exception may show what is secret.
    """

    @property
    def method(self) -> str:
        """The name under which brokers know the method: ``token``, ``basic``, ``tls``, ..."""

    async def data(self) -> bytes:
        """What proves it to the broker, as it is now.

        It is asked for at every connection, and when the broker wants new credentials on an open
        one. NotAuthenticated says that there are none; after any other error the client asks again.
        """
