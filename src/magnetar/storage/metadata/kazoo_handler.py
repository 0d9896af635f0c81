"""How kazoo waits for its socket, and tells of answers and changes.

kazoo's own handler makes an epoll object for each wait, of which a request has five, and hands each
answer to a thread of its own first: half of what a request took, all of it with the interpreter's
lock that the broker's loop waits for. It also has a byte in a socket for each request that waits to
be sent: some 280 fill it, and then who asks waits for the one thread that empties it, which may be
itself. And its changes go through another thread than its answers, so that an answer may be told
before a change that the server told first; who has taken a lease would not know of all that was
written before.
"""

import select
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler
from kazoo.protocol.states import Callback

_OVER: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL  # The next call says why.
_READABLE: Final = select.POLLIN | _OVER
_WRITABLE: Final = select.POLLOUT | _OVER


class PollingHandler(SequentialThreadingHandler):  # type: ignore[misc] # kazoo has no types
    """Waits by one ``poll``.

    Answers and changes are told in the thread that read them, in their order; it must not wait.
    """

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

    def dispatch_callback(self, callback: Callback) -> None:
        callback.func(*callback.args)

    def create_socket_pair(self) -> tuple["_Wakes", "_Wakes"]:
        wakes = _Wakes()
        return wakes, wakes

    def async_result(self) -> AsyncResult:
        return _Told(self)


class _Told(AsyncResult):  # type: ignore[misc] # as above
    def _do_callbacks(self) -> None:
        callback: Callable[[AsyncResult], object]
        for callback in self._callbacks:
            callback(self)


class _Wakes:
    """Both ends of what wakes kazoo's thread: one byte while any request waits, however many."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = 0
        self._reader, self._writer = socket.socketpair()

    def fileno(self) -> int:
        return self._reader.fileno()

    def send(self, byte: bytes) -> int:
        """Count a request. Raises OSError after ``close``."""
        with self._lock:
            if self._waiting == 0:
                self._writer.send(byte)
            self._waiting += 1
        return 1

    def recv(self, _count: int) -> bytes:
        """Take a request off the count, which is above zero. Raises OSError after ``close``."""
        with self._lock:
            self._waiting -= 1
            return b"\0" if self._waiting else self._reader.recv(1)

    def close(self) -> None:
        with self._lock:
            self._waiting = 0
            self._reader.close()
            self._writer.close()
