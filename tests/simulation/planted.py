"""Faults in the code, each of which the simulation must find: a part replaced by a wrong one."""

import asyncio
from unittest.mock import patch

from simulation.planting import Planted

from magnetar import inner
from magnetar.broker.dispatch.draining_slots import DrainingSlots
from magnetar.broker.topics.features.deduplication import Deduplication
from magnetar.broker.topics.features.topic_transactions import TopicTransactions
from magnetar.broker.topics.publishing.sequence_ids import SequenceIds
from magnetar.broker.topics.transaction_buffer import TransactionBuffer
from magnetar.storage.ledger.bookkeeper.acks import Acks
from magnetar.storage.ledger.bookkeeper.bookie import Bookie
from magnetar.storage.ledger.bookkeeper.wire import Flag
from magnetar.storage.ledger.bookkeeper.writer import BookKeeperWriter
from magnetar.storage.ledger.store import LedgerOptions
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.log_trimmer import LogTrimmer
from magnetar.storage.managed_ledger.position_ledger import PositionLedger
from magnetar.storage.managed_ledger.settings import ledger_metadata
from magnetar.storage.metadata.leases import Leases
from magnetar.testing.simulation.bucket import BucketOffloader

PLANTED = Planted()


@PLANTED
def early_ownership():
    """A lease that another broker holds is taken as if it were free."""

    async def take(self, path, *, free=False):
        holder = await right(self, path, free=free)
        if holder != self._value:
            self.held[path] = 0
        return self._value

    right = Leases.take
    with patch.object(Leases, "take", take):
        yield


@PLANTED
def lost_fence():
    """Who recovers a ledger does not fence who writes to it."""

    async def read(self, ledger_id, entry_id, timeout_s, *how):
        fences = how and how[0] & Flag.FENCE
        return await right(self, ledger_id, entry_id, timeout_s, *([] if fences else how))

    right = Bookie.read
    with patch.object(Bookie, "read", read):
        yield


@PLANTED
def answer_before_quorum():
    """An entry is answered when one bookie has it."""
    acks = "magnetar.storage.ledger.bookkeeper.writer.Acks"
    with patch(acks, lambda size, write, _: Acks(size, write, 1)):
        yield


@PLANTED
def cursor_saved_before_its_ledger():
    """The record of a cursor names a ledger that does not have its position yet."""

    async def append(self, position):
        before = self._writer
        if before is None:
            metadata = ledger_metadata(self._log, self._cursor)
            self._writer = await self._ledgers.create(LedgerOptions(metadata=metadata))
        self._writer.append([position], [inner.checksum(position)], lambda *_: None)
        return self._writer.ledger_id

    with patch.object(PositionLedger, "append", append):
        yield


@PLANTED
def commit_marker_twice():
    """A transaction whose end is told again has a second marker."""

    async def end(self, transaction, *, commit, low_watermark):
        await right(self, transaction, commit=commit, low_watermark=low_watermark)
        if transaction in ended:
            await self._end(transaction, commit=commit).answer
        ended.add(transaction)

    ended = set()
    right = TopicTransactions.end
    with patch.object(TopicTransactions, "end", end):
        yield


@PLANTED
def trimmed_by_a_stale_list():
    """Ledgers are deleted by the list of cursors that there were when the log was opened."""

    def init(self, *arguments, **named):
        right(self, *arguments, **named)
        self.cursors = dict(self.cursors)

    right = LogTrimmer.__init__
    with patch.object(LogTrimmer, "__init__", init):
        yield


@PLANTED
def offload_deletes_too_early():
    """A ledger counts as offloaded when its copy begins."""

    async def offload(self, ledger, properties, secrets):
        copying.add(asyncio.ensure_future(right(self, ledger, properties, secrets)))
        return {}

    copying = set()
    right = BucketOffloader.offload
    with patch.object(BucketOffloader, "offload", offload):
        yield


@PLANTED
def receipt_of_a_dropped_run():
    """What a ledger could not store is answered as if it were stored."""

    def lied(self, error):
        for run in self._runs:
            run.answered(run.first, None)
            run.answered = lambda *_: None
        right(self, error)

    right = BookKeeperWriter._answer_all
    with patch.object(BookKeeperWriter, "_answer_all", lied):
        yield


@PLANTED
def deduplication_forgotten():
    """Who opens a topic does not learn which sequence ids are stored."""
    with (
        patch.object(Deduplication, "_learn", lambda *_: None),
        patch.object(SequenceIds, "restore", lambda *_: None),
    ):
        yield


@PLANTED
def trimmed_by_the_fastest_cursor():
    """Ledgers are deleted that another cursor has not read."""

    def fastest_mark(self):
        return max((each.mark for each in self.cursors.values() if each.durable), default=None)

    with patch.object(LogTrimmer, "_slowest_mark", fastest_mark):
        yield


@PLANTED
def key_moved_while_pending():
    """A key goes to another consumer before all of it is acknowledged that the first one has."""
    with patch.object(DrainingSlots, "refuse", lambda *_: False):
        yield


@PLANTED
def backlog_counts_what_is_acknowledged():
    """What is acknowledged behind something that is not counts as if it were not, either."""

    def backlog(self):
        layout = self._log.layout
        return layout.entries_between(self.acks.mark, layout.last)

    with patch.object(Cursor, "backlog", property(backlog)):
        yield


@PLANTED
def aborted_is_shown():
    """What an aborted transaction has published is delivered."""
    with patch.object(TransactionBuffer, "aborted_in", lambda *_: set()):
        yield
