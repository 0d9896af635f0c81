"""Moves what is alive out of segments that are mostly dead, so that their files can go.

One task per store. Blocks are appended again, like any other record, and the index follows once
they landed: at no moment is an answered entry in fewer than one place.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Final

from magnetar.errors import StorageError, WriteFailed

from .format import Kind, located
from .index import LedgerState
from .jobs import BlockMove, LedgerMark
from .reading import Source, read_records
from .scan import read_contents, read_footer
from .segment_format import Contents
from .segments import Segment, SegmentState
from .upkeep import StoreContext

log = logging.getLogger(__name__)

BATCH_SIZE: Final = 256 * 1024
"""Bytes moved at once; appends of clients go in between."""

BLOCKS_PER_YIELD: Final = 1000
"""How many blocks are looked up in the index before the loop goes on."""


class Compaction:
    """Empties sparse segments."""

    def __init__(self, parts: StoreContext) -> None:
        self._parts = parts
        self._segments = parts.segments
        self._journal = parts.journal
        self._ledgers = parts.ledgers
        self._share = parts.settings.compaction_share
        self._wanted = asyncio.Event()

    def wake(self) -> None:
        """Look for a sparse segment."""
        self._wanted.set()

    async def run(self) -> None:
        """Empty sparse segments until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while (segment := self._segments.sparse(self._share)) is not None:
                try:
                    await self._empty(segment)
                except WriteFailed as error:
                    log.warning("storage.compaction_failed path=%s error=%s", segment.path, error)
                    await self._parts.clock.sleep(self._parts.settings.compaction_retry_s)
                except (StorageError, OSError) as error:
                    log.error("storage.compaction_failed path=%s error=%s", segment.path, error)  # noqa: TRY400 the error says it all
                    segment.to(SegmentState.STUCK)

    async def _empty(self, segment: Segment) -> None:
        before = segment.live
        segment.pins += 1
        try:
            contents = await self._parts.in_thread(self._contents, segment)
            await self._move_marks(segment, contents)
            offsets = await self._live_offsets(contents)
            while offsets:
                done = await self._move_blocks(segment, offsets)
                del offsets[:done]
        finally:
            segment.pins -= 1
        log.info("storage.compacted path=%s moved_bytes=%d", segment.path, before - segment.live)
        if segment.live:  # A ledger in it is just being deleted, or it is damaged.
            segment.to(SegmentState.STUCK)
        self._parts.wake()

    def _contents(self, segment: Segment) -> Contents:
        with contextlib.closing(self._parts.files.open(segment.path)) as file:
            return read_footer(file, segment.stamp) or read_contents(file, segment)

    async def _live_offsets(self, contents: Contents) -> list[int]:
        """Where the blocks lie that the index still points to."""
        offsets = []
        looked_up = 0
        for group in contents.groups.values():
            for first, place in zip(group.firsts, group.locations, strict=True):
                ledger = self._ledgers.get(group.ledger_id)
                if ledger is not None and ledger.place(first) == place:
                    offsets.append(located(place)[1])
                looked_up += 1
                if looked_up % BLOCKS_PER_YIELD == 0:
                    await self._parts.clock.sleep(0)
        return sorted(offsets)

    async def _move_marks(self, segment: Segment, contents: Contents) -> None:
        marks = []
        for ledger_id in contents.groups:
            ledger = self._ledgers.get(ledger_id)
            if ledger is not None and ledger.marked_in is segment:
                kind = Kind.ENDED if ledger.state is LedgerState.ENDED else Kind.CREATED
                marks.append(LedgerMark(kind, ledger, self._segments))
                self._journal.append(marks[-1])
        await _landed(marks)

    async def _move_blocks(self, segment: Segment, offsets: list[int]) -> int:
        """Move some of the blocks. Returns how many of ``offsets`` are dealt with."""
        source = Source(segment.path, segment.stamp)
        records = await self._parts.in_thread(
            read_records, self._parts.files, source, offsets, BATCH_SIZE
        )
        moves = []
        for place, head, record in records:
            if self._journal.capacity.over_limit:
                await self._journal.capacity.wait()
            ledger = self._ledgers.get(head.ledger_id)
            if ledger is not None and ledger.place(head.first) == place:
                move = BlockMove(
                    ledger=ledger,
                    head=head,
                    record=record,
                    source=segment,
                    segments=self._segments,
                )
                moves.append(move)
                self._journal.append(move)
        await _landed(moves)
        return len(records)


async def _landed(jobs: Sequence[LedgerMark | BlockMove]) -> None:
    """Wait for all of them, then raise what went wrong with one."""
    if jobs:
        await asyncio.wait([job.receipt for job in jobs])
    for job in jobs:
        job.receipt.result()
