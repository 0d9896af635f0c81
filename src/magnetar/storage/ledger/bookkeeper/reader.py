"""Reads entries of a ledger from the bookies that have them.

Where every bookie of the ensemble has every entry, many are asked for in one request; else each is
asked for by itself, many at a time. The bookie whose turn it is is asked first; when it fails, or
says nothing for a while, the next one is asked too, and the first good answer wins.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

from magnetar.errors import EntryNotFound, MagnetarError, StorageError
from magnetar.inner import checksum
from magnetar.storage.codec.pulsar.message_head import holds_messages, message_of
from magnetar.storage.ledger.store import LedgerEnd, LedgerEntries, LedgerId

from .bookie import Bookie, BookieError
from .context import StoreContext
from .entry_format import EntryFormat, StoredEntry
from .ledger_metadata import LedgerMetadata

T = TypeVar("T")

READS_AT_ONCE: Final = 32
"""So many entries are asked for at a time, where each is asked for by itself."""
BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""Bytes of the answer to one request; a bookie's own limit is 5 MiB."""


class LedgerEntryReader:
    """Reads one ledger, whoever writes it."""

    def __init__(
        self, ledger_id: LedgerId, metadata: LedgerMetadata, context: StoreContext
    ) -> None:
        self._ledger_id = ledger_id
        self._metadata = metadata
        self._context = context
        self._messages = holds_messages(metadata.custom)
        self._format = EntryFormat(ledger_id, metadata.digest_type, metadata.password)

    async def read(
        self, first: int, count_max: int, bytes_max: int, end: LedgerEnd
    ) -> LedgerEntries:
        """Entries from ``first`` on, none behind ``end``. Raises as ``LedgerReader.read``."""
        last = end.last_entry_id
        if not 0 <= first <= last:
            raise EntryNotFound(
                f"ledger {self._ledger_id} has no entry {first}: it ends at entry {last}"
            )
        metadata = self._metadata
        count = min(count_max, last - first + 1, metadata.segment_end(first) - first)
        if metadata.ensemble_size == metadata.write_quorum:
            # A bookie counts what it stores beside each payload, and the size before it.
            beside = 4 + self._format.beside
            beside *= bytes_max * (last + 1) // max(end.size_bytes, 1)
            return await self._batch(first, count, min(bytes_max + beside, BATCH_BYTES_MAX))
        entries = await self._one_by_one(first, count, bytes_max)
        data = [each.payload for each in entries]
        if self._messages:
            data = list(map(message_of, data))
        return LedgerEntries(data, list(map(checksum, data)))

    async def _batch(self, first: int, count: int, bytes_max: int) -> LedgerEntries:
        async def ask(bookie: Bookie) -> LedgerEntries:
            timeout_s = self._context.settings.read_timeout_s
            stored = await bookie.read_batch(self._ledger_id, first, count, bytes_max, timeout_s)
            return self._format.open(stored, first, messages=self._messages)

        return await self._first_good(first, ask)

    async def _one_by_one(self, first: int, count: int, bytes_max: int) -> list[StoredEntry]:
        found: list[StoredEntry] = []
        size = 0
        while len(found) < count and size < bytes_max:
            at = first + len(found)
            ids = range(at, min(at + READS_AT_ONCE, first + count))
            for entry in await asyncio.gather(*map(self.read_one, ids)):
                if size >= bytes_max:
                    break
                found.append(entry)
                size += len(entry.payload)
        return found

    async def read_one(self, entry_id: int) -> StoredEntry:
        """One entry. Raises EntryNotFound, CorruptEntry, and what keeps a bookie from answering."""

        async def ask(bookie: Bookie) -> StoredEntry:
            timeout_s = self._context.settings.read_timeout_s
            stored = await bookie.read(self._ledger_id, entry_id, timeout_s)
            return self._format.check(stored, entry_id)

        return await self._first_good(entry_id, ask)

    async def _first_good(
        self, entry_id: int, ask: Callable[[Bookie], Coroutine[Any, Any, T]]
    ) -> T:
        """Ask the bookies that have an entry, until one has answered well."""
        with self._context.counts.reads.counted(self._context.clock.now):
            return await self._first_good_of(entry_id, ask)

    async def _first_good_of(
        self, entry_id: int, ask: Callable[[Bookie], Coroutine[Any, Any, T]]
    ) -> T:
        context = self._context
        waiting = context.bookies.readable_first(self._metadata.bookies_of(entry_id))
        asked: set[asyncio.Task[T]] = set()
        errors: list[MagnetarError] = []
        try:
            while waiting or asked:
                if waiting:
                    bookie = context.bookies.get(waiting.pop(0))
                    asked.add(context.tasks.start(f"read {self._ledger_id}", ask(bookie)))
                patience_s = context.settings.speculative_read_s if waiting else None
                done, asked = await asyncio.wait(
                    asked, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED
                )
                for each in done:
                    error = each.exception()
                    if error is None:
                        return each.result()
                    if not isinstance(error, MagnetarError):
                        raise error
                    errors.append(error)
        finally:
            for each in asked:
                each.cancel()
        raise self._most_telling(entry_id, errors)

    def _most_telling(self, entry_id: int, errors: Sequence[MagnetarError]) -> StorageError:
        """The error that says most: that a bookie failed more than that one has no such entry."""
        for error in errors:
            if not (isinstance(error, BookieError) and error.says_absent):
                failure = StorageError(
                    f"entry {entry_id} of ledger {self._ledger_id} cannot be read: {error}"
                )
                failure.__cause__ = error
                return error if isinstance(error, StorageError) else failure
        return EntryNotFound(
            f"no bookie that should have it has entry {entry_id} of ledger {self._ledger_id}"
        )


class BookKeeperReader:
    """Reads a ledger that has ended."""

    def __init__(
        self, ledger_id: LedgerId, metadata: LedgerMetadata, context: StoreContext
    ) -> None:
        """``metadata`` say where it ends."""
        self._ledger_id = ledger_id
        self._metadata = metadata
        self._context = context
        self._entries = LedgerEntryReader(ledger_id, metadata, context)

    @property
    def ledger_id(self) -> LedgerId:
        return self._ledger_id

    @property
    def end(self) -> LedgerEnd:
        return LedgerEnd(self._metadata.last_entry_id, self._metadata.length)

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        try:
            return await self._entries.read(first, count_max, bytes_max, self.end)
        except StorageError as error:
            if not 0 <= first <= self.end.last_entry_id:
                raise
            # Whoever replaces lost bookies rewrites the segments of ledgers that have ended.
            metadata = (await self._context.manager.read(self._ledger_id)).metadata
            if metadata == self._metadata:
                raise error from error.__cause__
            self._metadata = metadata
            self._entries = LedgerEntryReader(self._ledger_id, metadata, self._context)
        return await self._entries.read(first, count_max, bytes_max, self.end)
