"""One ledger of a local store, to be read and to be appended to."""

import asyncio
from typing import Final

from magnetar.errors import LedgerNotFound, StorageError
from magnetar.storage.ledger.store import Answered, LedgerEnd, LedgerEntries, LedgerId, fenced

from .format import Kind, located
from .index import Ledger, LedgerState, lost
from .jobs import Block, LedgerMark
from .reading import Plan, Source, read_entries
from .upkeep import StoreContext

READ_ENTRIES_MAX: Final = 65_536
"""Entries one read returns, whatever was asked for."""


class LocalLedgerReader:
    """Reads one ledger."""

    __slots__ = ("_ledger", "_parts")

    def __init__(self, ledger: Ledger, parts: StoreContext) -> None:
        self._ledger = ledger
        self._parts = parts

    @property
    def ledger_id(self) -> LedgerId:
        return LedgerId(self._ledger.ledger_id)

    @property
    def end(self) -> LedgerEnd:
        return LedgerEnd(self._ledger.next_entry_id - 1, self._ledger.size_bytes)

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        ledger, segments = self._ledger, self._parts.segments
        if ledger.deleted:
            raise LedgerNotFound(f"ledger {ledger.ledger_id} was deleted")
        count = min(count_max, ledger.next_entry_id - first, READ_ENTRIES_MAX)
        firsts, places = ledger.blocks(first, count)
        try:
            pinned = [segments[each] for each in {located(place)[0] for place in places}]
        except KeyError as error:
            raise lost(ledger.ledger_id, first, f": segment {error} is gone") from None
        sources = {each.generation: Source(each.path, each.stamp) for each in pinned}
        plan = Plan(ledger.ledger_id, firsts, places, sources)
        for segment in pinned:
            segment.pins += 1
        try:
            return await self._parts.in_thread(
                read_entries, self._parts.files, plan, first, count, bytes_max
            )
        except OSError as error:
            raise StorageError(
                f"entry {first} of ledger {ledger.ledger_id} cannot be read ({error}): "
                "check the disk"
            ) from error
        finally:
            for segment in pinned:
                segment.pins -= 1
                if not segment.pins and not segment.live:
                    self._parts.wake()

    async def fence(self, reason: str) -> None:
        """Close the ledger for appends, wait for those under way, and note where it ends."""
        ledger = self._ledger
        ledger.fence(reason)
        await ledger.settled()
        if ledger.state is LedgerState.FENCED and self._parts.journal.running:
            ledger.to(LedgerState.ENDED)
            self._parts.journal.append(LedgerMark(Kind.ENDED, ledger, self._parts.segments))


class LocalLedgerWriter(LocalLedgerReader):
    """Appends to one ledger."""

    __slots__ = ()

    @property
    def over_limit(self) -> bool:
        return self._parts.journal.capacity.over_limit

    async def wait_for_capacity(self) -> None:
        await self._parts.journal.capacity.wait()

    def append(self, data: list[bytes], checksums: list[int], answered: Answered) -> None:
        ledger, journal = self._ledger, self._parts.journal
        if ledger.closed_because:
            because = fenced(ledger.ledger_id, ledger.closed_because)
            asyncio.get_running_loop().call_soon(answered, -1, because)
            return
        block = Block(ledger, ledger.reserved, data, checksums, answered)
        count = len(data)
        if count == 1 or block.fits:
            journal.append(block)
            ledger.appending += 1
            ledger.reserved += count
            return
        for part in block.parts():
            journal.append(part)  # All in one loop iteration: all land, or none does.
            ledger.appending += 1
            ledger.reserved += part.entries

    async def close(self) -> LedgerEnd:
        await self.fence("it was closed")
        return self.end
