"""What is done at the end of an iteration of the event loop, once for all that arrived in it.

Bytes of many connections arrive in one iteration. What they lead to waits until all were read:
then each topic appends once, the log is handed over once, and each connection is written to once.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import IntEnum
from weakref import WeakKeyDictionary

log = logging.getLogger(__name__)


class Stage(IntEnum):
    """In what order things are done at the end of an iteration."""

    APPEND = 0
    """Topics append what was published to them."""
    LOG = 1
    """The log is handed to its thread, which need not wait for the rest."""
    SEND = 2
    """Connections write what they have for their clients."""


class LoopIteration:
    """The iteration of the running loop that is under way."""

    def __init__(self) -> None:
        # Not the loop itself: ``_iterations`` would keep it for ever.
        self._stages: list[list[Callable[[], None]]] = [[] for _ in Stage]
        self._will_end = False  # Somebody sees to it: the loop, or ``run``.

    def at_end(self, stage: Stage, work: Callable[[], None]) -> None:
        """Do ``work`` at the end of this iteration. A failure is logged, and stops nothing else.

        What the work of a stage brings to that stage, or to one before, waits for the next one, so
        that the loop looks at its connections in between.
        """
        if not self._will_end:
            self._will_end = True
            asyncio.get_running_loop().call_soon(self._over)
        self._stages[stage].append(work)

    def run(self, work: Callable[[], None]) -> None:
        """Do ``work``, and end the iteration with it: nothing more is expected to arrive."""
        will_end, self._will_end = self._will_end, True
        work()
        self._end()
        if not will_end:
            self._renew()

    def _over(self) -> None:
        self._end()
        self._renew()

    def _end(self) -> None:
        for stage in Stage:
            waiting, self._stages[stage] = self._stages[stage], []
            for work in waiting:
                try:
                    work()
                except Exception:
                    log.exception("loop_iteration.defect work=%r", work)

    def _renew(self) -> None:
        self._will_end = any(self._stages)
        if self._will_end:
            asyncio.get_running_loop().call_soon(self._over)


_iterations: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopIteration] = WeakKeyDictionary()


def this_iteration() -> LoopIteration:
    """The iteration of the running loop, as ``asyncio.get_running_loop`` is the loop."""
    loop = asyncio.get_running_loop()
    iteration = _iterations.get(loop)
    if iteration is None:
        iteration = _iterations[loop] = LoopIteration()
    return iteration
