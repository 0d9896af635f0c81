"""The coordinators of transactions: each is found, attached and asked as the owner of a topic is.

A coordinator is a partition of ``ASSIGN_TOPIC``: whichever broker owns the partition has the
coordinator of that number.
"""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from magnetar.clock import Clock
from magnetar.errors import (
    ConnectionLost,
    InvalidTxnStatus,
    MagnetarError,
    NotAllowed,
    TopicNotFound,
    TransactionNotFound,
)
from magnetar.model.names import TopicName
from magnetar.model.txn_id import TxnId
from magnetar.tasks import Tasks
from magnetar.wire import requests
from magnetar.wire.errors import from_code

from .attachment import Attachment
from .backoff import Backoff
from .connection import Connection
from .lookup import Lookup

ASSIGN_TOPIC: Final = "persistent://pulsar/system/transaction_coordinator_assign"


class Coordinator:
    """One coordinator, at the broker that has it."""

    def __init__(
        self,
        number: int,
        lookup: Lookup,
        *,
        backoff: Callable[[], Backoff],
        clock: Clock,
        timeout_s: float,
    ) -> None:
        self._number = number
        self._timeout_s = timeout_s
        self._tasks = Tasks(f"coordinator {number}")
        self._starting: asyncio.Task[None] | None = None
        self._attachment = Attachment(
            str(TopicName.parse(ASSIGN_TOPIC).partition(number)),
            self._attach,
            self._not_attached,
            lookup=lookup,
            backoff=backoff(),
            clock=clock,
            owner=f"transaction coordinator {number}",
        )

    @property
    def over(self) -> bool:
        """A broker has said that it will not be attached again."""
        return self._attachment.failure is not None

    async def ready(self) -> None:
        """Attach, unless it was. Who asks at the same time waits for one attempt.

        Raises NotAllowed where the broker has no transactions, its error, or TimedOut.
        """
        if self._starting is None:
            self._starting = self._tasks.start("attach", self._attachment.start(self._timeout_s))
        starting = self._starting
        if starting.done() and starting.exception() is None:
            return
        try:
            await asyncio.shield(starting)
        except MagnetarError:
            if self._starting is starting:
                self._starting = None
            raise

    async def begin(self, timeout_s: float) -> TxnId:
        """Begin a transaction, which the coordinator aborts after ``timeout_s`` seconds."""
        ttl_ms = max(round(timeout_s * 1000), 1)
        build = partial(requests.new_transaction, self._number, ttl_ms)
        found = await self._ask(build, "newTxnResponse")
        return TxnId(found.txnid_most_bits, found.txnid_least_bits)

    async def add_partition(self, txn: TxnId, topic: str) -> None:
        """Tell it of a topic before anything is sent there. Raises TransactionNotFound."""
        await self._ask(partial(requests.add_partitions, txn, [topic]), "addPartitionToTxnResponse")

    async def add_subscription(self, txn: TxnId, topic: str, subscription: str) -> None:
        """Tell it of a subscription before anything is acknowledged there."""
        build = partial(requests.add_subscriptions, txn, [(topic, subscription)])
        await self._ask(build, "addSubscriptionToTxnResponse")

    async def abort(self, txn: TxnId) -> bool:
        """Abort a transaction, unless it has ended. False: it does not say that it is aborted.

        That is so where it was committed, or where the coordinator no longer knows of it.
        """
        build = partial(requests.end_transaction, txn, commit=False)
        with suppress(TransactionNotFound, InvalidTxnStatus):
            await self._ask(build, "endTxnResponse")
            return True
        return False

    async def commit(self, txn: TxnId, asks: Callable[[], None]) -> None:
        """Commit a transaction. ``asks`` is called each time that the coordinator is asked."""

        def build(request_id: int) -> bytes:
            asks()
            return requests.end_transaction(txn, request_id, commit=True)

        await self._ask(build, "endTxnResponse")

    async def close(self) -> None:
        """Be attached no longer; who waits gets AlreadyClosed."""
        connection = self._attachment.connection
        if connection is not None:
            connection.coordinators.pop(self._number, None)
        await self._attachment.close("the client is closed")
        await self._tasks.close()

    def on_detached(self, connection: Connection, error: MagnetarError | None) -> None:
        self._attachment.lost(connection)

    async def _attach(self, connection: Connection) -> None:
        connection.coordinators[self._number] = self
        try:
            build = partial(requests.connect_coordinator, self._number)
            _answered(await connection.request(build, self._timeout_s), "tcClientConnectResponse")
        except BaseException:
            connection.coordinators.pop(self._number, None)
            raise

    def _not_attached(self, error: MagnetarError, *, final: bool) -> None:
        """Do nothing: who asks hears of it."""

    async def _ask(self, build: Callable[[int], bytes], field: str) -> Any:
        """What the coordinator answers, asked again as long as that may help.

        All that it is asked may be asked twice: at worst there is one more transaction, which times
        out.
        """

        async def request(connection: Connection) -> Any:
            answer = await connection.request(build, self._timeout_s)
            try:
                return _answered(answer, field)
            except MagnetarError as error:
                if not error.retriable:
                    raise
                # The coordinator is elsewhere, or is being loaded: look it up again, in a while.
                connection.coordinators.pop(self._number, None)
                self._attachment.lost(connection)
                raise ConnectionLost(str(error)) from error

        return await self._attachment.ask(request, self._timeout_s)


class Coordinators:
    """The coordinators of a cluster. Transactions are given to them in turn."""

    def __init__(
        self,
        lookup: Lookup,
        *,
        backoff: Callable[[], Backoff],
        clock: Clock,
        chance: Callable[[], float],
        timeout_s: float,
    ) -> None:
        self._lookup = lookup
        self._chance = chance
        self._make = partial(
            Coordinator, lookup=lookup, backoff=backoff, clock=clock, timeout_s=timeout_s
        )
        self._all: list[Coordinator] = []
        self._turn = itertools.count()

    async def next(self) -> Coordinator:
        """The one whose turn it is, attached. Raises as ``Coordinator.ready``."""
        if not self._all or any(each.over for each in self._all):
            await self._find()
        found = self._all[next(self._turn) % len(self._all)]
        await found.ready()
        return found

    async def close(self) -> None:
        found, self._all = self._all, []
        await asyncio.gather(*(each.close() for each in found))

    async def _find(self) -> None:
        before = self._all
        try:
            count = await self._lookup.partitions(ASSIGN_TOPIC, auto_create=False)
        except TopicNotFound:
            count = 0
        if not count:
            raise NotAllowed(
                "the brokers have no transaction coordinators: their settings must say "
                "transactionCoordinatorEnabled=true"
            )
        if self._all is before:  # Nobody else has found them meanwhile.
            self._all = [self._make(number) for number in range(count)]
            self._turn = itertools.count(int(self._chance() * count))
            await asyncio.gather(*(each.close() for each in before))


def _answered(answer: Any, field: str) -> Any:
    """One answer of a coordinator. Raises the error that it brings."""
    found = getattr(answer.command, field)
    if found.HasField("error"):
        raise from_code(found.error, found.message)
    return found
