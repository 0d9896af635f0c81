"""Calls the callbacks of an application, one after the other, in a thread of their own.

They may block and may call the client: its event loop is another thread.
"""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

log = logging.getLogger(__name__)

Waiting = SimpleQueue[Callable[[], object] | None]


class Callbacks:
    """The thread of one client, which starts with the first callback and ends with the client.

    What waits is bounded by the messages without a receipt, which each producer limits.
    """

    def __init__(self) -> None:
        self._waiting: Waiting = SimpleQueue()
        self._lock: Final = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def current(self) -> bool:
        """Whether this is a callback."""
        return threading.current_thread() is self._thread

    def put(self, callback: Callable[[], object]) -> None:
        """Have it called after those before it. Never waits."""
        with self._lock:
            self._waiting.put(callback)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_call, args=(self._waiting,), name="magnetar-callbacks", daemon=True
                )
                self._thread.start()

    def drain(self) -> None:
        """Return when those before have been called; in one of them, at once."""
        if not self.current:
            drained = threading.Event()
            self.put(drained.set)
            drained.wait()

    def close(self) -> None:
        """End the thread behind what waits; a later callback starts another."""
        with self._lock:
            if self._thread is not None:
                self._waiting.put(None)
                self._waiting, self._thread = SimpleQueue(), None


def _call(waiting: Waiting) -> None:
    while (callback := waiting.get()) is not None:
        try:
            callback()
        except Exception:
            log.exception("callback.failed")
