"""The threads of a run: watched by the main thread, and with one fate."""

import threading
from collections.abc import Callable

_STOP_TIMEOUT_S = 30.0
_TICK_S = 0.1


class Interrupted(Exception):
    """Somebody asked for the end before the work was done."""


class Crew:
    """Some threads: when one fails, or somebody asks, all are to stop.

    A thread's work waits with ``wait_for``, or looks at ``stopping`` by itself.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.interrupted = False
        self._threads: list[threading.Thread] = []
        self._failure: BaseException | None = None

    def start(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def interrupt(self) -> None:
        """Ask all to stop. May be called from a signal handler."""
        self.interrupted = True
        self.stopping.set()

    def fail(self, error: BaseException) -> None:
        """All are to stop, and this is why; what goes wrong from now on is of no interest."""
        if not self.stopping.is_set():
            self._failure = error
            self.stopping.set()

    def wait_for(self, event: threading.Event) -> bool:
        """For a thread: wait until ``event`` is set; False when it is time to stop instead."""
        while not event.wait(_TICK_S):
            if self.stopping.is_set():
                return False
        return True

    def watch(self, tick: Callable[[], None]) -> None:
        """Call ``tick`` ten times a second until all have ended, or are to stop."""
        while not self.stopping.is_set() and any(thread.is_alive() for thread in self._threads):
            tick()
            self.stopping.wait(_TICK_S)

    def join(self) -> None:
        """Wait until all have ended; those that are to stop get half a minute.

        Raises why they were to stop: the failure of a thread, or Interrupted.
        """
        for thread in self._threads:
            thread.join(_STOP_TIMEOUT_S if self.stopping.is_set() else None)
        if self._failure is not None:
            raise self._failure
        if self.interrupted:
            raise Interrupted

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which raises it
            self.fail(error)
