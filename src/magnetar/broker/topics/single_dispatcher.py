"""Exclusive and Failover: one active consumer gets everything, in order."""

import asyncio
from collections.abc import Callable, Sequence

from magnetar.broker.dispatch.shared import fitting
from magnetar.broker.topics.consumer import Consumer
from magnetar.broker.topics.dispatcher import ack_sets_of, read_failed
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.weighing import messages_in, weigh
from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.model.policies import Policies
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks


class SingleDispatcher:
    """Serves the active consumer; the others stand by.

    ``announce`` is True for Failover: consumers hear who is active, and a takeover waits
    ``failover_delay_s`` for the old consumer's acknowledgements.
    """

    def __init__(
        self,
        cursor: Cursor,
        *,
        elect: Callable[[Sequence[Consumer]], Consumer],
        announce: bool,
        settings: TopicSettings,
        tasks: Tasks,
        clock: Clock,
    ) -> None:
        self._cursor = cursor
        self._elect = elect
        self._announce = announce
        self._settings = settings
        self._tasks = tasks
        self._clock = clock
        self._consumers: list[Consumer] = []
        self._active: Consumer | None = None
        self._serving = False  # False while a takeover waits, and when nobody is there.
        self._reading: asyncio.Task[None] | None = None
        self._turn_running = False
        self._messages_per_entry = 1.0
        self._term = 0  # Counts rewinds: what was read in an earlier term is dropped.

    @property
    def active(self) -> Consumer | None:
        return self._active

    def join(self, consumer: Consumer) -> None:
        self._consumers.append(consumer)
        if not self._take_over() and self._announce:
            consumer.outlet.send_active_change(consumer.consumer_id, active=False)

    def leave(self, consumer: Consumer) -> None:
        self._consumers.remove(consumer)
        self._take_over()

    def flowed(self, consumer: Consumer) -> None:
        if consumer is self._active:
            self.wake()

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Nothing is held per consumer: the cursor knows it all."""

    def acknowledged_part(self, consumer: Consumer, position: Position, pending: int) -> None:
        """Nothing is held per consumer: the cursor knows it all."""

    def redeliver(self, consumer: Consumer, positions: Sequence[Position] | None) -> None:
        """The whole stream again, from the mark; only the active consumer may ask."""
        if consumer is self._active and self._serving:
            self._rewind()
            self.wake()

    def apply(self, policies: Policies) -> None:
        """No limit is about who gets everything."""

    def close(self) -> None:
        self._serving = False
        self._term += 1
        if self._reading is not None:
            # It would move the cursor on, which may be another dispatcher's from now on.
            self._reading.cancel()

    def wake(self) -> None:
        if self._reading is not None or self._turn_running:
            return
        self._turn_running = True
        try:
            self._turn()
        finally:
            self._turn_running = False

    def _turn(self) -> None:
        while self._cursor.has_more and (wanted := self._wanted()) > 0:
            runs = self._cursor.cached(wanted, self._settings.read_bytes_max)
            if runs is None:
                self._reading = self._tasks.spawn("read", self._read(wanted))
                return
            if not runs:
                return
            self._deliver(runs)

    async def _read(self, wanted: int) -> None:
        term = self._term
        try:
            runs = await self._cursor.read(wanted, self._settings.read_bytes_max)
            if term != self._term:
                self._cursor.rewind()
            elif self._wanted() > 0:
                self._deliver(runs)
            elif runs:
                self._cursor.read_position = runs[0].first
        except StorageError as error:
            await read_failed(self._cursor, error, self._clock)
        finally:
            self._reading = None
        self.wake()

    def _wanted(self) -> int:
        """How many entries to read: what the active consumer's permits are likely to cover."""
        consumer = self._active
        if consumer is None or not self._serving:
            return 0
        if not consumer.outlet.writable:
            consumer.outlet.when_writable(self.wake)
            return 0
        if consumer.permits <= 0:
            return 0
        likely = int(consumer.permits / self._messages_per_entry) + 1
        return min(likely, consumer.permits, self._settings.read_entries_max)

    def _deliver(self, runs: list[EntryRun]) -> None:
        consumer = self._active
        assert consumer is not None, "only a served consumer is delivered to"
        for run in runs:
            weighed = weigh(run)
            if weighed.corrupt:
                self._cursor.acknowledge(weighed.corrupt)
            for part in weighed.runs:
                ack_sets = ack_sets_of(self._cursor, part)
                messages = messages_in(part)
                count = len(part)
                if messages > consumer.permits:
                    count = fitting(part.weights, consumer.permits)
                self._messages_per_entry = messages / len(part)
                if count:
                    whole = count == len(part)
                    consumer.deliver(
                        part.part(0, count),
                        ack_sets=ack_sets if whole or ack_sets is None else ack_sets[:count],
                    )
                if count < len(part):
                    self._cursor.read_position = Position(
                        part.ledger_id, part.first_entry_id + count
                    )
                    return

    def _take_over(self) -> bool:
        """Elect again; True when the active consumer changed."""
        elected = self._elect(self._consumers) if self._consumers else None
        if elected is self._active:
            return False
        self._active = elected
        self._serving = False
        self._term += 1
        if elected is None:
            return True
        if self._announce:
            self._tasks.spawn("takeover", self._serve_later(self._term))
        else:
            self._serve()
        return True

    async def _serve_later(self, term: int) -> None:
        await self._clock.sleep(self._settings.failover_delay_s)
        if term != self._term:
            return
        for consumer in self._consumers:
            consumer.outlet.send_active_change(
                consumer.consumer_id, active=consumer is self._active
            )
        self._serve()

    def _serve(self) -> None:
        self._serving = True
        self._rewind()
        self.wake()

    def _rewind(self) -> None:
        self._term += 1
        self._cursor.rewind()
