"""Holds delayed entries of a subscription back until they are due, whoever is connected.

When an entry is due is in memory for the last ones that were read; of all others it is stored, in
buckets: ledgers that belong to the subscription's cursor. So they take little memory, and after a
restart only what no bucket has is read from the log again.

There is one timer, for the next entry that is due, and it rings once in a tick at most.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Sequence
from typing import Final

from magnetar.broker.dispatch.delayed import Bucket, DelayedEntries
from magnetar.broker.dispatch.delayed_bucket import (
    Footer,
    decode_footer,
    decode_segment,
    encode_bucket,
    footer_of,
)
from magnetar.broker.dispatch.entry_set import EntrySet
from magnetar.broker.dispatch.shared import chunk_at
from magnetar.clock import Clock
from magnetar.errors import CorruptEntry, EntryNotFound, LedgerNotFound, MagnetarError, StorageError
from magnetar.message.entry import checksum
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.policy_values import DelayedDeliveryPolicies
from magnetar.model.position import Position
from magnetar.storage.ledger.appending import append_durably
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_ledgers import CursorLedgers
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

NOT_STORED_MAX: Final = 200_000
"""Delayed entries of a subscription that is not durable and has no buckets; no more are read."""
RETRY_S: Final = 15.0
"""How long it waits before it tries again to store or to load."""
SLEEP_MS_MAX: Final = 60_000
"""The timer looks at the time of day at least this often: somebody may set it."""
FAR_AHEAD_MS: Final = 2**62

_GONE: Final = (CorruptEntry, EntryNotFound, LedgerNotFound)


class DelayedDelivery:
    """The delayed entries of one subscription; its dispatch loops come and go."""

    def __init__(self, cursor: Cursor, *, strict: bool, tasks: Tasks, clock: Clock) -> None:
        """What an earlier owner stored is loaded; until then it is ``busy``."""
        self.entries = DelayedEntries()
        self._cursor = cursor
        self._ledgers = CursorLedgers(cursor)
        self._strict = strict
        self._tasks = tasks
        self._clock = clock
        self._policy = DelayedDeliveryPolicies()
        self._wake: Callable[[], None] = _nobody
        self._work: asyncio.Task[None] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._timer_at_ms = 0
        self._ticked_ms = 0
        self._until_ms = 0  # What is due then, or before, may be delivered.
        self.failed = False
        """Whether storing or loading failed, and is about to be tried again."""
        if cursor.ledger_ids:
            self._begin("load delayed", self._load())

    @property
    def busy(self) -> bool:
        """Whether it stores or loads, and so cannot be asked until it wakes the loop."""
        return self._work is not None

    @property
    def may_read(self) -> bool:
        """Whether it could hold what may be read."""
        entries = self.entries
        if self._cursor.durable:
            return not (self.busy or entries.full)
        return len(entries.recent) < NOT_STORED_MAX

    @property
    def count(self) -> int:
        """Entries that wait for their time."""
        return self.entries.held.count_after(self._cursor.mark)

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        return self.entries.size_bytes

    @property
    def until_ms(self) -> int | None:
        """When the next entry is due; None where one is, or there is none."""
        due_ms = self.entries.next_due_ms
        ready = self.entries.ready or due_ms is None or due_ms <= self._clock.wall_ms()
        return None if ready else due_ms

    def serve(self, wake: Callable[[], None]) -> None:
        """``wake`` is called when there may be something due, until ``rest``."""
        self._wake = wake
        self._cursor.reader.skipped = self.entries.held
        self._tick()

    def rest(self) -> None:
        """Stop waking the dispatch loop; delayed entries stay held."""
        self._wake = _nobody
        self._cursor.reader.skipped = None
        self._stop_timer()

    def close(self) -> None:
        """Do nothing more."""
        self.rest()
        if self._work is not None:
            self._work.cancel()

    def apply(self, policy: DelayedDeliveryPolicies) -> None:
        """Let these hold; where they are not active everything is due."""
        self._policy = policy
        self._stop_timer()
        self._tick()

    def hold(
        self, run: EntryRun, traits: EntryTraits, indexes: Sequence[int], *, released: bool
    ) -> Sequence[int]:
        """Hold back those of these entries that are not due. Returns the others.

        A chunk does not overtake those before it either, that are held until the timer rings,
        unless these here were ``released`` with them.
        """
        due_ms, upto, entries = traits.due_ms, FAR_AHEAD_MS, self.entries
        if self._policy.active:
            upto = self._clock.wall_ms() + self._early_ms
            self._until_ms = min(self._until_ms, upto)  # Else, set back, they would be due again.
        held = [index for index in indexes if due_ms[index] > upto]
        if traits.unusual and not released and (passed := entries.passed_ms(upto)) < upto:
            behind = (i for i in indexes if due_ms[i] > passed and chunk_at(traits, i))
            held = sorted({*held, *behind})
        if not held:
            return indexes
        entry_ids = list(map(run.first_entry_id.__add__, held))
        entries.hold(run.ledger_id, list(map(due_ms.__getitem__, held)), entry_ids)
        self._set_timer()
        return sorted({*indexes}.difference(held))

    def due(self, count_max: int) -> list[Position]:
        """Some entries that are due, in log order. They stay until they are ``taken``.

        What the cursor has yet to read it brings by itself, once it is no longer held.
        """
        if self.busy:
            return []
        found: list[Position] = []
        while not found and (due := self.entries.due(self._until_ms, count_max)):
            at = bisect_left(due, self._cursor.reader.read_position)
            self.taken(due[at:])
            found = due[:at]
        if not found:
            bucket = self.entries.to_load(self._until_ms)
            if bucket is not None:
                self._begin("load delayed", self._load_segment(bucket))
            elif self.entries.full and self._cursor.durable:
                self._begin("store delayed", self._store())
            else:
                self._set_timer()
        return found

    def taken(self, due: Sequence[Position]) -> None:
        """Forget entries that are not held any more."""
        self.entries.taken(due)

    @property
    def _early_ms(self) -> int:
        return 0 if self._strict else max(self._policy.tick_ms, 0)

    def _tick(self) -> None:
        self._ticked_ms = now_ms = self._clock.wall_ms()
        self._until_ms = now_ms + self._early_ms if self._policy.active else FAR_AHEAD_MS
        self._pass_mark()
        self._wake()

    def _pass_mark(self) -> None:
        """Forget what is acknowledged without having been delivered: skipped, expired, trimmed."""
        held = self.entries.held
        held.drop_through(self._cursor.mark)
        if not (held.count or self.busy) and self.entries.next_due_ms is not None:
            self.entries.clear()
            if self._ledgers.ids:
                self._begin("delete delayed", self._delete_buckets())

    def _set_timer(self) -> None:
        due_ms = self.entries.next_due_ms
        if due_ms is None or self._wake is _nobody:
            return
        at_ms = max(due_ms, self._ticked_ms + max(self._policy.tick_ms, 1))
        if self._timer is not None:
            if self._timer_at_ms <= at_ms:
                return
            self._stop_timer()
        delay_ms = min(max(at_ms - self._clock.wall_ms(), 1), SLEEP_MS_MAX)
        self._timer_at_ms = at_ms
        self._timer = self._tasks.spawn("delayed", self._ring(delay_ms / 1000))

    async def _ring(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        self._timer = None
        self._tick()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self, name: str, work: Coroutine[object, object, None]) -> None:
        self._work = self._tasks.spawn(name, self._do(work))

    async def _do(self, work: Coroutine[object, object, None]) -> None:
        """Do one thing at a time. What failed is begun again by who asks for the same later."""
        try:
            await work
        except MagnetarError as error:
            log.warning("delayed.failed cursor=%s error=%s", self._cursor.name, error)
            self.failed = True
            await self._clock.sleep(RETRY_S)
        finally:
            self.failed = False
            self._work = None
        self._wake()

    async def _store(self) -> None:
        """Make a bucket of what is recent. It is much at once: others are served in between."""
        delayed = self.entries.take_recent()
        await self._clock.sleep(0)
        footer = footer_of(delayed)
        await self._clock.sleep(0)
        stored = encode_bucket(delayed, footer)
        try:
            writer = await self._ledgers.create()
            try:
                await append_durably(writer, stored, list(map(checksum, stored)))
                await writer.close()
            except StorageError:
                await self._ledgers.delete(writer.ledger_id)
                raise
        except MagnetarError:
            self.entries.put_back(delayed)
            raise
        self.entries.add_bucket(writer.ledger_id, footer)

    async def _load_segment(self, bucket: Bucket) -> None:
        try:
            reader = await self._ledgers.open(bucket.ledger_id)
            [data] = (await reader.read(bucket.segment, 1, 1)).data
            last = self.entries.loaded(bucket, decode_segment(data))
        except _GONE as error:
            await self._forget(bucket, error)
            last = True
        if last:
            await self._ledgers.delete(bucket.ledger_id)

    async def _forget(self, bucket: Bucket, error: StorageError) -> None:
        """Read what a damaged bucket has from the topic's log again, which says when it is due."""
        self._log_lost("read again", bucket.ledger_id, error)
        entries = EntrySet()
        try:
            entries = (await self._footer(bucket.ledger_id)).entries
        except _GONE as damage:
            self._log_lost("read again when the topic was unloaded", bucket.ledger_id, damage)
        self.entries.forget_bucket(bucket, entries, self._until_ms)

    async def _footer(self, ledger_id: int) -> Footer:
        """Raises CorruptEntry, LedgerNotFound, EntryNotFound."""
        reader = await self._ledgers.open(ledger_id)
        last = reader.end.last_entry_id
        [data] = (await reader.read(max(last, 0), 1, 1)).data
        return decode_footer(data, last)

    def _log_lost(self, outcome: str, ledger_id: int, error: StorageError) -> None:
        log.warning(
            "delayed.bucket_lost cursor=%s ledger_id=%s error=%s: its entries are %s",
            self._cursor.name,
            ledger_id,
            error,
            outcome,
        )

    async def _load(self) -> None:
        """Load what an earlier owner stored; a bucket that is damaged or not whole is deleted."""
        held, acks = self.entries.held, self._cursor.acks
        for ledger_id in self._ledgers.ids:
            try:
                footer = await self._footer(ledger_id)
            except _GONE as error:
                self._log_lost("read again", ledger_id, error)
                await self._ledgers.delete(ledger_id)
            else:
                self.entries.add_bucket(ledger_id, footer)
                held.update(footer.entries)
        held.drop_through(acks.mark)
        for ledger_id, ranges in acks.ranges.items():
            for first, last in zip(ranges.starts, ranges.ends, strict=True):
                held.discard_range(ledger_id, first, last)

    async def _delete_buckets(self) -> None:
        for ledger_id in self._ledgers.ids:
            await self._ledgers.delete(ledger_id)


def _nobody() -> None:
    """There is no loop to be woken."""
