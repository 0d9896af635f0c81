"""The future of a message that a thread submitted: Python's own, but cheap while nobody waits."""

import os
import threading
from concurrent.futures import Future, InvalidStateError
from concurrent.futures._base import FINISHED, RUNNING
from typing import Any

from magnetar.model.position import MessageId


class SendFuture(Future[MessageId]):
    """Brings what ``send`` returns or raises. It runs from the beginning, so it is not cancelled.

    Python makes a lock, a condition and two lists for each future, which costs several times what
    sending a message does. Here they are made when they are first asked for: by who waits, adds a
    callback or looks at more than whether it is done. Invariant: whoever finds none while holding
    ``_making`` may settle it, and is seen by all who make some afterwards.
    """

    _state = RUNNING
    _result: Any = None
    _exception: BaseException | None = None
    _done_callbacks: Any = ()
    _made: threading.Condition | None = None

    def __init__(self) -> None:
        """Make nothing."""

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        """What every method of Python's holds."""
        if self._made is None:
            with _making:
                if self._made is None:
                    self._waiters: list[Any] = []
                    self._done_callbacks = []
                    self._made = threading.Condition()
        return self._made

    def done(self) -> bool:
        return self._state == FINISHED

    def result(self, timeout: float | None = None) -> MessageId:
        if self._state == FINISHED and self._exception is None:
            found: MessageId = self._result
            return found
        return super().result(timeout)

    def set_result(self, result: MessageId) -> None:
        with _making:
            if self._made is None:
                self._check_running()
                self._result, self._state = result, FINISHED  # In this order, for ``result``.
                return
        super().set_result(result)

    def set_exception(self, exception: BaseException | None) -> None:
        with _making:
            if self._made is None:
                self._check_running()
                self._exception, self._state = exception, FINISHED
                return
        super().set_exception(exception)

    def _check_running(self) -> None:
        if self._state != RUNNING:
            raise InvalidStateError(f"{self._state}: {self!r}")


_making = threading.RLock()  # A handler of signals may ask in between.


def _after_fork() -> None:
    """Begin anew in the child: the lock may be held by a thread that only the parent has."""
    global _making  # noqa: PLW0603 - one for all is the point.
    _making = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
