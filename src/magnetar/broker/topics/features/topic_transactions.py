"""Transactions of a topic: made when the first run of one comes, or when the log says there were.

That there were is a property of the log, durable before anything of a transaction is: without it a
topic that is opened again would show everything. Where each transaction stands is known by what was
appended, and after a restart by a snapshot and the entries behind it.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from magnetar.broker.topics.ended_transactions import EndedTransactions
from magnetar.broker.topics.open_transactions import OpenTransactions
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.sequence_ids import NONE
from magnetar.broker.topics.publishing.topic_writer import TopicWriter, Waiting
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.broker.topics.transaction_buffer import Entries, TransactionBuffer
from magnetar.broker.topics.transaction_logs import PUBLISHED_BEHIND, SNAPSHOTS, buffer_log
from magnetar.errors import MagnetarError, NotAllowed, TopicClosed
from magnetar.message import markers, metadata
from magnetar.message.entry import checksum
from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.model.stats import TopicStats
from magnetar.model.txn_id import TxnId
from magnetar.tasks import Tasks

from .transaction_snapshots import TransactionSnapshots

log = logging.getLogger(__name__)

SNAPSHOT_ENTRIES: Final = 10_000
"""A snapshot is taken after so many entries: those that are read again when a topic is opened."""

READ_ENTRIES_MAX: Final = 1_000
"""Entries that are looked at before others are served."""

_READ_BYTES_MAX: Final = 5 * 1024 * 1024


class Marker:
    """The end of a transaction on its way into the log."""

    __slots__ = ("answer", "commit", "transaction")

    def __init__(self, transaction: TxnId, *, commit: bool) -> None:
        self.transaction = transaction
        self.commit = commit
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.answer.add_done_callback(lambda done: done.cancelled() or done.exception())

    def stored(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        self.answer.set_result(None)

    def refused(self, run: SendRun, error: MagnetarError) -> None:
        self.answer.set_exception(error)

    def dropped(self, run: SendRun) -> None:
        self.answer.set_exception(TopicClosed("The topic was closed: ask its next owner"))


class TopicTransactions:
    """The transactions of one topic. It observes what is appended."""

    def __init__(
        self,
        state: StoredTopicState,
        writer: TopicWriter,
        ends: EndedTransactions | None = None,
    ) -> None:
        """Begin to observe; the caller must ``recover``, or have ``begin`` called.

        ``ends`` are those that the topic was told of before.
        """
        self.buffer = state.transactions = TransactionBuffer(ends)
        self._state = state
        self._ledger = state.ledger
        self._writer = writer
        self._tasks = Tasks(f"transactions of {state.name}")
        self._open = OpenTransactions(
            state.context,
            state.name,
            None,
            self._tasks,
            find=lambda: self.buffer.open,
            abort=lambda transaction: self.end(transaction, commit=False, low_watermark=-1),
        )
        self._under_way: set[TxnId] = set()  # Those whose first send was taken and is not stored.
        self._ending: dict[TxnId, Marker] = {}
        self._snapshots: TransactionSnapshots | None = None  # None before the first one.
        self._snapshot: asyncio.Task[None] | None = None
        self._known_to = state.ledger.last_position  # All up to there is in the buffer,
        self._unsaved = 0  # and so many entries of that are in no snapshot,
        self._newly_aborted: list[Entries] = []  # neither are these.
        writer.observers = (self, *writer.observers)  # Before what remembers what is not refused.
        writer.begin_transactions = None

    def begin(self) -> None:
        """Have the log say that it has transactions, before anything more is appended to it."""
        self._writer.hold()
        self._tasks.spawn("begin", self._begin())

    async def _begin(self) -> None:
        error = None
        try:
            await self._ledger.change_properties({PUBLISHED_BEHIND: str(self._known_to)})
        except MagnetarError as failure:
            error = failure
        self._writer.release(error)

    async def recover(self) -> None:
        """Learn what was stored before. Raises what the stores raise."""
        behind = self._ledger.properties[PUBLISHED_BEHIND]
        known = Position(*map(int, behind.split(":")))
        if SNAPSHOTS in self._ledger.properties:
            self._snapshots = await self._open_snapshots()
            known = max(known, await self._snapshots.restore(self.buffer))
        position = self._ledger.next_position(known)
        while position <= self._known_to:
            run = await self._ledger.read(position, READ_ENTRIES_MAX, _READ_BYTES_MAX)
            if run is None:
                break
            for entry_id, entry in enumerate(run.data, run.first_entry_id):
                self._learn(Position(run.ledger_id, entry_id), entry)
            self._unsaved += len(run.data)
            position = Position(run.ledger_id, run.last_entry_id + 1)
            await self._state.clock.sleep(0)
        self.buffer.committed_count = self.buffer.aborted_count = 0
        self.buffer.forget(self._ledger.layout.trimmed_to)
        self._show()

    def before_append(self, producer: Producer, run: SendRun) -> Mapping[int, bool | MagnetarError]:
        """Refuse what comes too late."""
        if run.transaction is None:
            return NONE
        transaction = TxnId(*run.transaction)
        if transaction in self._ending or self.buffer.has_ended(transaction):
            refusal = NotAllowed(
                f"Transaction [{transaction}] has been ended. "
                "Please use a new transaction to send message."
            )
            return dict.fromkeys(range(len(run.data)), refusal)
        if transaction not in self.buffer.open:
            self._under_way.add(transaction)
        return NONE

    def after_append(self, runs: Sequence[Waiting], last: Position) -> None:
        ledger_id, end = last
        entry_id = end + 1 - sum(len(run.data) for _, run in runs)
        oldest = self.buffer.oldest
        for appender, run in runs:
            count = len(run.data)
            if run.transaction is not None and count:
                transaction = TxnId(*run.transaction)
                if isinstance(appender, Marker):
                    marker = Position(ledger_id, entry_id)
                    self._ended(transaction, marker, commit=appender.commit)
                else:
                    assert isinstance(appender, Producer), "what else publishes in a transaction"
                    self._under_way.discard(transaction)
                    self.buffer.stored(
                        transaction,
                        (ledger_id, entry_id, entry_id + count - 1),
                        producer=appender.name,
                        published_ms=self._state.clock.wall_ms(),
                    )
            entry_id += count
            self._unsaved += count
        self._known_to = last
        if self.buffer.oldest != oldest:
            self._show()
        self._snapshot_from(SNAPSHOT_ENTRIES)

    async def end(self, transaction: TxnId, *, commit: bool, low_watermark: int) -> None:
        """End a transaction as ``StoredTopic.end_transaction`` says."""
        late = self.buffer.raise_watermark(transaction.most_bits, low_watermark)
        known = transaction in self.buffer.open or transaction in self._under_way
        if not known:  # What it publishes may come yet.
            self.buffer.ends.end(transaction)
        waiting = [self._end(transaction, commit=commit)] if known else []
        waiting += [self._end(each, commit=False) for each in late if each != transaction]
        for marker in waiting:
            await asyncio.shield(marker.answer)

    def fill(self, stats: TopicStats) -> None:
        """Add how many there are and were."""
        stats.open_transactions = len(self.buffer.open)
        stats.committed_transactions = self.buffer.committed_count
        stats.aborted_transactions = self.buffer.aborted_count

    def snapshot(self) -> None:
        """Leave little to be read when the topic is opened again, if that is worth it."""
        self._snapshot_from(READ_ENTRIES_MAX)

    async def close(self) -> None:
        """Save what is known. What cannot be saved is read again."""
        self.snapshot()
        if self._snapshot is not None:
            await asyncio.shield(self._snapshot)
        await self._tasks.close()
        if self._snapshots is not None:
            try:
                await self._snapshots.close()
            except MagnetarError as error:
                log.info("transactions.not_closed topic=%s error=%s", self._state.name, error)

    def _end(self, transaction: TxnId, *, commit: bool) -> Marker:
        """Append a marker, or find the one that is being appended."""
        marker = self._ending.get(transaction)
        if marker is None:
            marker = Marker(transaction, commit=commit)
            now_ms = self._state.clock.wall_ms()
            entry = markers.end_of_transaction(transaction, now_ms, commit=commit)
            run = SendRun.of(0, [0], [entry], [checksum(entry)], [0], [0], transaction)
            self._writer.append(marker, run)
            self._ending[transaction] = marker
        return marker

    def _ended(self, transaction: TxnId, marker: Position, *, commit: bool) -> None:
        self._ending.pop(transaction, None)
        self._under_way.discard(transaction)  # Of which all were duplicates.
        self._newly_aborted += self.buffer.end(transaction, marker, commit=commit)

    def _show(self) -> None:
        """Let readers see everything before the oldest open transaction."""
        oldest, ledger = self.buffer.oldest, self._ledger
        if oldest is None:
            ledger.show_to(None)
        else:
            self._open.watch()
            ledger.show_to(ledger.layout.previous_position(oldest[1].first))

    def _learn(self, position: Position, entry: bytes) -> None:
        """Look at an entry that was stored before the topic was opened."""
        named = metadata.transaction_of(entry)
        if named is None:
            return
        seen, transaction = metadata.peek(entry), TxnId(*named)
        if seen.marker_type is not None:
            commit = seen.marker_type == markers.MarkerType.TXN_COMMIT
            self._ended(transaction, position, commit=commit)
        else:
            self.buffer.stored(
                transaction,
                (position.ledger_id, position.entry_id, position.entry_id),
                producer=seen.producer_name,
                published_ms=seen.publish_time_ms,
            )

    def _snapshot_from(self, unsaved: int) -> None:
        """Take a snapshot where so many entries are in none, unless one is being taken."""
        if self._unsaved >= unsaved and self._snapshot is None:
            self._snapshot = self._tasks.spawn("snapshot", self._take_snapshot())

    async def _take_snapshot(self) -> None:
        """Take a snapshot; one that fails is taken again later."""
        try:
            if self._snapshots is None:
                await self._ledger.change_properties({SNAPSHOTS: "1"})
                self._snapshots = await self._open_snapshots()
            self.buffer.forget(self._ledger.layout.trimmed_to)
            self._show()
            aborted, self._newly_aborted = self._newly_aborted, []
            unsaved, self._unsaved = self._unsaved, 0
            try:
                await self._snapshots.take(self.buffer, self._known_to, aborted)
            except MagnetarError:
                self._newly_aborted = aborted + self._newly_aborted
                self._unsaved += unsaved
                raise
        except MagnetarError as error:
            log.warning("transactions.no_snapshot topic=%s error=%s", self._state.name, error)
        finally:
            self._snapshot = None

    async def _open_snapshots(self) -> TransactionSnapshots:
        return TransactionSnapshots(await buffer_log(self._state.context, self._state.name))
