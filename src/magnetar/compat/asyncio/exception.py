"""What the calls of ``pulsar.asyncio`` raise, made of our errors."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from magnetar.compat.enums import Result
from magnetar.compat.errors import result_of
from magnetar.errors import MagnetarError

P = ParamSpec("P")
T = TypeVar("T")


class PulsarException(Exception):
    """What every call here raises: ``error()`` says what went wrong."""

    def __init__(self, result: Result, msg: str | None = None) -> None:
        self._result = result
        self._msg = msg

    def error(self) -> Result:
        return self._result

    def __str__(self) -> str:
        text = f"{self._result.value} {self._result.name}"
        return f"{text}: {self._msg}" if self._msg else text


def raises_theirs(
    function: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a coroutine that calls our client raise the exception of ``pulsar.asyncio``."""

    @wraps(function)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await function(*args, **kwargs)
        except MagnetarError as error:
            raise PulsarException(result_of(error), str(error)) from error

    return wrapper
