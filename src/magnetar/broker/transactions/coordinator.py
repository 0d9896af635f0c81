"""One coordinator of transactions: which there are, what takes part in each, and how each ends.

What changes is in memory at once and in the coordinator's log a little later; who asked is answered
when it is durable, in the order in which was asked. All that is asked for in one iteration of the
event loop is appended in one write. A transaction begins before it is stored, with a number of a
block that is reserved, and one that has no part anywhere ends so: nothing rests on those. A crash
may take the one away, which is then aborted, and bring the other back until its time is over.
Records for which nobody waits are held back and go with the next one for which somebody does: a
write of their own would be synced, and what is asked next would wait for that.

An end goes in these steps, of which a crash can come between any two:

1. COMMITTING or ABORTING is stored: from now on the transaction ends so, whatever happens.
2. The topics and subscriptions that took part are told, over and over until all have answered.
3. The client is answered. COMMITTED or ABORTED is stored some time, for which nobody waits: where
   it is lost, the next one to serve the coordinator begins with step 2 again, and changes nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from typing import Final, NamedTuple, Protocol

from magnetar.clock import Clock
from magnetar.errors import (
    CoordinatorNotFound,
    LimitReached,
    MagnetarError,
    TransactionNotFound,
)
from magnetar.late_dataclass import dataclass
from magnetar.loop_iteration import LoopIteration, Phase
from magnetar.model.histogram import Histogram
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId
from magnetar.storage.record_log import RecordLog
from magnetar.tasks import Tasks

from . import records
from .timeouts import Timeouts
from .transaction import Transaction, TxnEvent, TxnStatus, TxnSubscription

log = logging.getLogger(__name__)

Answer = Callable[[MagnetarError | None], None]

RECORDS_MIN: Final = 10_000
"""A log of fewer records is not shortened."""
RECORDS_EACH_MAX: Final = 10
"""A log is shortened when it has so many records for each transaction that has not ended."""
HELD_BACK_MAX: Final = 100
"""So many records are held back. After a crash, so many ends are told again, at most."""
RESERVED: Final = 1_000
"""So many numbers are reserved in one record: a transaction with one of them begins at once."""
ENDED_MAX: Final = 10_000
"""So many transactions that ended last are known, to tell who got no answer and asks again; the
log keeps them too, so that the next broker that serves the coordinator tells the same."""
AGAIN_S: Final = 0.1
AGAIN_S_MAX: Final = 10.0
"""How long to wait before topics that could not be told of an end are told again: twice as long
each time."""


class Participants(Protocol):
    """The topics and subscriptions of transactions, here and at other brokers."""

    async def end(self, transaction: Transaction, low_watermark: int) -> None:
        """Commit or abort at all that took part; what has ended there is no error.

        Transactions up to number ``low_watermark`` of the coordinator have ended. Raises what any
        of them raises, when all were told.
        """


class Ended(NamedTuple):
    """A transaction that has ended."""

    ending: records.Ending
    told: frozenset[str] = frozenset()  # The clients that were answered by this broker.


@dataclass(slots=True)
class CoordinatorCounts:
    """Counts of a coordinator's transactions since it was loaded."""

    created: int = 0
    committed: int = 0
    aborted: int = 0  # Those that timed out, too.
    timed_out: int = 0
    appended: int = 0  # Records.
    latency: Histogram = field(default_factory=Histogram)  # From the beginning to a commit.


class Coordinator:
    """One coordinator that this broker serves."""

    def __init__(
        self,
        number: int,
        record_log: RecordLog,
        replayed: records.Replayed,
        *,
        participants: Participants,
        timeouts: Timeouts,
        active_max: int,
        clock: Clock,
        iteration: LoopIteration,
    ) -> None:
        """For ``open_coordinator``. ``active_max``: as many transactions as there are; 0: any."""
        self.number = number
        self.counts = CoordinatorCounts()
        self.recovered_ms = (0, 0)  # When recovery began and ended, since the epoch.
        self.transactions = replayed.transactions  # Those that have not ended, by number.
        self.log = record_log
        self._next = replayed.next
        self._reserving = self._next  # Numbers below that are reserved, some of them not durably.
        self._reserved = self._next  # Numbers below that are reserved: no crash gives them again.
        self._participants = participants
        self._timeouts = timeouts
        self._active_max = active_max
        self._clock = clock
        self._iteration = iteration
        self._tasks = Tasks(f"coordinator {number}")
        self._records: list[bytes] = []  # To be appended, at the end of this iteration if there are
        self._stored: list[Answer] = []  # those who are told when they are durable.
        self._begun: list[Answer] = []  # Who is told then, whether they are appended or not.
        self._waiting: dict[int, list[tuple[str, Answer]]] = {}
        """By number, the clients that wait for the end of a transaction."""
        last = list(replayed.ended.items())[-ENDED_MAX:]
        self._ended = {number: Ended(ending) for number, ending in last}
        self._asked = False  # Whether something was asked for in this iteration.
        self._last_append: asyncio.Future[Position] | None = None
        self._shortening = False
        self._closing = False
        self._failure: MagnetarError | None = None

    @property
    def last_number(self) -> int:
        """The number of the last transaction that began; -1 where none has."""
        return self._next - 1

    @property
    def low_watermark(self) -> int:
        """All transactions up to this number have ended; -1: not even the first."""
        return next(iter(self.transactions), self._next) - 1

    @property
    def failed(self) -> bool:
        """Whether its log is fenced, so that it must be opened again."""
        return self._failure is not None

    def recover(self) -> None:
        """Go on with what an earlier one left: time what is open, end what was to be ended."""
        for transaction in list(self.transactions.values()):
            if transaction.status is TxnStatus.OPEN:
                self._time(transaction)
            else:
                self._carry_out(transaction)

    def begin(self, timeout_ms: int, owner: str | None, answer: Answer) -> TxnId:
        """Begin a transaction; the id may be told when ``answer`` is called without an error.

        That waits for nothing where the number is reserved: a transaction that a crash takes away
        before it is stored had no part anywhere, since those are stored behind it.

        Raises LimitReached, CoordinatorNotFound.
        """
        self._check()
        if self._active_max and len(self.transactions) >= self._active_max:
            raise LimitReached(
                f"Transaction coordinator {self.number} has {len(self.transactions)} active "
                "transactions, as many as maxActiveTransactionsPerCoordinator allows: end some, "
                "or try again when some have ended"
            )
        transaction = Transaction(
            TxnId(self.number, self._next), timeout_ms, self._clock.wall_ms(), owner
        )
        self._reserve()
        self._next += 1
        self.transactions[transaction.txn_id.least_bits] = transaction
        self.counts.created += 1
        self._time(transaction)
        if transaction.txn_id.least_bits < self._reserved:
            self._append(records.opened(transaction), None)
            self._begun.append(answer)
        else:
            self._append(records.opened(transaction), answer)
        return transaction.txn_id

    def add_topics(self, txn_id: TxnId, topics: list[str], answer: Answer) -> None:
        """Note topics in which a transaction publishes. Raises TransactionNotFound and others."""
        transaction = self._open_one(txn_id)
        transaction.topics.update(dict.fromkeys(topics))
        self._append(records.topics_added(txn_id, topics), answer)

    def add_subscriptions(
        self, txn_id: TxnId, subscriptions: list[TxnSubscription], answer: Answer
    ) -> None:
        """Note subscriptions in which a transaction acknowledges. Raises as ``add_topics``."""
        transaction = self._open_one(txn_id)
        transaction.subscriptions.update(dict.fromkeys(subscriptions))
        self._append(records.subscriptions_added(txn_id, subscriptions), answer)

    def end(self, txn_id: TxnId, client: str, answer: Answer, *, commit: bool) -> None:
        """Commit or abort; ``answer`` is called when all that took part have done so.

        ``client`` is who asks, by its address. One that asks for an end that there was, and was not
        told of it, is told now: its connection was lost. Raises TransactionNotFound for any other
        that has ended, as Pulsar does, and InvalidTxnStatus while it is ending the other way. So
        who is told that there is none, and asks for the other end and is granted it, knows.
        """
        ended = self._ended.get(txn_id.least_bits)
        if ended is not None and ended.ending.commit == commit and client not in ended.told:
            self._check()
            self._ended[txn_id.least_bits] = ended._replace(told=ended.told | {client})
            answer(None)
            return
        transaction = self.find(txn_id)
        event = TxnEvent.COMMIT if commit else TxnEvent.ABORT
        transaction.check(event)
        self._waiting.setdefault(txn_id.least_bits, []).append((client, answer))
        self._end(transaction, event)

    def time_out(self, txn_id: TxnId) -> None:
        """Abort a transaction whose time is over, if it is still open."""
        transaction = self.transactions.get(txn_id.least_bits)
        if transaction is None or transaction.status is not TxnStatus.OPEN or self.failed:
            return
        log.info("transaction.timed_out txn=%s timeout_ms=%d", txn_id, transaction.timeout_ms)
        self.counts.timed_out += 1
        self._end(transaction, TxnEvent.TIME_OUT)

    def find(self, txn_id: TxnId) -> Transaction:
        """A transaction that has not ended. Raises TransactionNotFound, CoordinatorNotFound."""
        self._check()
        transaction = self.transactions.get(txn_id.least_bits)
        if transaction is None:
            # The quotes and blanks are Pulsar's, by which clients may know the sentence.
            raise TransactionNotFound(f"The transaction with this txdID `{txn_id}`not found ")
        return transaction

    def owner_of(self, txn_id: TxnId) -> str | None:
        """The role that opened a transaction, or one that has ended of late. Raises as ``find``."""
        ended = self._ended.get(txn_id.least_bits)
        return self.find(txn_id).owner if ended is None else ended.ending.owner

    def lose(self) -> None:
        """Grant and change nothing more: another broker may serve it. The caller closes it."""
        self._fail(not_found(self.number))

    async def close(self) -> None:
        """Answer what was asked for, and serve it no more. Raises what the stores raise.

        Whoever waits for an end is told to ask again, wherever the coordinator is served next.
        """
        self._closing = True
        self._flush()
        if self._last_append is not None:
            await asyncio.wait([self._last_append])
        await self._tasks.close()
        self.lose()
        await self.log.close()

    def _check(self) -> None:
        if self._closing or self.failed:
            raise not_found(self.number)

    def _open_one(self, txn_id: TxnId) -> Transaction:
        transaction = self.find(txn_id)
        transaction.check_open()
        return transaction

    def _time(self, transaction: Transaction) -> None:
        """Give a transaction its time, from now on.

        One that was begun elsewhere has all of it again: by the date of another broker it could be
        over before it is for the client.
        """
        self._timeouts.add(transaction.txn_id, transaction.timeout_ms / 1000)

    def _end(self, transaction: Transaction, event: TxnEvent) -> None:
        was = transaction.status
        transaction.on(event)
        if was is TxnStatus.OPEN:
            self._timeouts.discard(transaction.txn_id)
            if not transaction.takes_part_somewhere:
                self._carried_out(transaction)  # Nothing rests on how it has ended.
                return
            self._append(
                records.status_changed(transaction), partial(self._end_stored, transaction)
            )

    def _end_stored(self, transaction: Transaction, error: MagnetarError | None) -> None:
        if error is None:
            self._carry_out(transaction)
        else:
            self._answer_end(transaction, error)

    def _carry_out(self, transaction: Transaction) -> None:
        """Tell all that took part, which are none where nothing was published or acknowledged."""
        if transaction.takes_part_somewhere:
            self._tasks.spawn(f"end {transaction.txn_id}", self._keep_telling(transaction))
        else:
            self._carried_out(transaction)

    async def _keep_telling(self, transaction: Transaction) -> None:
        pause_s = AGAIN_S
        while True:
            try:
                await self._participants.end(transaction, self.low_watermark)
            except MagnetarError as error:
                log.warning(
                    "transaction.not_ended txn=%s status=%s again_s=%g error=%s",
                    transaction.txn_id,
                    transaction.status.value,
                    pause_s,
                    error,
                )
                await self._clock.sleep(pause_s)
                pause_s = min(2 * pause_s, AGAIN_S_MAX)
            else:
                self._carried_out(transaction)
                return

    def _carried_out(self, transaction: Transaction) -> None:
        if self._closing or self.failed:
            return  # Whoever serves it next finds that out.
        transaction.on(TxnEvent.ENDED)
        del self.transactions[transaction.txn_id.least_bits]
        if transaction.commits:
            self.counts.committed += 1
            took_ms = self._clock.wall_ms() - transaction.opened_at_ms
            self.counts.latency.note(max(took_ms, 0) / 1000)
        else:
            self.counts.aborted += 1
        self._append(records.status_changed(transaction), None)
        number = transaction.txn_id.least_bits
        told = frozenset(client for client, _ in self._waiting.get(number, ()))
        self._ended[number] = Ended(records.Ending(transaction.commits, transaction.owner), told)
        if len(self._ended) > ENDED_MAX:
            del self._ended[next(iter(self._ended))]
        self._answer_end(transaction, None)

    def _answer_end(self, transaction: Transaction, error: MagnetarError | None) -> None:
        for _, answer in self._waiting.pop(transaction.txn_id.least_bits, ()):
            answer(error)

    def _reserve(self) -> None:
        """Reserve numbers before there are none left, so that nobody waits for it."""
        if self._next + RESERVED // 2 > self._reserving:
            self._reserving = reserving = self._next + RESERVED

            def stored(error: MagnetarError | None) -> None:
                if error is None:
                    self._reserved = reserving

            self._append(records.next_number(reserving), stored)

    def _append(self, record: bytes, stored: Answer | None) -> None:
        if not self._asked:
            self._asked = True
            self._iteration.at_end(Phase.APPEND, self._take)
        self._records.append(record)
        if stored is not None:
            self._stored.append(stored)

    def _take(self) -> None:
        """Append what was asked for in this iteration, unless nobody waits for it."""
        self._asked = False
        if self._stored or len(self._records) > HELD_BACK_MAX:
            self._flush()
        begun, self._begun = self._begun, []
        for answer in begun:
            answer(None)

    def _flush(self) -> None:
        """Append what there is."""
        if not self._records or self.failed:
            return
        appended, self._records = self._records, []
        waiting, self._stored = self._stored, []
        self.counts.appended += len(appended)
        self._last_append = self.log.append(appended)
        self._last_append.add_done_callback(partial(self._answered, waiting))
        records_max = max(RECORDS_MIN, RECORDS_EACH_MAX * len(self.transactions))
        if self.log.record_count > records_max and not self._shortening:
            self._shorten()

    def _answered(self, waiting: Iterable[Answer], position: asyncio.Future[Position]) -> None:
        error = position.exception()
        if error is not None and not self.failed:
            log.error("coordinator.failed coordinator=%d error=%s", self.number, error)
            self._fail(error if isinstance(error, MagnetarError) else not_found(self.number))
        for answer in waiting:
            answer(self._failure)

    def _shorten(self) -> None:
        """Append what is left of all records, and trim those."""
        self._shortening = True
        before = self.log.last_position
        left = [records.all_of(each) for each in self.transactions.values()]
        ended = records.all_ended({number: each.ending for number, each in self._ended.items()})
        stored = self.log.append([records.next_number(self._reserving), ended, *left])
        stored.add_done_callback(partial(self._trim, before))

    def _trim(self, before: Position, position: asyncio.Future[Position]) -> None:
        self._shortening = False
        if position.exception() is None:
            self.log.trim(before)

    def _fail(self, error: MagnetarError) -> None:
        """Answer everybody with an error, and take nothing more."""
        if self.failed:
            return
        self._failure = error
        for transaction in self.transactions.values():
            self._timeouts.discard(transaction.txn_id)
        self._records.clear()
        waiting = self._stored + self._begun
        self._stored, self._begun = [], []
        for asked in self._waiting.values():
            waiting += [answer for _, answer in asked]
        self._waiting.clear()
        for answer in waiting:
            answer(error)


async def open_coordinator(
    number: int,
    record_log: RecordLog,
    *,
    participants: Participants,
    timeouts: Timeouts,
    active_max: int,
    clock: Clock,
    iteration: LoopIteration,
) -> Coordinator:
    """Serve a coordinator, as its log says it was. Raises CorruptEntry, and what stores raise."""
    began_ms = clock.wall_ms()
    replayed = records.Replayed(number)
    async for run in record_log.replay():
        for record in run.data:
            replayed.add(record)
    coordinator = Coordinator(
        number,
        record_log,
        replayed,
        participants=participants,
        timeouts=timeouts,
        active_max=active_max,
        clock=clock,
        iteration=iteration,
    )
    coordinator.recover()
    coordinator.recovered_ms = (began_ms, clock.wall_ms())
    return coordinator


def not_found(number: int) -> CoordinatorNotFound:
    """In Pulsar's words."""
    return CoordinatorNotFound(f"Transaction coordinator with id {number} not found!")
