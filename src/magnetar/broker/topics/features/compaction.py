"""Compacts one topic: its log is read twice, and what stays goes into a ledger of its own.

It works in parts, between which everybody else in the event loop has a turn, and a broker compacts
few topics at a time. ``message/compaction.py`` says what stays, ``storage/managed_ledger`` how the
new ledger takes the place of the one before. A topic that closes meanwhile is as it was before.
"""

import logging
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import AsyncExitStack
from typing import Final, TypeVar

from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.errors import AlreadyExists, MagnetarError
from magnetar.message.compaction import LastMessages
from magnetar.message.entry import checksum
from magnetar.model.counts import WriteCounts
from magnetar.model.position import EARLIEST, Position
from magnetar.model.process_status import ProcessStatus
from magnetar.model.stats import TopicStats
from magnetar.storage.codec.compacted_entry import CompactedEntry
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR, CompactedLedgerWriter
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

T = TypeVar("T")

READ_ENTRIES_MAX: Final = 1_000
READ_BYTES_MAX: Final = 1024 * 1024
"""How much is read at once, and how much is written at once."""


class TopicCompaction:
    """The compaction of one topic. What it counts, it counts from when the topic was loaded."""

    def __init__(
        self,
        state: StoredTopicState,
    ) -> None:
        self.status = ProcessStatus.NOT_RUN
        self.last_error = ""
        self.removed_count = 0  # Messages, by the last one that succeeded.
        self.duration_ms = 0  # Of the last one, whatever became of it.
        self.succeeded_count = 0
        self.failed_count = 0
        self.succeeded_ms = 0
        self.failed_ms = 0
        self.read_bytes = 0
        self.writes = WriteCounts()
        self._state = state
        self._topic = state.name
        self._ledger = state.ledger
        self._settings = state.context.settings
        self._clock = state.clock
        self._places = state.context.compactions
        self._tasks = Tasks(f"compaction {state.name}")

    def fill(self, stats: TopicStats) -> None:
        """Add how it stands."""
        stats.compaction_removed = self.removed_count
        stats.compaction_succeeded_count = self.succeeded_count
        stats.compaction_failed_count = self.failed_count
        stats.compaction_succeeded_ms = self.succeeded_ms
        stats.compaction_failed_ms = self.failed_ms
        stats.compaction_duration_ms = self.duration_ms
        stats.compaction_read_bytes = self.read_bytes
        stats.compaction_writes = self.writes

    @property
    def running(self) -> bool:
        return self.status is ProcessStatus.RUNNING

    def start(self) -> None:
        """Begin. Raises AlreadyExists while one runs, or waits for its place."""
        if self.running:
            raise AlreadyExists("Compaction already in progress")
        self.status, self.last_error = ProcessStatus.RUNNING, ""
        self._tasks.spawn("run", self._run())

    async def close(self) -> None:
        """Stop. What was written is deleted when the log is opened again."""
        await self._tasks.close()
        if self.running:
            self.status = ProcessStatus.NOT_RUN

    async def _run(self) -> None:
        async with self._places:
            began = self._clock.now()
            try:
                await self._compact()
            except MagnetarError as error:
                log.warning("compaction.failed topic=%s error=%s", self._topic, error)
                self._failed(str(error))
            except Exception as error:
                log.exception("compaction.defect topic=%s", self._topic)
                self._failed(f"{type(error).__name__}: {error}")
            else:
                self.status = ProcessStatus.SUCCESS
                self.succeeded_ms = self._clock.wall_ms()
                self.succeeded_count += 1
            finally:
                self.duration_ms = round((self._clock.now() - began) * 1000)

    def _failed(self, error: str) -> None:
        self.status, self.last_error = ProcessStatus.ERROR, error
        self.failed_ms = self._clock.wall_ms()
        self.failed_count += 1

    async def _compact(self) -> None:
        ledger = self._ledger
        before = EARLIEST if ledger.compacted is None else ledger.compacted.horizon
        if not ledger.entry_count or ledger.last_visible <= before:
            return  # Nothing was published.
        writer = await ledger.begin_compaction()
        horizon = ledger.last_visible
        last = LastMessages(
            keys_max=self._settings.compaction_keys_max,
            retain_null_key=self._settings.compaction_retains_null_key,
        )
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._abandon, writer)
            async for run in self._runs(horizon):
                for entry_id, entry in enumerate(run.data, run.first_entry_id):
                    await self._in_turns(last.note(Position(run.ledger_id, entry_id), entry))
            await self._copy(last, horizon, writer)
            stack.pop_all()
        await writer.finish(horizon)
        self.removed_count = last.message_count - last.kept_count
        log.info(
            "compaction.done topic=%s messages=%d kept=%d",
            self._topic,
            last.message_count,
            last.kept_count,
        )

    async def _copy(
        self, last: LastMessages, horizon: Position, writer: CompactedLedgerWriter
    ) -> None:
        """Write what stays, in parts that are durable before more is read."""
        waiting: list[CompactedEntry] = []
        size_bytes = 0
        async for run in self._runs(horizon):
            for index, entry in enumerate(run.data):
                position = Position(run.ledger_id, run.first_entry_id + index)
                left = await self._in_turns(last.sift(position, entry))
                if left is None:
                    continue
                known = run.checksums[index] if left is entry else checksum(left)
                waiting.append(CompactedEntry(position, left, known))
                size_bytes += len(left)
                if len(waiting) >= READ_ENTRIES_MAX or size_bytes >= READ_BYTES_MAX:
                    await self._append(writer, waiting, size_bytes)
                    waiting, size_bytes = [], 0
        await self._append(writer, waiting, size_bytes)

    async def _append(
        self, writer: CompactedLedgerWriter, entries: list[CompactedEntry], size_bytes: int
    ) -> None:
        if entries:
            began = self._clock.now()
            await writer.append(entries)
            self.writes.note(len(entries), size_bytes, self._clock.now() - began)

    async def _abandon(self, writer: CompactedLedgerWriter) -> None:
        try:
            await writer.abandon()
        except MagnetarError as error:  # It is deleted when the log is opened again.
            log.info("compaction.not_deleted topic=%s error=%s", self._topic, error)

    async def _runs(self, horizon: Position) -> AsyncIterator[EntryRun]:
        """What an earlier compaction left, and the log behind it, up to the horizon."""
        reader, place = self._ledger.compacted_reader(), EARLIEST
        while place <= horizon:
            run = await reader.read(place, READ_ENTRIES_MAX, READ_BYTES_MAX)
            if run is None or run.first > horizon:
                return
            if run.last > horizon:
                run = run.part(0, horizon.entry_id + 1 - run.first_entry_id)
            self.read_bytes += run.size_bytes
            for part in self._shown(run):
                yield part
            place = Position(run.ledger_id, run.last_entry_id + 1)

    def _shown(self, run: EntryRun) -> Sequence[EntryRun]:
        """The parts of a run that are of no aborted transaction."""
        transactions = self._state.transactions
        return [run] if transactions is None else transactions.shown(run)

    async def _in_turns(self, work: Generator[None, None, T]) -> T:
        """Do work that pauses, and let everybody else have a turn at each pause."""
        while True:
            try:
                next(work)
            except StopIteration as end:
                result: T = end.value
                return result
            await self._clock.sleep(0)


def bytes_to_compact(ledger: ManagedLedger) -> int:
    """About how many bytes were published since the last compaction."""
    cursor = ledger.cursors.get(COMPACTION_CURSOR)
    return ledger.size_bytes if cursor is None else cursor.backlog_bytes
