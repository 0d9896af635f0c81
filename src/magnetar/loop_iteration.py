"""What is done at the end of an iteration of the event loop, once for all that arrived in it.

A message passes through two iterations. In the first it is read, as are those of other
connections, and waits in its topic. At the end of it, in the order of ``Phase``, each topic appends
once, the log is handed over once, and each connection is written to once.

The second one begins when the log answers (``run``). Each topic then

1. appends what was published to it meanwhile, so that the log is not idle for longer than it must
   (what is much it appended before: then the log's thread need not wait for this iteration);
2. answers the producers of what was stored;
3. dispatches, for an entry is not delivered before its producer could know that it is stored;

and the phases follow: the log gets what was appended, the clients their receipts and messages.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import IntEnum

log = logging.getLogger(__name__)


class Phase(IntEnum):
    """What is done at the end of an iteration, in this order."""

    APPEND = 0
    """Topics append what was published to them."""
    LOG = 1
    """The log is handed to its thread, which need not wait for the rest."""
    SEND = 2
    """Connections write what they have for their clients."""


class LoopIteration:
    """The iteration of an event loop that is under way: one object for each loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._phases: list[list[Callable[[], None]]] = [[] for _ in Phase]
        self._will_end = False  # The loop, or ``run``, is going to call ``_end``.

    def at_end(self, phase: Phase, work: Callable[[], None]) -> None:
        """Do ``work`` at the end of this iteration. A failure is logged, and stops nothing else.

        What the work of a phase brings to that phase, or to one before, waits for the next
        iteration, so that the loop looks at its connections in between.
        """
        if not self._will_end:
            self._will_end = True
            self._loop.call_soon(self._over)
        self._phases[phase].append(work)

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
        for phase, waiting in enumerate(self._phases):
            if not waiting:
                continue
            self._phases[phase] = []
            for work in waiting:
                try:
                    work()
                except Exception:
                    log.exception("loop_iteration.defect work=%r", work)

    def _renew(self) -> None:
        self._will_end = any(self._phases)
        if self._will_end:
            self._loop.call_soon(self._over)
