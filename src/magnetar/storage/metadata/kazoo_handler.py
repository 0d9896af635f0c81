"""How kazoo waits for its socket, and tells of answers.

kazoo's own handler makes an epoll object for each wait, of which a request has five, and hands each
answer to a thread of its own first: half of what a request took, all of it with the interpreter's
lock that the broker's loop waits for.
"""

import select
from collections.abc import Callable, Iterable
from typing import Any, Final

from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler

_OVER: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL  # The next call says why.
_READABLE: Final = select.POLLIN | _OVER
_WRITABLE: Final = select.POLLOUT | _OVER


class PollingHandler(SequentialThreadingHandler):  # type: ignore[misc] # kazoo has no types
    """Waits by one ``poll``; answers are told in the thread that read them, which must not wait."""

    def select(
        self,
        rlist: Iterable[Any],
        wlist: Iterable[Any],
        xlist: Iterable[Any],
        timeout: float | None = None,
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """As ``select.select`` without its limit on file descriptors."""
        readers = {each.fileno(): each for each in rlist}
        writers = {each.fileno(): each for each in wlist}
        poll = select.poll()
        for fileno in readers.keys() | writers.keys():
            read = select.POLLIN if fileno in readers else 0
            poll.register(fileno, read | (select.POLLOUT if fileno in writers else 0))
        ready = poll.poll(None if timeout is None else timeout * 1000)
        return (
            [readers[fileno] for fileno, event in ready if event & _READABLE and fileno in readers],
            [writers[fileno] for fileno, event in ready if event & _WRITABLE and fileno in writers],
            [],
        )

    def async_result(self) -> AsyncResult:
        return _Told(self)


class _Told(AsyncResult):  # type: ignore[misc] # as above
    def _do_callbacks(self) -> None:
        callback: Callable[[AsyncResult], object]
        for callback in self._callbacks:
            callback(self)
