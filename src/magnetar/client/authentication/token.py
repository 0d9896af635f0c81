"""Authentication by a token, as a JSON web token."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from pathlib import Path
from typing import cast

from magnetar.errors import InvalidValue, NotAuthenticated

TokenSource = Callable[[], str] | Callable[[], Awaitable[str]]


class AuthenticationToken:
    """Shows the broker a token. Where it comes from is asked again at every connection."""

    method = "token"

    def __init__(self, token: str | TokenSource | None = None, *, file: str | None = None) -> None:
        """``token`` is the token itself, or a function that returns it; or ``file`` holds it.

        A function that is not ``async`` runs in a thread, so it may wait. Raises InvalidValue.
        """
        if (token is None) == (file is None):
            raise InvalidValue("give either the token, or a function that returns it, or its file")
        if token is not None and not isinstance(token, str) and not callable(token):
            raise InvalidValue(
                f"token must be str or a function, not {type(token).__name__}: decode it"
            )
        self._source: str | TokenSource = _reader(file) if token is None else token
        self._file = file

    async def data(self) -> bytes:
        """The token. Raises NotAuthenticated when it is empty, and what its source raises."""
        token: object = self._source
        if not isinstance(self._source, str):
            token = await _called(self._source)
        if not isinstance(token, str):
            raise NotAuthenticated(f"the token is no str but {type(token).__name__}: decode it")
        if not token.strip():
            raise NotAuthenticated(f"the token{self._place()} is empty")
        return token.strip().encode()

    def __repr__(self) -> str:
        return f"AuthenticationToken({f'file={self._file!r}' if self._file else '...'})"

    def _place(self) -> str:
        return f" in {self._file}" if self._file else ""


def _reader(file: str | None) -> Callable[[], str]:
    return Path(str(file)).read_text


async def _called(source: TokenSource) -> object:
    if asyncio.iscoroutinefunction(source):
        return await source()
    token = await asyncio.to_thread(cast("Callable[[], object]", source))
    return await token if isawaitable(token) else token
