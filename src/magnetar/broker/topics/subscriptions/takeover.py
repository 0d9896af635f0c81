"""From one active consumer to the next: who waits, who hears of it, and when it is served."""

from collections.abc import Callable

from magnetar.broker.dispatch.single import Single
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.callbacks import unheard
from magnetar.clock import Clock
from magnetar.tasks import Tasks


class Takeover:
    """Watches who is elected the active consumer, and has it served.

    ``served`` is called when it is. ``delay_s`` is how long a new one waits for acknowledgements of
    the one before it; then all consumers hear who is active. None: it is served at once, and nobody
    hears (Exclusive).
    """

    def __init__(
        self,
        single: Single[Consumer],
        *,
        served: Callable[[], None],
        delay_s: float | None,
        tasks: Tasks,
        clock: Clock,
    ) -> None:
        self._single = single
        self._served = served
        self._delay_s = delay_s
        self._tasks = tasks
        self._clock = clock
        self._active: Consumer | None = None
        self._count = 0  # Of takeovers: a later one ends the wait of an earlier one.

    def joined(self, consumer: Consumer) -> None:
        """A consumer came; it hears at once that another one is active."""
        if not self.elected() and self._delay_s is not None:
            consumer.connection.send_active_change(consumer.consumer_id, active=False)

    def close(self) -> None:
        """Stop: no consumer is served any more."""
        self._count += 1
        self._served = unheard

    def elected(self) -> bool:
        """A consumer came or went. True: another one is active now."""
        active = self._single.active
        if active is self._active:
            return False
        self._active = active
        self._count += 1
        if active is not None:
            if self._delay_s is None:
                self._serve()
            else:
                self._tasks.spawn("takeover", self._serve_later(self._delay_s, self._count))
        return True

    async def _serve_later(self, delay_s: float, count: int) -> None:
        await self._clock.sleep(delay_s)
        if count == self._count:
            for each in self._single.consumers:
                each.connection.send_active_change(each.consumer_id, active=each is self._active)
            self._serve()

    def _serve(self) -> None:
        self._single.serve()
        self._served()
