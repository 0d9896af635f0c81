"""Calls the callbacks of an application, one after the other, in a thread of their own.

They may block and may call the client: its event loop is another thread.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

log = logging.getLogger(__name__)

END_S: Final = 1.0

Job = tuple[Callable[..., object], tuple[Any, ...]]


class Callbacks:
    """The thread of one client, which starts with the first callback and ends with the client.

    What waits is bounded by the messages without a receipt, which each producer limits.
    """

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._caller: _Caller | None = None

    @property
    def current(self) -> bool:
        """Whether this is a callback."""
        return self._caller is not None and self._caller.thread is threading.current_thread()

    def put(self, callback: Callable[..., object], *arguments: object) -> None:
        """Have it called after those before it. Never waits."""
        with self._lock:
            if self._caller is None:
                self._caller = _Caller()
            self._caller.put((callback, arguments))

    def drain(self) -> None:
        """Return when those before have been called; in one of them, at once."""
        if not self.current:
            drained = threading.Event()
            self.put(drained.set)
            drained.wait()

    def close(self) -> None:
        """End the thread behind what waits; a later callback starts another.

        Waits END_S seconds for it at most: a callback may wait for who closes.
        """
        with self._lock:
            caller, self._caller = self._caller, None
        if caller is not None:
            caller.put(None)
            if caller.thread is not threading.current_thread():
                caller.thread.join(END_S)


class _Caller:
    """One thread. It is woken once for all that comes while it does not wait."""

    def __init__(self) -> None:
        self._jobs: deque[Job | None] = deque()
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._woken = False
        self.thread: Final = threading.Thread(
            target=self._run, name="magnetar-callbacks", daemon=True
        )
        self.thread.start()

    def put(self, job: Job | None) -> None:
        """None ends the thread."""
        self._jobs.append(job)
        if not self._woken:
            self._woken = True
            self._wake.put(None)

    def _run(self) -> None:
        while True:
            self._wake.get()
            self._woken = False  # What comes from here on wakes it again.
            while self._jobs:
                job = self._jobs.popleft()
                if job is None:
                    return
                callback, arguments = job
                try:
                    callback(*arguments)
                except Exception:
                    log.exception("callback.failed")
