"""A thread that calls listeners, one after the other."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Final

END_S: Final = 1.0  # How long an end waits for a thread that calls nothing.

Job = tuple[Callable[..., object], tuple[Any, ...], Future[None]]


class ListenerThread:
    """A daemon, so that a listener which never returns does not keep a process from its end."""

    def __init__(self, name: str) -> None:
        # Invariant: one message of each consumer at most, since the next waits for its end.
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._calling = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def call(self, listener: Callable[..., object], *arguments: object) -> None:
        """Call a listener, and return when it has. Raises what it raises."""
        done: Future[None] = Future()
        self._jobs.put((listener, arguments, done))
        await asyncio.wrap_future(done)

    def end(self) -> bool:
        """Take no more; what was asked for before is still called. Whether it has ended."""
        self._jobs.put(None)
        if not self._calling:
            self._thread.join(END_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._calling = True
            listener, arguments, done = job
            if done.set_running_or_notify_cancel():
                try:
                    listener(*arguments)
                except Exception as error:  # noqa: BLE001 - the waiter gets it.
                    done.set_exception(error)
                except BaseException as error:  # noqa: BLE001 - SystemExit must not end the loop.
                    done.set_exception(RuntimeError(f"the listener raised {error!r}"))
                else:
                    done.set_result(None)
            del job, listener, arguments, done
            self._calling = False
