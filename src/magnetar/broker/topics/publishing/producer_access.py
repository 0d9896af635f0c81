"""Which producers a topic has together: any number that share it, or one exclusive owner.

Every owner has an epoch, higher than that of each owner before it. It is kept with the topic's log
before the owner hears that it is one: a producer that was cut off and comes back shows the epoch it
had, and is refused where another has owned the topic since. An owner begins only after everything
that the one before it had sent is stored, so that their entries never mix.

Others wait, in the order they came. Who closes or is lost while it waits leaves the queue.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Protocol

from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.replicator_producer import ReplicatorProducer
from magnetar.errors import ConnectionLost, ProducerBusy, ProducerFenced, TopicClosed
from magnetar.late_dataclass import dataclass
from magnetar.message.send_run import SendRun
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.producers import ProducerAccessMode

TOPIC_EPOCH: Final = "pulsar.topic.epoch"
"""The property of the log that has the epoch of its last owner."""


class TopicProperties(Protocol):
    """The properties of a topic; those of a persistent one are stored with its log."""

    @property
    def properties(self) -> Mapping[str, str]: ...

    async def change_properties(self, changed: Mapping[str, str]) -> None: ...


class ExclusiveClaim:
    """An exclusive producer that waits for it, is about to own the topic, or owns it."""

    __slots__ = ("name", "producer", "turn")

    def __init__(self, name: str) -> None:
        self.name = name
        self.producer: Producer | None = None  # Once it owns the topic.
        self.turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def leave(self) -> None:
        """Leave the queue: the attempt to attach is cancelled. No effect once it was admitted."""
        self.turn.cancel()


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """The access that a producer asks for, and whether it says that it encrypts."""

    mode: ProducerAccessMode = ProducerAccessMode.SHARED
    topic_epoch: int | None = None
    """The epoch it had, if it comes back."""
    encrypted: bool = False
    waits: Callable[[ExclusiveClaim], None] = lambda _: None
    """Called with its claim when the producer has to wait."""


SHARED_ACCESS: Final = AccessRequest()


@dataclass(frozen=True, slots=True)
class ProducerRequest:
    """A producer that is being attached; ``epoch`` counts how often its client connected it."""

    name: str
    connection: ClientConnection
    producer_id: int
    epoch: int
    metadata: dict[str, str]
    access: AccessRequest

    def producer(
        self,
        *,
        publish: Callable[[Producer, SendRun], None],
        detach: Callable[[Producer], None],
        connected_at_ms: int,
        topic_epoch: int | None,
        policies: Policies,
        entry_size_max: int,
        replicates: bool = False,
    ) -> Producer:
        kind = ReplicatorProducer if replicates else Producer
        return kind(
            producer_id=self.producer_id,
            name=self.name,
            epoch=self.epoch,
            metadata=self.metadata,
            connection=self.connection,
            publish=publish,
            detach=detach,
            connected_at_ms=connected_at_ms,
            access_mode=self.access.mode,
            topic_epoch=topic_epoch,
            policies=policies,
            entry_size_max=entry_size_max,
        )

    async def replaces(self, present: Producer) -> bool:
        """Let go of a producer in its way if that is dead, or an earlier one of its own client."""
        if present.connection is self.connection:
            if present.producer_id != self.producer_id or present.epoch >= self.epoch:
                return False
        elif await present.connection.alive():
            return False
        present.detach()
        return True


class ProducerAccess:
    """The owner of a topic, and producers waiting to own it. ``producers`` are the topic's."""

    __slots__ = (
        "_closed",
        "_kept",
        "_owner",
        "_previous",
        "_producers",
        "_topic",
        "_waiting",
        "epoch",
    )

    def __init__(
        self, topic: TopicName, kept: TopicProperties, producers: Mapping[str, Producer]
    ) -> None:
        recorded = kept.properties.get(TOPIC_EPOCH)
        self.epoch = None if recorded is None else int(recorded)
        """The epoch of the last owner; None where there never was one."""
        self._topic = topic
        self._kept = kept
        self._producers = producers
        self._owner: ExclusiveClaim | None = None
        self._previous: Producer | None = None  # The owner that left last.
        self._waiting: deque[ExclusiveClaim] = deque()
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many producers wait for exclusive access."""
        return len(self._waiting)

    @asynccontextmanager
    async def admitted(self, request: ProducerRequest) -> AsyncIterator[None]:
        """Let a producer in for the block, which attaches it and waits for nothing.

        Raises ProducerBusy, ProducerFenced; TopicClosed while it waits for it; ConnectionLost when
        it is gone when its turn comes.
        """
        access = request.access
        if access.mode is ProducerAccessMode.SHARED:
            await self._make_way(request)
            yield
            return
        self._check_epoch(access)
        claim = ExclusiveClaim(request.name)
        try:
            if access.mode is ProducerAccessMode.EXCLUSIVE_WITH_FENCING:
                await self._fence_out(claim)
            else:
                await self._become_owner(claim, request)
            await self._begin_epoch(claim, access)
            self._check_owner(claim)
            yield
            claim.producer = self._producers[request.name]
        except BaseException:
            if self._owner is claim:
                self._owner = None
                self._elect()
            raise

    async def _make_way(self, request: ProducerRequest) -> None:
        """Return when neither the topic nor the name is another's. Raises ProducerBusy.

        Others may come while it waits for a sign of life.
        """
        while True:
            owner, present = self._owner, self._producers.get(request.name)
            if owner is not None:
                if owner.producer is None or not await request.replaces(owner.producer):
                    raise ProducerBusy(f"Topic has an existing exclusive producer: {owner.name}")
            elif self._waiting:
                raise ProducerBusy(
                    f"Topic has an exclusive producer that waits for it: {self._waiting[0].name}"
                )
            elif present is None:
                return
            elif not await request.replaces(present):
                raise ProducerBusy(
                    f"Producer with name '{request.name}' is already connected to topic "
                    f"'{self._topic}'"
                )

    def detached(self, producer: Producer) -> None:
        """A producer was detached."""
        if self._owner is not None and self._owner.producer is producer:
            self._owner, self._previous = None, producer
        self._elect()

    def close(self) -> None:
        """Close with the topic: waiting producers are told to look it up again."""
        self._closed = True
        waiting, self._waiting = self._waiting, deque()
        for claim in waiting:
            if not claim.turn.done():
                claim.turn.set_exception(self._topic_closed())

    async def _become_owner(self, claim: ExclusiveClaim, request: ProducerRequest) -> None:
        """Own the topic, now or when its turn comes."""
        while self._owner is not None or self._producers or self._waiting:
            owner = self._owner
            producer = None if owner is None else owner.producer
            if producer is not None and await request.replaces(producer):
                continue  # It may have been the turn of somebody else.
            if request.access.mode is ProducerAccessMode.EXCLUSIVE:
                raise ProducerFenced(
                    "Topic has existing shared producers"
                    if owner is None
                    else f"Topic has an existing exclusive producer: {owner.name}"
                )
            await self._wait_for_turn(claim, request)
            return
        self._owner = claim

    async def _wait_for_turn(self, claim: ExclusiveClaim, request: ProducerRequest) -> None:
        if self._closed:
            raise self._topic_closed()
        self._waiting.append(claim)
        request.access.waits(claim)
        try:
            await claim.turn
        finally:
            if claim in self._waiting:
                self._waiting.remove(claim)
        if not await request.connection.alive():
            raise ConnectionLost(
                f"Producer '{claim.name}' gave no sign of life when it was elected"
            )

    def _elect(self) -> None:
        """Give the topic to the first waiting producer, if no producer has it."""
        while self._waiting and self._owner is None and not self._producers:
            claim = self._waiting.popleft()
            if not claim.turn.done():
                self._owner = claim
                claim.turn.set_result(None)

    async def _fence_out(self, claim: ExclusiveClaim) -> None:
        """Disconnect all other producers, and own the topic when all they had sent is stored."""
        self._owner = claim  # From here on nobody else comes in.
        waiting, self._waiting = self._waiting, deque()
        for each in waiting:
            if not each.turn.done():
                each.turn.set_exception(ProducerFenced("Fenced out"))
        others = list(self._producers.values())
        told = [producer for producer in others if producer.stop()]
        for producer in others:
            await producer.close()
        for producer in told:
            producer.connection.close_producer(producer.producer_id)

    async def _begin_epoch(self, claim: ExclusiveClaim, access: AccessRequest) -> None:
        """Record the owner's epoch: the next one, or the one that it had before."""
        if self._previous is not None:
            await self._previous.close()  # When it is settled.
        self._check_owner(claim)
        self._check_epoch(access)
        epoch = access.topic_epoch
        if epoch is None:
            epoch = 0 if self.epoch is None else self.epoch + 1
        if epoch != self.epoch:
            self.epoch = epoch
            await self._kept.change_properties({TOPIC_EPOCH: str(epoch)})

    def _topic_closed(self) -> TopicClosed:
        return TopicClosed(f"Topic {self._topic} is being closed here; look it up again")

    def _check_owner(self, claim: ExclusiveClaim) -> None:
        """Raises ProducerFenced when another one took the topic meanwhile."""
        if self._owner is not claim:
            raise ProducerFenced("Fenced out")

    def _check_epoch(self, access: AccessRequest) -> None:
        """Raises ProducerFenced for one that comes back when others have owned the topic."""
        had = access.topic_epoch
        if had is not None and self.epoch is not None and had < self.epoch:
            raise ProducerFenced(
                f"Topic epoch has already moved. Current epoch: {self.epoch}, Producer epoch: {had}"
            )
