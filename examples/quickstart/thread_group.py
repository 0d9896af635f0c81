"""The threads of a run: when one of them fails, or is asked to stop, all of them stop."""

import threading
from collections.abc import Callable

_STOP_TIMEOUT_S = 30.0
_TICK_S = 0.1


class Stopped(Exception):
    """Ends the work of a thread that is to stop before it is done."""


class ThreadGroup:
    """Threads that the main thread starts and watches."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failure: BaseException | None = None

    def start(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def wait(self, event: threading.Event) -> None:
        """For a thread: wait until ``event`` is set. Raises Stopped."""
        while not event.wait(_TICK_S):
            self.check()

    def check(self) -> None:
        """For a thread: raises Stopped when it is to stop."""
        self.pause(0)

    def pause(self, seconds: float) -> None:
        """For a thread: wait for ``seconds``. Raises Stopped."""
        if self.stopping.wait(seconds):
            raise Stopped

    def fail(self, error: BaseException) -> None:
        """All threads are to stop, and this is why, unless they were to stop already."""
        if not self.stopping.is_set():
            self._failure = error
            self.stopping.set()

    @property
    def working(self) -> bool:
        """Whether a thread has not ended yet."""
        return any(thread.is_alive() for thread in self._threads)

    def watch(self, tick: Callable[[], None]) -> None:
        """Call ``tick`` ten times a second until all have ended, or are to stop."""
        while self.working and not self.stopping.is_set():
            tick()
            self.stopping.wait(_TICK_S)

    def join(self) -> None:
        """Wait until all have ended; those that are to stop get half a minute.

        Raises the first failure of a thread.
        """
        for thread in self._threads:
            thread.join(_STOP_TIMEOUT_S if self.stopping.is_set() else None)
        if self._failure is not None:
            raise self._failure

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self.fail(error)
