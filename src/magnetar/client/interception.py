"""Calling an application's interceptors, whose errors never stop a message."""

import logging
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

log = logging.getLogger(__name__)
I = TypeVar("I")  # noqa: E741
V = TypeVar("V")


class Interception(Generic[I]):
    """The interceptors of one producer or consumer, in their order."""

    def __init__(self, interceptors: Sequence[I], owner: str) -> None:
        self._interceptors = interceptors
        self._owner = owner

    def tell(self, call: Callable[[I], None]) -> None:
        for each in self._interceptors:
            try:
                call(each)
            except Exception:
                log.exception("interceptor.failed owner=%s interceptor=%r", self._owner, each)

    def change(self, value: V, call: Callable[[I, V], V]) -> V:
        """Hand a value from one to the next; where one of them fails it goes on as it was."""
        for each in self._interceptors:
            try:
                changed = call(each, value)
                if not isinstance(changed, type(value)):
                    raise TypeError(f"it returned {changed!r}")  # noqa: TRY301
                value = changed
            except Exception:
                log.exception("interceptor.failed owner=%s interceptor=%r", self._owner, each)
        return value
