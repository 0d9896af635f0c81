"""The writer of a ledger: every entry goes to some bookies, and is confirmed by enough of them.

All entries of one append are a run. Its frames are made once, are sent to the bookies of the
ensemble as they are, and are kept until all of the run is confirmed, so that another bookie can be
given them. Entries are confirmed in order, whatever order they are acknowledged in.

When a bookie fails, another takes its position: the ensemble from the first entry on that is not
confirmed is stored first, then the new bookie is sent what is not confirmed. Meanwhile nothing is
sent and nothing is confirmed. Where there is no other bookie the ledger ends at what is confirmed.

A bookie that says that the ledger is fenced speaks for another broker that has opened it: then
nothing more is answered but that.
"""

import asyncio
import logging
from collections import deque
from functools import partial
from typing import Final

from magnetar.errors import (
    LedgerFenced,
    LedgerNotFound,
    MagnetarError,
    StorageError,
    TimedOut,
    WriteFailed,
)
from magnetar.late_dataclass import dataclass
from magnetar.storage.codec.pulsar.message_head import HEAD_SIZE, holds_messages
from magnetar.storage.ledger.store import Answered, LedgerEnd, LedgerEntries, LedgerId, fenced

from .acks import Acks
from .bookie import NOT_AUTHORIZED, Bookie, BookieError
from .context import StoreContext
from .distribution import write_set
from .entry_format import TOGETHER_MAX, Adds, EntryFormat
from .ledger_manager import Stored
from .ledger_metadata import LedgerMetadata, LedgerState
from .reader import LedgerEntryReader
from .wire import Code

log = logging.getLogger(__name__)

CHANGES_AT_ONCE: Final = 3
"""So often others are tried at once; then it is waited before each, twice as long each time."""
WAIT_FIRST_S: Final = 0.05
WAIT_LONGEST_S: Final = 0.5

_NOT_OURS: Final = frozenset({Code.FENCED, Code.UNAUTHORIZED})


@dataclass(slots=True)
class Run:
    """The entries of one append, as they are sent."""

    first: int
    last: int
    size: int  # Bytes of the payloads.
    adds: list[Adds]  # One for each entry, where entries go to different bookies.
    answered: Answered
    appended_at: float
    sent_at: float | None = None  # The last time, if it was.


class BookKeeperWriter:
    """Appends to one ledger, and reads what is confirmed of it."""

    def __init__(self, ledger_id: LedgerId, stored: Stored, context: StoreContext) -> None:
        """For a ledger that was just created, whose metadata are ``stored``."""
        metadata = stored.metadata
        self._ledger_id = ledger_id
        self._stored = stored
        self._context = context
        self._format = EntryFormat(ledger_id, metadata.digest_type, metadata.password)
        self._messages = holds_messages(metadata.custom)
        self._striped = metadata.ensemble_size != metadata.write_quorum
        self._acks = Acks(metadata.ensemble_size, metadata.write_quorum, metadata.ack_quorum)
        self._moved_at = [0.0] * metadata.ensemble_size  # When each position had the next entry.
        self._ensemble: list[Bookie] = [
            self._bookie(bookie_id) for bookie_id in metadata.last_segment.ensemble
        ]
        self._runs: deque[Run] = deque()  # Those that were not answered.
        self._next = 0
        self._length = 0  # With what is not confirmed.
        self._end = LedgerEnd(-1, 0)  # What is confirmed.
        self._failed: set[str] = set()  # Bookies that are to be replaced.
        self._changing = False
        self._changed_at = -1  # The first entry of the last change.
        self._changes_in_vain = 0  # At that entry, behind the first.
        self._closed_because = ""
        self._lost = False  # Another one has the ledger, or nobody.
        self._deleted = False
        self._settled: asyncio.Future[None] | None = None  # Who closes waits for the last answer.
        self._ending: asyncio.Task[LedgerEnd] | None = None

    @property
    def ledger_id(self) -> LedgerId:
        return self._ledger_id

    @property
    def end(self) -> LedgerEnd:
        return self._end

    @property
    def metadata(self) -> LedgerMetadata:
        """Where it is written to now."""
        return self._stored.metadata

    @property
    def over_limit(self) -> bool:
        return self._context.capacity.over_limit

    async def wait_for_capacity(self) -> None:
        await self._context.capacity.wait()

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        if self._deleted:
            raise LedgerNotFound(f"ledger {self._ledger_id} was deleted")
        reader = LedgerEntryReader(self._ledger_id, self._stored.metadata, self._context)
        return await reader.read(first, count_max, bytes_max, self._end)

    def append(self, data: list[bytes], checksums: list[int], answered: Answered) -> None:
        if self._closed_because:
            because = fenced(self._ledger_id, self._closed_because)
            asyncio.get_running_loop().call_soon(answered, -1, because)
            return
        adds = self._format.adds(
            self._next,
            self._end.last_entry_id,
            self._length,
            data,
            checksums if self._messages else None,
            together=1 if self._striped else TOGETHER_MAX,
        )
        size = sum(map(len, data)) + (HEAD_SIZE * len(data) if self._messages else 0)
        last = self._next + len(data) - 1
        run = Run(self._next, last, size, adds, answered, self._context.clock.now())
        self._next = last + 1
        self._length += size
        self._runs.append(run)
        self._context.capacity.take(size)
        self._context.waiting.add(self)
        if not self._changing:
            self._send(run)

    def delete(self) -> None:
        """Answer nothing more, and read nothing."""
        self._deleted = True
        self._lose("it was deleted")

    async def close(self, because: str = "it was closed") -> LedgerEnd:
        self._closed_because = self._closed_because or because
        if self._runs:
            self._settled = self._settled or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._settled)
        return self._end if self._lost else await self._store_end()

    # What bookies tell.

    def added(self, bookie_id: str, first: int, last: int) -> None:
        """Note that a bookie has stored entries, and answer what is confirmed by that."""
        for position, bookie in enumerate(self._ensemble):
            if bookie.bookie_id == bookie_id:
                if self._acks.note(position, first, last):
                    self._moved_at[position] = bookie.heard_at
                if not self._changing:
                    self._confirm()
                return

    def add_failed(self, bookie_id: str, error: MagnetarError) -> None:
        """Replace a bookie that has not taken all; end, where it speaks for another broker."""
        if isinstance(error, BookieError) and error.code in _NOT_OURS:
            fenced_by_another = error.code == Code.FENCED
            self._lose(
                f"bookie {bookie_id} says that "
                + ("another broker has opened it" if fenced_by_another else NOT_AUTHORIZED)
            )
            return
        there = {each.bookie_id for each in self._ensemble} - self._failed
        if not self._runs or bookie_id not in there:
            return
        log.warning(
            "ledger.bookie_failed ledger=%d bookie=%s error=%s", self._ledger_id, bookie_id, error
        )
        self._context.bookies.quarantine(bookie_id)
        self._failed.add(bookie_id)
        if not self._changing:
            self._changing = True
            self._context.tasks.spawn(f"ensemble {self._ledger_id}", self._change_ensemble())

    def look(self, now: float, late_s: float) -> None:
        """Give up bookies that leave entries waiting for too long: ``Waiting.look``."""
        if not self._runs or self._changing:
            return
        run, settings = self._runs[0], self._context.settings
        silent_s = settings.silent_s + late_s
        if run.sent_at is None or now - run.sent_at < silent_s:
            return
        lacking = [at for at in range(len(self._ensemble)) if self._acks.lacks(at, run.last)]
        silent = [at for at in lacking if now - self._ensemble[at].heard_at >= silent_s]
        placement = self._context.bookies.placement(self._stored.metadata.custom)
        replaceable = len(silent) < len(self._ensemble) and placement.has_spare(
            {each.bookie_id for each in self._ensemble}
        )
        for position in lacking:
            waited_s = now - max(run.sent_at, self._moved_at[position])
            if waited_s >= settings.add_timeout_s or (replaceable and position in silent):
                bookie = self._ensemble[position]
                bookie.counts.add_timeouts += 1
                text = f"bookie {bookie.bookie_id} has not stored an entry in {waited_s:.1f} s"
                self.add_failed(bookie.bookie_id, TimedOut(text))

    # How entries are sent and confirmed.

    def _bookie(self, bookie_id: str) -> Bookie:
        bookie = self._context.bookies.get(bookie_id)
        bookie.adders[self._ledger_id] = self
        return bookie

    def _send(self, run: Run) -> None:
        run.sent_at = self._context.clock.now()
        for position in range(len(self._ensemble)):
            self._send_to(position, run)

    def _send_to(self, position: int, run: Run) -> None:
        adds, metadata = run.adds, self._stored.metadata
        if self._striped:
            sizes = metadata.ensemble_size, metadata.write_quorum
            numbered = enumerate(run.adds, run.first)
            adds = [each for entry, each in numbered if position in write_set(entry, *sizes)]
        if adds:
            self._ensemble[position].add(adds)

    def _confirm(self) -> None:
        confirmed = self._acks.confirmed
        if self._runs and self._runs[0].last <= confirmed:
            context = self._context
            context.counts.add_latency.note(context.clock.now() - self._runs[0].appended_at)
        while self._runs and self._runs[0].last <= confirmed:
            run = self._runs.popleft()
            self._end = LedgerEnd(run.last, self._end.size_bytes + run.size)
            self._context.capacity.give_back(run.size)
            run.answered(run.first, None)
        if not self._runs:
            self._note_settled()

    def _note_settled(self) -> None:
        self._context.waiting.discard(self)
        if self._settled is not None and not self._settled.done():
            self._settled.set_result(None)

    # How another bookie takes a position.

    async def _change_ensemble(self) -> None:
        try:
            while self._failed and self._runs:
                await self._wait_in_vain()
                await self._replace(min(self._failed))
        except (MagnetarError, OSError) as error:
            await self._give_up(error)
            return
        self._failed.clear()
        self._changing = False
        for run in self._runs:
            if run.sent_at is None:
                self._send(run)
        self._context.bookies.iteration.run(self._confirm)

    async def _wait_in_vain(self) -> None:
        """Wait where one change followed the other and nothing was confirmed: none answers."""
        first = self._end.last_entry_id + 1
        self._changes_in_vain = self._changes_in_vain + 1 if first == self._changed_at else 0
        self._changed_at = first
        more = self._changes_in_vain - CHANGES_AT_ONCE
        if more >= 0:
            await self._context.clock.sleep(min(WAIT_FIRST_S * 2**more, WAIT_LONGEST_S))

    async def _replace(self, failed: str) -> None:
        """Put another one in the position of a bookie that failed, and send it what it lacks.

        Of several that fail at once, one can take the place of another, and may answer by then.
        """
        context = self._context
        before = self._stored.metadata
        ensemble = context.bookies.placement(before.custom).replace(
            before.last_segment.ensemble, {failed}, before.write_quorum
        )
        first = self._end.last_entry_id + 1

        def changed(metadata: LedgerMetadata) -> LedgerMetadata | None:
            if metadata.state is not LedgerState.OPEN:
                raise fenced(self._ledger_id, "another broker has opened it")
            if metadata.last_segment.ensemble == ensemble:
                return None
            return metadata.with_ensemble(first, ensemble)

        self._stored = await context.manager.update(self._ledger_id, self._stored, changed)
        context.counts.ensemble_changes += 1
        self._failed.discard(failed)
        for position, bookie_id in enumerate(ensemble):
            former = self._ensemble[position]
            if bookie_id == former.bookie_id:
                continue
            if former.bookie_id not in ensemble:
                former.adders.pop(self._ledger_id, None)
            self._ensemble[position] = self._bookie(bookie_id)
            self._acks.forget(position, first)
            for run in self._runs:
                if run.sent_at is not None:  # Who has come now has as long as the others had.
                    run.sent_at = context.clock.now()
                    self._send_to(position, run)

    # How it ends.

    def _lose(self, because: str) -> None:
        """Answer nothing more: another one has the ledger."""
        self._closed_because = because
        self._lost = True
        self._answer_all(fenced(self._ledger_id, because))

    async def _give_up(self, error: Exception) -> None:
        """End the ledger at what is confirmed, and say of the rest that it was not written."""
        if isinstance(error, LedgerFenced):
            self._lose(str(error))
            return
        self._closed_because = self._closed_because or "a write failed"
        try:
            await self._store_end()
        except StorageError as failure:
            log.warning("ledger.not_closed ledger=%d error=%s", self._ledger_id, failure)
        failed = WriteFailed(f"ledger {self._ledger_id} takes no entries ({error})")
        failed.__cause__ = error
        self._answer_all(failed)

    def _answer_all(self, error: StorageError) -> None:
        runs, self._runs = self._runs, deque()
        self._context.counts.adds_failed += len(runs)
        for bookie in self._ensemble:
            bookie.adders.pop(self._ledger_id, None)
        for run in runs:
            self._context.capacity.give_back(run.size)
            run.answered(-1, error)
        self._note_settled()

    async def _store_end(self) -> LedgerEnd:
        """Store where the ledger ends, once."""
        if self._ending is None:
            self._ending = self._context.tasks.start(
                f"close {self._ledger_id}", self._store_end_once()
            )
        return await asyncio.shield(self._ending)

    async def _store_end_once(self) -> LedgerEnd:
        change = partial(_closed_at, self._ledger_id, self._end)
        self._stored = await self._context.manager.update(self._ledger_id, self._stored, change)
        for bookie in self._ensemble:
            bookie.adders.pop(self._ledger_id, None)
        return self._end


def _closed_at(ledger_id: int, end: LedgerEnd, metadata: LedgerMetadata) -> LedgerMetadata | None:
    if metadata.state is LedgerState.CLOSED:
        if (metadata.last_entry_id, metadata.length) == end:
            return None
        raise fenced(ledger_id, f"another broker closed it at entry {metadata.last_entry_id}")
    if metadata.state is LedgerState.IN_RECOVERY:
        raise fenced(ledger_id, "another broker has opened it")
    return metadata.closed(*end)
