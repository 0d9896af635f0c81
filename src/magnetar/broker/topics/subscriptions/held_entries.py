"""What consumers hold and give back: acknowledged, redelivered, or left behind."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY

from magnetar.broker.dispatch.deliveries import Deliveries
from magnetar.broker.dispatch.entry_queue import by_ledger
from magnetar.broker.dispatch.strategy import Strategy
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position


@dataclass(slots=True, eq=False)
class HeldEntries:
    """Entries that consumers of a Shared or Key_Shared subscription have not acknowledged yet.

    ``at_once_max`` entries are given back before others get the event loop; ``wake`` is called when
    all that were given back wait to be delivered. ``missing`` says which of ascending entries of a
    ledger are not acknowledged, whoever did that; ``count_redeliveries`` counts those that a
    consumer asked for again.
    """

    strategy: Strategy[Consumer]
    table: Deliveries[Consumer]
    _: KW_ONLY
    at_once_max: int
    wake: Callable[[], None]
    missing: Callable[[int, Sequence[int]], Sequence[int]]
    count_redeliveries: Callable[[int, Sequence[int]], None]

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> bool:
        """These are acknowledged as a whole, whoever holds them. True: more may go out now."""
        freed, released = self._release(consumer, ledger_id, entry_ids)
        if len(released) < len(entry_ids):
            elsewhere = list(set(entry_ids).difference(released))
            for other in self.strategy.receivers:
                freed = self._release(other, ledger_id, elsewhere)[0] or freed
            freed = bool(self.table.dequeue(ledger_id, elsewhere)) or freed
        return freed

    def acknowledged_part(self, consumer: Consumer, position: Position, messages: int) -> bool:
        """A batch is acknowledged, but for so many ``messages``, whoever holds it.

        True: more may go out now.
        """
        for each in (consumer, *self.strategy.receivers):
            before = each.capacity
            if self.table.release_part(each, position, messages):
                return each.capacity > before
        return False

    def redeliver(self, consumer: Consumer, positions: Sequence[Position] | None) -> None:
        """A consumer gives back what it holds of ``positions``; None: all it holds."""
        held = self.table.held(consumer) if positions is None else by_ledger(positions)
        self.release(consumer, held)

    def release(self, consumer: Consumer | None, entries: Mapping[int, list[int]]) -> None:
        """Queue what ``consumer`` holds of ``entries``; all of them where it is gone (None)."""
        for ledger_id, entry_ids in entries.items():
            for start in range(0, len(entry_ids), self.at_once_max):
                part = entry_ids[start : start + self.at_once_max]
                self.table.returned.append((consumer, ledger_id, part))
        self._release_some()

    def _release_some(self) -> None:
        """Nothing is delivered before all that was given back waits in its queue."""
        table, most = self.table, self.at_once_max
        while table.returned and most > 0:
            consumer, ledger_id, entry_ids = table.returned.popleft()
            most -= len(entry_ids)
            if consumer is not None:
                entry_ids = table.release(consumer, ledger_id, entry_ids)
                self.strategy.released(consumer, ledger_id, entry_ids)
            missing = self.missing(ledger_id, sorted(entry_ids))
            if len(missing) < len(entry_ids):  # They were skipped, or have expired.
                table.forget(ledger_id, set(entry_ids).difference(missing))
            if consumer is not None:
                self.count_redeliveries(ledger_id, missing)
            table.wait(ledger_id, missing)
        if table.returned:
            asyncio.get_running_loop().call_soon(self._release_some)
        else:
            self.wake()

    def _release(
        self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]
    ) -> tuple[bool, Sequence[int]]:
        """Take entries from a consumer: whether others may go out now, and which it held."""
        before = consumer.capacity
        released = self.table.release(consumer, ledger_id, entry_ids)
        freed = self.strategy.released(consumer, ledger_id, released)
        self.table.forget(ledger_id, released)
        return freed or consumer.capacity > before, released
