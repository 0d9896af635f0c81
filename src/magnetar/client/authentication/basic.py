"""Authentication by user name and password."""

from magnetar.checks import check_text
from magnetar.errors import InvalidValue


class AuthenticationBasic:
    """Shows the broker a user name and a password."""

    def __init__(self, username: str, password: str, *, method: str = "basic") -> None:
        """``method`` is for brokers that know it under another name. Raises InvalidValue."""
        for name, value in (("username", username), ("password", password), ("method", method)):
            check_text(name, value)
        if not username or ":" in username:
            raise InvalidValue("username may not be empty, and may have no colon in it")
        self.method = method
        self._username = username
        self._password = password

    async def data(self) -> bytes:
        return f"{self._username}:{self._password}".encode()

    def __repr__(self) -> str:
        return f"AuthenticationBasic({self._username!r}, '...')"
