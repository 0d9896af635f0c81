"""When transactions time out: one timer for all coordinators of a broker.

It runs only while there are transactions, and looks at those whose time may be over.
"""

from collections.abc import Callable
from typing import Final

from magnetar.clock import Clock
from magnetar.model.timer_wheel import TimerWheel
from magnetar.model.txn_id import TxnId
from magnetar.tasks import Tasks

_PAUSE_MIN_S: Final = 0.001
TICK_S: Final = 0.1
"""A transaction is aborted at most so long after its time is over."""


class Timeouts:
    """The transactions that are open, and until when."""

    def __init__(self, clock: Clock, tasks: Tasks, expired: Callable[[TxnId], None]) -> None:
        """``expired`` is called when the time of a transaction is over."""
        self._clock = clock
        self._tasks = tasks
        self._expired = expired
        self._wheel: TimerWheel[TxnId] = TimerWheel()
        self._running = False

    def add(self, txn_id: TxnId, in_s: float) -> None:
        """Let the time of a transaction be over in so many seconds."""
        self._wheel.add([txn_id], self._clock.now() + in_s, TICK_S)
        if not self._running:
            self._running = True
            self._tasks.spawn("transaction timeouts", self._run())

    def discard(self, txn_id: TxnId) -> None:
        """Forget a transaction that ends in time; one that is not there is fine."""
        self._wheel.discard(txn_id)

    async def _run(self) -> None:
        while self._wheel.entries:
            left_s = (self._wheel.first or 0.0) - self._clock.now()
            await self._clock.sleep(min(max(left_s, _PAUSE_MIN_S), TICK_S))
            for txn_id in self._wheel.take(self._clock.now()):
                self._expired(txn_id)
        self._running = False
