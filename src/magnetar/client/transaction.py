"""A transaction, as the application holds it: what is sent and acknowledged in it is one act.

    OPEN --commit--> COMMITTING --> COMMITTED
                                --> ABORTED, where something in it has failed
                                --> UNKNOWN, where its coordinator does not say which
    OPEN --abort---> ABORTING   --> ABORTED

Producers and consumers tell it of each topic and subscription before they use it there
(``_sends_to``, ``_acknowledges_on``), which its coordinator is told once. What they have begun is
counted (``_begin_work``, ``_end_work``): a transaction ends when all of that has been answered, for
what a broker gets after the end would be in no transaction.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Protocol, Self

from magnetar.checks import check_timeout
from magnetar.clock import Clock
from magnetar.errors import (
    AlreadyClosed,
    CommitUnknown,
    InvalidTxnStatus,
    MagnetarError,
    TimedOut,
    TransactionAborted,
    TransactionNotFound,
)
from magnetar.model.txn_id import TxnId
from magnetar.tasks import Tasks, log_failure

from .connections.coordinator import Coordinator
from .leaving import time_to_close
from .own_loop import check_loop

log = logging.getLogger(__name__)


class TransactionState(Enum):
    """How far a transaction is."""

    OPEN = "open"
    COMMITTING = "being committed"
    COMMITTED = "committed"
    ABORTING = "being aborted"
    ABORTED = "aborted"
    UNKNOWN = "committed or aborted"  # Its coordinator did not say which.


class Outbound(Protocol):
    """Where messages of a transaction wait to be sent."""

    @property
    def topic(self) -> str: ...

    def close_batches(self) -> None: ...


class _Joining:
    """A topic or subscription of which the coordinator is told."""

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.error: MagnetarError | None = None
        self.waiting = 0


class Transaction:
    """Made by ``Client.transaction``. Use it as ``async with client.transaction() as txn``.

    The end of the block commits it; a block that is left by an exception aborts it. Messages sent
    in it are delivered when it is committed, messages acknowledged in it come again when it is not.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        txn_id: TxnId,
        *,
        begun: float,
        timeout_s: float,
        end_timeout_s: float,
        clock: Clock,
        closed: Callable[["Transaction"], None],
    ) -> None:
        """``begun`` is when the coordinator was asked to begin it, in seconds of the clock.

        What is under way when it ends has ``end_timeout_s`` seconds to be answered.
        """
        self._id = txn_id
        self._coordinator = coordinator
        self._timeout_s = timeout_s
        self._deadline = begun + timeout_s  # Its coordinator does not abort it before.
        self._end_timeout_s = end_timeout_s
        self._clock = clock
        self._on_closed = closed
        self._loop = asyncio.get_running_loop()
        self._tasks = Tasks(f"transaction {txn_id}")
        self._state = TransactionState.OPEN
        self._joined: dict[str | tuple[str, str], _Joining] = {}
        self._outbound: dict[Outbound, None] = {}
        self._work = 0  # Messages and acknowledgements that are not answered.
        self._no_work = asyncio.Event()
        self._no_work.set()
        self._failure: MagnetarError | None = None  # The first of what was done in it.
        self._told_of_end: dict[Callable[[Transaction], None], None] = {}
        self._ending: asyncio.Task[None] | None = None

    @property
    def id(self) -> TxnId:
        """Its id, as brokers show it: the number of its coordinator, and its own there."""
        return self._id

    @property
    def state(self) -> TransactionState:
        """How far it is, as this client knows."""
        return self._state

    async def commit(self) -> None:
        """Let all that was done in it happen.

        Waits for what was sent and acknowledged in it. Raises TransactionAborted where some of that
        has failed, or its time is up: then nothing of it has happened. A commit whose answer is
        lost is asked for again; raises CommitUnknown when no coordinator answers within the
        operation timeout, or none knows any more how it has ended. Raises AlreadyClosed when it was
        aborted by the application. Cancelled, it goes on.
        """
        await self._end(self._commit, TransactionState.COMMITTING, TransactionState.COMMITTED)

    async def abort(self) -> None:
        """Let nothing of it happen: messages acknowledged in it come again.

        Raises AlreadyClosed when it was committed, and TimedOut when its coordinator does not
        answer, which aborts it when its time is up. Cancelled, it goes on.
        """
        await self._end(self._abort, TransactionState.ABORTING, TransactionState.ABORTED)

    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        """Abort it unless it has ended, in ``timeout_s``; its coordinator does it later if need be.

        While Ctrl-C or a cancellation ends the caller it takes half a second at most.
        """
        check_loop(self._loop)
        check_timeout(timeout_s)
        if self._ending is None:
            self._begin_end(self._abort, TransactionState.ABORTING)
        assert self._ending is not None
        return self._close(self._ending, time_to_close(timeout_s))

    async def _close(self, ending: asyncio.Task[None], timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.wait([ending])
        except TimeoutError:
            log.warning("transaction.close_incomplete id=%s state=%s", self._id, self._state.value)
        ending.add_done_callback(log_failure)
        if not ending.done():
            await self._tasks.close()

    def __repr__(self) -> str:
        return f"<Transaction {self._id}, {self._state.value}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        if raised is not None:
            await self.close()
        elif self._ending is None:  # It was not ended in the block.
            await self.commit()

    def _check_open(self) -> None:
        """Raises AlreadyClosed when it has ended, TransactionAborted when its time is up."""
        if self._state is not TransactionState.OPEN:
            raise AlreadyClosed(f"transaction {self._id} is {self._state.value}: begin another")
        if self._clock.now() >= self._deadline:
            raise self._aborted(f"it was not committed within {self._timeout_s:g} s")

    async def _sends_to(self, outbound: Outbound) -> None:
        """Tell the coordinator of a topic, unless it was. Raises as ``_check_open``, its error."""
        self._check_open()
        self._outbound[outbound] = None
        topic = outbound.topic
        await self._join(topic, lambda: self._coordinator.add_partition(self._id, topic))
        self._check_open()

    async def _acknowledges_on(self, topic: str, subscription: str) -> None:
        """Tell the coordinator of a subscription, unless it was. Raises its error."""
        await self._join(
            (topic, subscription),
            lambda: self._coordinator.add_subscription(self._id, topic, subscription),
        )

    def _begin_work(self) -> None:
        """Something was begun that must be answered before the end."""
        self._work += 1
        self._no_work.clear()

    def _end_work(self, error: MagnetarError | None = None) -> None:
        """Note an answer. After an ``error`` the transaction cannot be committed."""
        self._failure = self._failure or error
        self._work -= 1
        if not self._work:
            self._no_work.set()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Something that has several steps is done: the end comes after it."""
        self._begin_work()
        try:
            yield
        finally:
            self._end_work()

    def _run(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work of the transaction; its caller need not wait for the task."""
        self._begin_work()
        task = self._tasks.start(name, work)
        task.add_done_callback(self._ran)
        return task

    def _tell_of_end(self, tell: Callable[["Transaction"], None]) -> None:
        """Call ``tell`` once, when it has ended."""
        self._told_of_end[tell] = None

    def _ran(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if task.cancelled():
            error = AlreadyClosed(f"transaction {self._id} was closed")
        if error is not None and not isinstance(error, MagnetarError):
            log_failure(task)
            error = TransactionAborted(f"a mistake of the client: {error!r}")
        self._end_work(error)

    async def _join(
        self, what: str | tuple[str, str], tell: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        joining = self._joined.get(what)
        if joining is None:
            joining = self._joined[what] = _Joining()
            self._tasks.start("join", self._tell(what, joining, tell()))
        elif joining.told.is_set():
            if joining.waiting:  # They came before: what they send goes before ours.
                await self._clock.sleep(0)
            return
        joining.waiting += 1
        try:
            await joining.told.wait()
        finally:
            joining.waiting -= 1
        if joining.error is not None:
            raise joining.error

    async def _tell(
        self,
        what: str | tuple[str, str],
        joining: _Joining,
        telling: Coroutine[Any, Any, None],
    ) -> None:
        joining.error = AlreadyClosed(f"transaction {self._id} was closed")  # If it is cancelled.
        try:
            await telling
            joining.error = None
        except TransactionNotFound as error:
            joining.error = self._aborted(self._why_gone())
            joining.error.__cause__ = error
        except MagnetarError as error:
            joining.error = error
        finally:
            if joining.error is not None:
                del self._joined[what]
            joining.told.set()

    async def _end(
        self,
        end: Callable[[], Coroutine[Any, Any, None]],
        ending: TransactionState,
        ended: TransactionState,
    ) -> None:
        check_loop(self._loop)
        if self._ending is None:
            self._begin_end(end, ending)
        elif self._state not in {ending, ended}:
            raise AlreadyClosed(f"transaction {self._id} is {self._state.value}")
        task = self._ending
        assert task is not None
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(log_failure)  # Nobody may be left to be told.
            raise

    def _begin_end(
        self, end: Callable[[], Coroutine[Any, Any, None]], state: TransactionState
    ) -> None:
        self._state = state
        self._ending = self._tasks.start("end", self._ended(end()))

    async def _ended(self, end: Coroutine[Any, Any, None]) -> None:
        try:
            await end
        finally:
            for tell in self._told_of_end:
                tell(self)
            self._on_closed(self)

    async def _commit(self) -> None:
        try:
            await self._answered()
        except TimedOut as error:
            self._failure = self._failure or error
        if self._failure is None and self._clock.now() >= self._deadline:
            self._failure = TimedOut(f"it was not committed within {self._timeout_s:g} s")
        if self._failure is not None:
            await self._abort_quietly()
            raise self._aborted(str(self._failure)) from self._failure
        asked = 0

        def asks() -> None:
            nonlocal asked
            asked += 1

        try:
            await self._coordinator.commit(self._id, asks)
        except (TransactionNotFound, InvalidTxnStatus) as error:
            await self._without_answer(error, asked)
        except MagnetarError as error:
            unanswered = asked > 1 or error.retriable or isinstance(error, AlreadyClosed)
            if not asked or not unanswered:
                self._state = TransactionState.ABORTED  # By its coordinator, when its time is up.
                raise self._aborted(f"it could not be committed: {error}") from error
            self._state = TransactionState.UNKNOWN
            raise self._unknown(str(error)) from error
        self._state = TransactionState.COMMITTED

    async def _without_answer(self, error: MagnetarError, asked: int) -> None:
        """Its coordinator, asked to commit it, says that there is no such transaction to commit.

        Asked for the first time, it has aborted it. Asked again, it says the same of what it has
        committed, aborted or forgotten; an abort it grants only to what is aborted. Where nothing
        took part, there was nothing to be committed.
        """
        if asked > 1:
            if not self._joined:
                return
            if not await self._coordinator_aborts():
                self._state = TransactionState.UNKNOWN
                raise self._unknown(
                    f"the answer was lost, and its coordinator no longer says which: {error}"
                ) from error
        self._state = TransactionState.ABORTED
        raise self._aborted(self._why_gone()) from error

    async def _coordinator_aborts(self) -> bool:
        """Whether its coordinator says that it is aborted."""
        try:
            return await self._coordinator.abort(self._id)
        except MagnetarError as error:
            log.warning("transaction.outcome_unknown id=%s error=%s", self._id, error)
            return False

    async def _abort(self) -> None:
        try:
            await self._answered()
        except TimedOut as error:
            log.warning("transaction.unanswered id=%s error=%s", self._id, error)
        try:
            await self._coordinator.abort(self._id)
        finally:
            self._state = TransactionState.ABORTED

    async def _abort_quietly(self) -> None:
        try:
            await self._coordinator.abort(self._id)
        except MagnetarError as error:  # Its coordinator aborts it when its time is up.
            log.warning("transaction.not_aborted id=%s error=%s", self._id, error)
        self._state = TransactionState.ABORTED

    async def _answered(self) -> None:
        """Return when all that was begun in it has been answered. Raises TimedOut."""
        for outbound in self._outbound:
            outbound.close_batches()
        if not self._work:
            return
        try:
            async with asyncio.timeout(self._end_timeout_s):
                await self._no_work.wait()
        except TimeoutError:
            raise TimedOut(
                f"{self._work} messages or acknowledgements of transaction {self._id} had no "
                f"answer within {self._end_timeout_s:g} s"
            ) from None

    def _why_gone(self) -> str:
        return f"its coordinator has it no longer, which aborts it after {self._timeout_s:g} s"

    def _aborted(self, why: str) -> TransactionAborted:
        return TransactionAborted(f"transaction {self._id} was aborted: {why}")

    def _unknown(self, why: str) -> CommitUnknown:
        return CommitUnknown(f"transaction {self._id} may have been committed or not: {why}")
