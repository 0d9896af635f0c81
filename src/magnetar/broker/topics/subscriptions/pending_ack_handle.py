"""The pending acknowledgements of one subscription, and the log that they are kept in.

What is acknowledged in a transaction is a record before it is answered, and so is the end of the
transaction. A replay therefore does again what was committed, which the record of the cursor may
lack after a crash. A *settled* record stands for all records before it, and lets them be trimmed:
it says what is pending, and what was committed since the cursor was saved.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from magnetar.broker.topics.ended_transactions import EndedTransactions
from magnetar.errors import MagnetarError, NotAllowed
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.record_log import RecordLog
from magnetar.tasks import Tasks

from .pending_acks import Part, PendingAcks, TransactionAcks

log = logging.getLogger(__name__)

RECORDS_MAX: Final = 1_000
"""So many records are replayed, about, before they are settled."""


class PendingAckHandle:
    """Acknowledges in transactions, and ends them, for one subscription."""

    def __init__(
        self,
        who: str,
        cursor: Cursor,
        records: RecordLog,
        tasks: Tasks,
        ends: EndedTransactions,
        *,
        ended: Callable[[TransactionAcks, bool], None],
        failed: Callable[[], None],
    ) -> None:
        """``ends`` are those that the subscription was told of before.

        ``ended`` is told what a transaction had acknowledged, and whether it is committed.

        ``failed`` is called when the log took no record: the subscription must be opened again.
        """
        self.pending = PendingAcks(who, cursor)
        self._cursor = cursor
        self._records = records
        self._tasks = tasks
        self._ends = ends
        self._tell_ended = ended
        self._failed = failed
        self._ending: dict[TxnId, tuple[asyncio.Future[Position], bool]] = {}
        """The ends that are being written, and whether they are commits."""
        self._commits: list[TransactionAcks] = []  # Those that the saved cursor may lack.
        self._count = 0  # Records behind the last settled one.
        self._settling = False

    @property
    def records(self) -> RecordLog:
        """Its log, for whoever looks at that."""
        return self._records

    async def recover(self) -> None:
        """Learn what is pending, and commit what was. Raises what the stores raise."""
        pending: dict[TxnId, TransactionAcks] = {}
        committed: list[TransactionAcks] = []
        async for run in self._records.replay():
            for record in map(json.loads, run.data):
                self._count += 1
                if "pending" in record:
                    pending = {
                        TxnId(*each["txn"]): TransactionAcks.of_record(each)
                        for each in record["pending"]
                    }
                    committed = list(map(TransactionAcks.of_record, record["committed"]))
                    self._count = 1
                    continue
                transaction = TxnId(*record["txn"])
                if "commit" in record:
                    self._ends.end(transaction)
                    acks = pending.pop(transaction, None)
                    if acks is not None and record["commit"]:
                        committed.append(acks)
                else:
                    self._merge(pending, transaction, TransactionAcks.of_record(record))
        for acks in committed:
            self._commit(acks)
        for transaction, acks in pending.items():
            self.pending.restore(transaction, acks)
            self._ends.begin(transaction)

    def acknowledge(
        self, transaction: TxnId, entries: Mapping[int, Sequence[int]], parts: Sequence[Part]
    ) -> Awaitable[Position]:
        """Acknowledge; the answer comes when this is durable.

        Raises TransactionConflict, and NotAllowed in a transaction that has ended.
        """
        begins = self._begins(transaction)
        self.pending.add(transaction, entries, parts)
        if begins:
            self._ends.begin(transaction)
        acks = TransactionAcks()
        acks.add(entries, parts)
        return self._append({"txn": transaction, **acks.record()})

    def acknowledge_cumulative(
        self, transaction: TxnId, position: Position, words: list[int] | None
    ) -> Awaitable[Position]:
        """The same up to a position, and of the batch there the messages whose bit is 0."""
        begins = self._begins(transaction)
        self.pending.add_cumulative(transaction, position, words)
        if begins:
            self._ends.begin(transaction)
        acks = TransactionAcks(upto=position, upto_words=words or None)
        return self._append({"txn": transaction, **acks.record()})

    async def end(self, transaction: TxnId, *, commit: bool, low_watermark: int) -> None:
        """End a transaction as ``Subscription.end_transaction`` says."""
        late = self._ends.raise_watermark(transaction.most_bits, low_watermark)
        waiting = [self._end(transaction, commit=commit)]
        waiting += [self._end(each, commit=False) for each in late]
        for end in waiting:
            if end is not None:
                await asyncio.shield(end)
        if self._count >= RECORDS_MAX and not self._settling:
            self._settling = True
            self._tasks.spawn("settle", self._settle())

    async def moved(self) -> None:
        """The cursor was moved and saved: what was committed before is not to be done again."""
        self._commits.clear()
        await self._write_settled()

    async def close(self) -> None:
        """Let go of the log. What fails is learned again when it is opened."""
        try:
            await self._records.close()
        except MagnetarError as error:
            log.info("pending_acks.not_closed cursor=%s error=%s", self._cursor.name, error)

    async def delete(self) -> None:
        """Forget everything. Raises what the stores raise."""
        await self._records.delete()

    def _begins(self, transaction: TxnId) -> bool:
        """Whether nothing is pending of a transaction. Raises NotAllowed when it has ended."""
        if transaction in self._ending or transaction in self._ends:
            raise NotAllowed(
                f"Transaction [{transaction}] has been ended. "
                "Please use a new transaction to acknowledge messages."
            )
        return transaction not in self.pending.open

    def _end(self, transaction: TxnId, *, commit: bool) -> "asyncio.Future[Position] | None":
        """Write how it ended, unless that is being done. None: nothing is pending of it."""
        if transaction in self._ending:
            return self._ending[transaction][0]
        if transaction not in self.pending.open:
            self._ends.end(transaction)  # What it acknowledges may come yet.
            return None

        def stored(end: "asyncio.Future[Position]") -> None:
            if not end.cancelled() and end.exception() is None:
                self._ended(transaction, commit=commit)

        end = self._append({"txn": transaction, "commit": commit})
        self._ending[transaction] = end, commit
        end.add_done_callback(stored)
        return end

    def _ended(self, transaction: TxnId, *, commit: bool) -> None:
        """The end is durable."""
        del self._ending[transaction]
        self._ends.end(transaction)
        acks = self.pending.end(transaction)
        if commit:
            self._commit(acks)
        self._tell_ended(acks, commit)

    def _commit(self, acks: TransactionAcks) -> None:
        """Acknowledge what was pending; after a crash, perhaps again."""
        self._commits.append(acks)
        cursor = self._cursor
        for ledger_id, entry_ids in acks.entries.items():
            cursor.acknowledge_entries(ledger_id, sorted(entry_ids))
        for position, words in acks.parts.items():
            cursor.acknowledge_batch(position, words)
        if acks.upto is not None:
            if acks.upto_words is None:
                cursor.acknowledge_cumulative(acks.upto)
            else:
                cursor.acknowledge_cumulative(cursor.previous(acks.upto))
                cursor.acknowledge_batch(acks.upto, acks.upto_words)

    async def _settle(self) -> None:
        """Save the cursor, and let one record stand for all before it. It is tried again later."""
        try:
            known = len(self._commits)
            await self._cursor.flush()
            del self._commits[:known]
            await self._write_settled()
        except MagnetarError as error:
            log.warning("pending_acks.not_settled cursor=%s error=%s", self._cursor.name, error)
        finally:
            self._settling = False

    async def _write_settled(self) -> None:
        ending = [self.pending.open[each] for each, (_, commit) in self._ending.items() if commit]
        record = {
            "pending": [
                {"txn": transaction, **acks.record()}
                for transaction, acks in self.pending.open.items()
                if transaction not in self._ending
            ],
            "committed": [acks.record() for acks in [*self._commits, *ending]],
        }
        self._count = 0
        end = await self._append(record)
        self._records.trim(Position(end.ledger_id, end.entry_id - 1))

    def _append(self, record: Mapping[str, Any]) -> "asyncio.Future[Position]":
        self._count += 1
        data = json.dumps(record, separators=(",", ":")).encode()
        answer = self._records.append([data])
        answer.add_done_callback(self._stored)
        return answer

    def _stored(self, answer: "asyncio.Future[Position]") -> None:
        if not answer.cancelled() and answer.exception() is not None:
            self._failed()

    @staticmethod
    def _merge(
        pending: dict[TxnId, TransactionAcks], transaction: TxnId, acks: TransactionAcks
    ) -> None:
        its = pending.setdefault(transaction, TransactionAcks())
        its.add(acks.entries, [(at, words, acks.sizes[at]) for at, words in acks.parts.items()])
        if acks.upto is not None:
            its.upto, its.upto_words = acks.upto, acks.upto_words
