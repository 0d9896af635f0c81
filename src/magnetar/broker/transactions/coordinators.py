"""The coordinators that this broker serves: loaded with their bundle, and given up with it.

A coordinator is a partition of the topic ``COORDINATORS``, in which nothing is stored: a broker
serves those whose bundle it serves. Clients look them up as they do topics.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from magnetar.broker.cluster.ownership import Ownership
from magnetar.broker.resources import Resources
from magnetar.clock import Clock
from magnetar.errors import AlreadyExists, MagnetarError, NotOwner, TransactionNotFound
from magnetar.loop_iteration import LoopIteration
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import Bundle
from magnetar.model.names import TopicName
from magnetar.model.system_topics import COORDINATORS, transaction_log
from magnetar.model.txn_id import TxnId
from magnetar.storage.record_log import RecordLog
from magnetar.tasks import Tasks

from .coordinator import Coordinator, Participants, not_found, open_coordinator
from .participants import Peers
from .timeouts import Timeouts
from .transaction import TxnSubscription

log = logging.getLogger(__name__)

ADOPT_S: Final = 10.0
"""How often a broker looks for coordinators that no broker serves: their transactions time out."""


class Coordinators:
    """Those of one broker, by number."""

    def __init__(
        self,
        *,
        resources: Resources,
        ownership: Ownership,
        open_log: Callable[[TopicName], Awaitable[RecordLog]],
        participants: Participants,
        peers: Peers,
        active_max: int,
        clock: Clock,
        iteration: LoopIteration,
    ) -> None:
        """``active_max`` transactions of each coordinator; 0: any number."""
        self.loaded: dict[int, Coordinator] = {}
        self._resources = resources
        self._ownership = ownership
        self._open_log = open_log
        self._participants = participants
        self._peers = peers
        self._active_max = active_max
        self._clock = clock
        self._iteration = iteration
        self._tasks = Tasks("transactions")
        self._timeouts = Timeouts(clock, self._tasks, self._time_out)
        self._changing: dict[int, asyncio.Task[None]] = {}  # Being opened or closed.

    async def start(self, count: int) -> None:
        """Make sure that there are so many, or more, and serve those that no broker serves."""
        if await self.count() < count:
            try:
                await self._resources.create_partitioned_topic(COORDINATORS, count)
            except AlreadyExists:
                await self.grow(max(count, await self.count()))
        await self.adopt()
        self._tasks.spawn("adopt", self._keep_adopting())

    async def count(self) -> int:
        """How many coordinators the cluster has."""
        return await self._resources.partitions(COORDINATORS)

    async def grow(self, count: int) -> None:
        """Let there be so many. Raises InvalidValue where there are more."""
        await self._resources.grow_partitions(COORDINATORS, count)

    def get(self, number: int) -> Coordinator:
        """One that is served here. Raises CoordinatorNotFound."""
        coordinator = self.loaded.get(number)
        if coordinator is None:
            raise not_found(number)
        return coordinator

    async def connect(self, number: int) -> Coordinator:
        """One that a client found here, loaded if need be.

        Raises NotOwner where another broker serves it, CoordinatorNotFound where there are not so
        many, and what the stores raise.
        """
        await self._ownership.check(await self._bundle(number), COORDINATORS.partition(number))
        if number >= await self.count():
            raise not_found(number)
        await self._load(number)
        return self.get(number)

    async def owner(self, number: int) -> BrokerAddress:
        """The broker that serves a coordinator: this one, if nobody did."""
        return await self._ownership.acquire(await self._bundle(number))

    async def take_part(self, txn_id: TxnId, topic: TopicName, subscription: str | None) -> bool:
        """Have a topic, or a subscription of it, told of the end of a transaction that is open.

        False: there is no such transaction. Raises InvalidTxnStatus for one that is ending, and
        what keeps its coordinator from answering.
        """
        number = txn_id.most_bits
        if number >= await self.count():
            return False
        try:
            owner = await self.owner(number)
            if owner is self._ownership.own:
                await self._add(await self.connect(number), txn_id, topic, subscription)
            else:
                await self._peers.join_transaction(owner, txn_id, topic, subscription)
        except TransactionNotFound:
            return False
        return True

    async def _add(
        self, coordinator: Coordinator, txn_id: TxnId, topic: TopicName, subscription: str | None
    ) -> None:
        answered: asyncio.Future[MagnetarError | None] = asyncio.get_running_loop().create_future()

        def answer(error: MagnetarError | None) -> None:
            if not answered.done():  # Who asked may be gone.
                answered.set_result(error)

        if subscription is None:
            coordinator.add_topics(txn_id, [str(topic)], answer)
        else:
            added = [TxnSubscription(str(topic), subscription)]
            coordinator.add_subscriptions(txn_id, added, answer)
        error = await answered
        if error is not None:
            raise error

    async def adopt(self) -> None:
        """Serve those with transactions that no broker serves. What fails is logged."""
        for number in range(await self.count()):
            served = self.loaded.get(number)
            if served is not None and not served.failed:
                continue
            try:
                if await self._resources.topic_exists(transaction_log(number)) and (
                    await self.owner(number) is self._ownership.own
                ):
                    await self._load(number)
            except MagnetarError as error:
                log.warning("coordinator.not_loaded coordinator=%d error=%s", number, error)

    def lose(self, bundle: Bundle) -> None:
        """Grant nothing more: another broker may serve the coordinators of a bundle."""
        for number, coordinator in self.loaded.items():
            if bundle.holds(COORDINATORS.partition(number)):
                coordinator.lose()

    async def close_bundle(self, bundle: Bundle) -> None:
        """Close the coordinators of a bundle that is served here no more."""
        for number in {*self.loaded, *self._changing}:
            if bundle.holds(COORDINATORS.partition(number)):
                await self._change(number, self._unload)

    async def close(self) -> None:
        """Close all of them."""
        for number in {*self.loaded, *self._changing}:
            await self._change(number, self._unload)
        await self._tasks.close()

    async def _keep_adopting(self) -> None:
        while True:
            await self._clock.sleep(ADOPT_S)
            await self.adopt()

    async def _bundle(self, number: int) -> Bundle:
        return await self._resources.bundle(COORDINATORS.partition(number))

    async def _load(self, number: int) -> None:
        served = self.loaded.get(number)
        if served is None or served.failed:
            await self._change(number, self._open)

    async def _change(self, number: int, change: Callable[[int], Awaitable[None]]) -> None:
        """Open or close a coordinator, when nothing else opens or closes it."""
        while (changing := self._changing.get(number)) is not None:
            await asyncio.wait([changing])
        # The task is ours: a client that gives up must not leave half a coordinator.
        changing = self._tasks.start(f"coordinator {number}", _awaited(change(number)))
        self._changing[number] = changing
        changing.add_done_callback(lambda _: self._changing.pop(number, None))
        await asyncio.shield(changing)

    async def _open(self, number: int) -> None:
        served = self.loaded.get(number)
        if served is not None and not served.failed:
            return
        await self._unload(number)
        record_log = await self._open_log(transaction_log(number))
        try:
            coordinator = await open_coordinator(
                number,
                record_log,
                participants=self._participants,
                timeouts=self._timeouts,
                active_max=self._active_max,
                clock=self._clock,
                iteration=self._iteration,
            )
        except MagnetarError:
            await record_log.close()
            raise
        if not self._ownership.owns(await self._bundle(number)):
            await coordinator.close()
            raise NotOwner(f"Transaction coordinator {number} was unloaded while it was opened")
        self.loaded[number] = coordinator
        log.info(
            "coordinator.loaded coordinator=%d transactions=%d",
            number,
            len(coordinator.transactions),
        )

    async def _unload(self, number: int) -> None:
        coordinator = self.loaded.pop(number, None)
        if coordinator is not None:
            try:
                await coordinator.close()
            except MagnetarError as error:
                log.warning("coordinator.not_closed coordinator=%d error=%s", number, error)

    def _time_out(self, txn_id: TxnId) -> None:
        coordinator = self.loaded.get(txn_id.most_bits)
        if coordinator is not None:
            coordinator.time_out(txn_id)


async def _awaited(work: Awaitable[None]) -> None:
    await work
