"""Waiting for what tells this process nothing: the state of another thread or process.

The only place in the tests that looks again after a while. Whoever calls it says what cannot be
awaited; where a log line, an answer or the event loop tells, wait for that instead.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

GIVE_UP_S = 20.0
PAUSE_S = 0.005


class _Deadline:
    def __init__(self, untold: str, timeout_s: float) -> None:
        self._untold, self._timeout_s = untold, timeout_s
        self._at = time.monotonic() + timeout_s

    def check(self, seen: object) -> None:
        assert time.monotonic() < self._at, (
            f"{self._untold}: not within {self._timeout_s:g} s, it is {seen!r}"
        )


def wait_until(
    look: Callable[[], T],
    untold: str,
    *,
    met: Callable[[T], object] = bool,
    timeout_s: float = GIVE_UP_S,
    pause_s: float = PAUSE_S,
) -> T:
    """What ``look`` shows once that is ``met``. ``untold`` says what nobody tells of."""
    deadline = _Deadline(untold, timeout_s)
    while not met(seen := look()):
        deadline.check(seen)
        time.sleep(pause_s)
    return seen


async def until_elsewhere(look: Callable[[], T], untold: str, *, timeout_s: float = GIVE_UP_S) -> T:
    """The same in a coroutine: the loop goes on meanwhile."""
    deadline = _Deadline(untold, timeout_s)
    while not (seen := look()):
        deadline.check(seen)
        await asyncio.sleep(PAUSE_S)
    return seen
