"""What ``create_producer``, ``subscribe`` and ``create_reader`` return: to await, or to enter.

producer = await client.create_producer("orders")

async with client.create_producer("orders") as producer:  # It is closed at the end.
    ...
"""

from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from types import TracebackType
from typing import Any, Never, ParamSpec, Protocol, Self, TypeVar

from magnetar.errors import NotAllowed


class Closable(Protocol):
    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: object, raised: BaseException | None, trace: object, /
    ) -> None: ...


P = ParamSpec("P")
C = TypeVar("C", bound=Closable)


class Opening(Coroutine[Any, None, C]):
    """A coroutine that brings something to close, and a context manager that closes it."""

    __slots__ = ("_coroutine", "_opened")

    def __init__(self, coroutine: Coroutine[Any, Any, C]) -> None:
        self._coroutine = coroutine
        self._opened: C | None = None

    async def __aenter__(self) -> C:
        self._opened = await self._coroutine
        return await self._opened.__aenter__()

    async def __aexit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        assert self._opened is not None
        await self._opened.__aexit__(kind, raised, trace)

    def __await__(self) -> Generator[Any, Any, C]:
        return self._coroutine.__await__()

    def send(self, value: None, /, **details: Never) -> Any:
        """Run the coroutine: for event loops. A message is sent by what it brings."""
        if value is not None:
            raise NotAllowed("nothing can be sent yet: await the call that makes the producer")
        return self._coroutine.send(value)

    def throw(
        self,
        kind: Any,
        value: BaseException | object = None,
        traceback: TracebackType | None = None,
    ) -> Any:
        return self._coroutine.throw(kind, value, traceback)

    def close(self) -> None:
        self._coroutine.close()


def opening(make: Callable[P, Coroutine[Any, Any, C]]) -> Callable[P, Opening[C]]:
    """Let what a method makes be entered by ``async with`` without an ``await`` of its own."""

    @wraps(make)
    def begin(*args: P.args, **kwargs: P.kwargs) -> Opening[C]:
        return Opening(make(*args, **kwargs))

    return begin
