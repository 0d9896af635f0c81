"""The compacted ledger of a log, from one to the next.

It is recorded in the cursor ``__compaction``, whose mark is the horizon: what lies behind is not
deleted before it was compacted. The cursor's record also names the ledger that is being written,
and one write of it switches to that. So a crash leaves the old one or the new one, and the other is
deleted when the log is opened again.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from magnetar.errors import LedgerNotFound
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.codec import Codec
from magnetar.storage.codec.compacted_entry import CompactedEntry
from magnetar.storage.ledger.appending import append_durably
from magnetar.storage.ledger.store import LedgerId, LedgerWriter
from magnetar.storage.managed_ledger.compacted_ledger import CompactedLedger
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.cursor_ledgers import CursorLedgers
from magnetar.storage.managed_ledger.log_reader import LogReader

log = logging.getLogger(__name__)

COMPACTION_CURSOR: Final = "__compaction"

CURRENT: Final = "CompactedTopicLedger"  # Pulsar's name for it.

_NONE_STAYED: Final = -1
"""Named where nothing stayed, until such a ledger was kept as Pulsar keeps it."""


class Compaction:
    """Loads the compacted ledger of one log, and begins the next one."""

    def __init__(
        self,
        cursor: Cursor,
        reader: LogReader,
        codec: Codec,
        *,
        verify: Callable[[], Awaitable[None]],
    ) -> None:
        """``verify`` raises Fenced when another broker has taken the log over."""
        self.cursor = cursor
        self.reader = reader
        self.codec = codec
        self.verify = verify

    async def load(self) -> None:
        """Read through what was recorded, and delete what is of no use.

        Raises what the ledger store raises.
        """
        ledger_id = current_of(self.cursor.properties)
        if ledger_id == _NONE_STAYED:
            self.reader.compacted = CompactedLedger(None, self.cursor.mark, self.codec)
        elif ledger_id is not None:
            try:
                opened = await self.cursor.ledger_store.open(LedgerId(ledger_id))
                self.reader.compacted = CompactedLedger(opened, self.cursor.mark, self.codec)
                self._own(ledger_id)
            except LedgerNotFound:
                log.error(  # noqa: TRY400 the error says it all
                    "compaction.ledger_missing name=%s ledger_id=%d: what it had of trimmed "
                    "ledgers is lost; the topic is read as it is until it is compacted again",
                    self.cursor.trimmer.name,
                    ledger_id,
                )
                # What the log still has must not be trimmed before it is compacted.
                self.cursor.acks.reset(self.reader.layout.mark_before(EARLIEST))
        await self.delete_unused()

    async def begin(self) -> "CompactedLedgerWriter":
        """Begin a ledger, and record it. Raises Fenced, and what the stores raise."""
        return CompactedLedgerWriter(self, await CursorLedgers(self.cursor).create())

    def _own(self, ledger_id: int) -> None:
        """Have a ledger that a broker of Pulsar's made deleted as ours are."""
        if ledger_id not in self.cursor.ledger_ids:
            self.cursor.ledger_ids = (*self.cursor.ledger_ids, ledger_id)

    async def delete_unused(self) -> None:
        """Delete all but the current one. The next save of the cursor leaves them out."""
        cursor, current = self.cursor, current_of(self.cursor.properties)
        for ledger_id in cursor.ledger_ids:
            if ledger_id != current:
                await cursor.ledger_store.delete(LedgerId(ledger_id))
        cursor.ledger_ids = tuple(each for each in cursor.ledger_ids if each == current)


class CompactedLedgerWriter:
    """A compacted ledger being written. Left half-way, it is deleted when the log is opened."""

    def __init__(self, compaction: Compaction, writer: LedgerWriter) -> None:
        self._compaction = compaction
        self._writer = writer

    async def append(self, entries: Sequence[CompactedEntry]) -> None:
        """Append, and return when it is durable. Raises what the ledger store raises."""
        if not entries:
            return
        stored = list(map(self._compaction.codec.encode_compacted, entries))
        await append_durably(
            self._writer, [data for data, _ in stored], [check for _, check in stored]
        )

    async def finish(self, horizon: Position) -> None:
        """Let this ledger take the place of the one before, which is deleted.

        Raises Fenced, and what the stores raise. When the switch failed, nobody knows which of the
        two is recorded, and so both stay.
        """
        compaction, reader = self._compaction, self._compaction.reader
        await self._writer.close()
        await compaction.cursor.save_with_mark(horizon, {CURRENT: str(self._writer.ledger_id)})
        await compaction.verify()
        reader.compacted = CompactedLedger(self._writer, horizon, compaction.codec)
        await compaction.delete_unused()

    async def abandon(self) -> None:
        """Give up, and delete what was written. Raises what the stores raise."""
        await self._writer.close()
        await CursorLedgers(self._compaction.cursor).delete(self._writer.ledger_id)


def current_of(properties: Mapping[str, str]) -> int | None:
    """Return the compacted ledger; -1 where nothing stayed, None before the first compaction."""
    ledger_id = properties.get(CURRENT)
    return None if ledger_id is None else int(ledger_id)
