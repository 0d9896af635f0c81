"""Opens a ledger that has not ended: fences its writer, and finds out where it ends.

1. That it is being recovered is stored.
2. Every bookie of the last ensemble is told that the ledger is fenced, and says which entry is its
   last one. When so many have answered that no entry can still be confirmed by the others, the
   writer can confirm nothing more.
3. What that entry says was confirmed is the beginning; each entry behind it that is found is
   written again, to as many bookies as a writer would. The first that is not found is the end.
4. That it has ended there is stored. Another broker that was faster is right.
"""

import asyncio
from typing import Final

from magnetar.errors import LedgerFenced, MagnetarError, StorageError, TimedOut
from magnetar.storage.ledger.store import LedgerId

from .bookie import NOT_AUTHORIZED, BookieError
from .context import StoreContext
from .distribution import absent, covered
from .entry_format import EntryFormat, StoredEntry
from .ledger_manager import Stored
from .ledger_metadata import LedgerMetadata, LedgerState
from .reader import READS_AT_ONCE, LedgerEntryReader
from .wire import LAST_ENTRY, Code, Flag

READS_FIRST: Final = 2
"""So many entries are asked for first, then twice as many each time: most ledgers have no more."""
_FENCED_READ: Final = Flag.FENCE | Flag.HIGH_PRIORITY
_REWRITE: Final = Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY


async def recover(ledger_id: LedgerId, stored: Stored, context: StoreContext) -> LedgerMetadata:
    """End a ledger, and return what is stored of it then.

    Raises StorageError where too few bookies answer: try again later.
    """

    def begin(metadata: LedgerMetadata) -> LedgerMetadata | None:
        return metadata.in_recovery() if metadata.state is LedgerState.OPEN else None

    stored = await context.manager.update(ledger_id, stored, begin)
    if stored.metadata.state is LedgerState.CLOSED:
        return stored.metadata
    recovery = _Recovery(ledger_id, stored.metadata, context)
    try:
        ended = await recovery.run()
    finally:
        recovery.leave()

    def end(metadata: LedgerMetadata) -> LedgerMetadata | None:
        return None if metadata.state is LedgerState.CLOSED else ended

    return (await context.manager.update(ledger_id, stored, end)).metadata


class _Recovery:
    """One recovery, which is also the writer of what it writes again."""

    def __init__(
        self, ledger_id: LedgerId, metadata: LedgerMetadata, context: StoreContext
    ) -> None:
        self._ledger_id = ledger_id
        self._found = metadata  # As the writer left it: where entries are read.
        self._metadata = metadata  # As it will be: bookies that fail now are replaced in it.
        self._context = context
        self._format = EntryFormat(ledger_id, metadata.digest_type, metadata.password)
        self._stored_by: dict[int, set[str]] = {}  # By entry that is being written again.
        self._gave_up: dict[str, MagnetarError] = {}  # Those that failed ever.
        self._failed: dict[str, MagnetarError] = {}  # Bookies that did not store one.
        self._heard = asyncio.Event()  # Something was heard of them.
        self._joined: set[str] = set()

    async def run(self) -> LedgerMetadata:
        """Do all but to store the end. Raises StorageError."""
        last = max(await self._fence(), self._found.last_segment.first_entry_id - 1)
        length = -1
        count, ended = READS_FIRST, False
        while not ended:
            entries, ended = await self._read_on(last + 1, count)
            if entries:
                await self._write(entries, last)
                last, length = entries[-1].entry_id, entries[-1].length
            count = min(2 * count, READS_AT_ONCE)
        if length < 0:  # Nothing was found behind what was confirmed.
            length = (await self._entry_before(last)).length if last >= 0 else 0
        return self._metadata.closed(last, length)

    def leave(self) -> None:
        """Be told nothing more."""
        for bookie_id in self._joined:
            adders = self._context.bookies.get(bookie_id).adders
            if adders.get(self._ledger_id) is self:
                del adders[self._ledger_id]

    async def _fence(self) -> int:
        """Fence the bookies of the last ensemble, and return which entry they know is confirmed."""
        ensemble = self._found.last_segment.ensemble
        tasks = [
            self._context.tasks.start(f"fence {self._ledger_id}", self._fence_one(bookie_id))
            for bookie_id in ensemble
        ]
        heard = [False] * len(ensemble)
        last_confirmed = -1
        waiting = set(tasks)
        errors: list[BaseException] = []
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None:
                    heard[tasks.index(task)] = True
                    last_confirmed = max(last_confirmed, task.result())
                elif isinstance(error, BookieError) and error.code == Code.UNAUTHORIZED:
                    raise LedgerFenced(
                        f"ledger {self._ledger_id} is not ours: a bookie says that "
                        f"{NOT_AUTHORIZED} ({error})"
                    )
                else:
                    errors.append(error)
            if covered(heard, self._found.write_quorum, self._found.ack_quorum):
                return last_confirmed
        raise StorageError(
            f"ledger {self._ledger_id} cannot be recovered: {len(errors)} of its {len(ensemble)} "
            f"bookies did not answer ({errors[0]}): start them, then try again"
        )

    async def _fence_one(self, bookie_id: str) -> int:
        try:
            stored = await self._context.bookies.get(bookie_id).read(
                self._ledger_id,
                LAST_ENTRY,
                self._context.settings.recovery_timeout_s,
                Flag.FENCE,
                self._format.key,
            )
        except BookieError as error:
            if error.says_absent:
                return -1
            raise
        return self._format.check(stored, LAST_ENTRY).last_confirmed

    async def _read_on(self, first: int, count: int) -> tuple[list[StoredEntry], bool]:
        """The next entries that there are, at most so many, and whether there are no more."""
        ids = range(first, first + count)
        found = await asyncio.gather(*map(self._read, ids), return_exceptions=True)
        entries: list[StoredEntry] = []
        for each in found:
            if each is None:  # What is behind it was never confirmed.
                return entries, True
            if isinstance(each, BaseException):
                if not entries:
                    raise each
                break  # It is asked for again, as the first.
            entries.append(each)
        return entries, False

    async def _read(self, entry_id: int) -> StoredEntry | None:
        """An entry, from whoever has it; None where enough bookies say that they do not."""
        metadata = self._found
        negative = 0
        errors: list[MagnetarError] = []
        for bookie_id in metadata.bookies_of(entry_id):
            bookie = self._context.bookies.get(bookie_id)
            try:
                stored = await bookie.read(
                    self._ledger_id,
                    entry_id,
                    self._context.settings.recovery_timeout_s,
                    _FENCED_READ,
                    self._format.key,
                )
                return self._format.check(stored, entry_id)
            except MagnetarError as error:
                if not (isinstance(error, BookieError) and error.says_absent):
                    errors.append(error)
                    continue
            negative += 1
            if absent(negative, metadata.write_quorum, metadata.ack_quorum):
                return None
        raise StorageError(
            f"entry {entry_id} of ledger {self._ledger_id} may be there or not: {errors[0]}: "
            "start its bookies, then try again"
        )

    async def _entry_before(self, last: int) -> StoredEntry:
        reader = LedgerEntryReader(self._ledger_id, self._found, self._context)
        return await reader.read_one(last)

    async def _write(self, entries: list[StoredEntry], last_confirmed: int) -> None:
        """Write entries again, until enough bookies have each."""
        first = entries[0].entry_id
        self._stored_by = {entry.entry_id: set() for entry in entries}
        sent: set[tuple[int, str]] = set()
        while True:
            self._send(entries, last_confirmed, sent)
            self._heard.clear()
            try:
                async with asyncio.timeout(self._context.settings.recovery_timeout_s):
                    await self._heard.wait()
            except TimeoutError:
                self._fail_who_is_silent(sent)
            if self._failed:
                self._replace(first)
            elif all(map(self._is_confirmed, self._stored_by)):
                return

    def _send(
        self, entries: list[StoredEntry], last_confirmed: int, sent: set[tuple[int, str]]
    ) -> None:
        for entry in entries:
            length = entry.length - len(entry.payload)
            adds = self._format.adds(
                entry.entry_id, last_confirmed, length, [entry.payload], flags=_REWRITE
            )
            for bookie_id in self._metadata.bookies_of(entry.entry_id):
                if (entry.entry_id, bookie_id) not in sent:
                    sent.add((entry.entry_id, bookie_id))
                    bookie = self._context.bookies.get(bookie_id)
                    bookie.adders[self._ledger_id] = self
                    self._joined.add(bookie_id)
                    bookie.add(adds)

    def _is_confirmed(self, entry_id: int) -> bool:
        stored = self._stored_by[entry_id].intersection(self._metadata.bookies_of(entry_id))
        return len(stored) >= self._metadata.ack_quorum

    def _fail_who_is_silent(self, sent: set[tuple[int, str]]) -> None:
        for entry_id, bookie_id in sorted(sent):
            if bookie_id not in self._stored_by[entry_id]:
                self._failed[bookie_id] = TimedOut(f"bookie {bookie_id} stores nothing")

    def _replace(self, first: int) -> None:
        """Let others have the entries from ``first`` on that were to be at bookies that failed."""
        failed, self._failed = self._failed, {}
        self._gave_up.update(failed)
        bookies = self._context.bookies
        for bookie_id in failed:
            bookies.quarantine(bookie_id)
        metadata = self._metadata
        ensemble = bookies.placement(metadata.custom).replace(
            metadata.last_segment.ensemble, failed, metadata.write_quorum
        )
        for bookie_id in ensemble:
            if bookie_id in self._gave_up:  # It was sent the entries, and no other is left.
                raise StorageError(
                    f"ledger {self._ledger_id} cannot be recovered: too few bookies store its "
                    f"last entries ({self._gave_up[bookie_id]}): start them, then try again"
                )
        self._metadata = self._metadata.with_ensemble(first, ensemble)

    # What bookies tell.

    def added(self, bookie_id: str, first: int, last: int) -> None:
        """Note that a bookie has stored entries again."""
        for entry_id in range(first, last + 1):
            if entry_id in self._stored_by:
                self._stored_by[entry_id].add(bookie_id)
        self._heard.set()

    def add_failed(self, bookie_id: str, error: MagnetarError) -> None:
        """Note that a bookie does not store entries."""
        if bookie_id in self._metadata.last_segment.ensemble:
            self._failed[bookie_id] = error
            self._heard.set()
