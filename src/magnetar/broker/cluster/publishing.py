"""Publishes for an operator, or the broker itself, as a producer does: under the same limits.

The producer's connection has no socket: it notes what becomes of each message.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.topic import Topic
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, TopicClosed
from magnetar.message.entry import checksum
from magnetar.message.send_run import SendRun
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.names import TopicName
from magnetar.model.position import Position

from .topic_registry import TopicRegistry

PAUSE_S_MAX: Final = 20.0
"""How long somebody waits for a limit on rates, after what was published is stored."""
_PRODUCER_ID: Final = 0

Outcome = Position | MagnetarError | None
"""Where a message is stored, or why it is not. None: it was stored before, or is not kept."""


class Sendable(Protocol):
    """A message that becomes an entry when its producer is known."""

    @property
    def sequence_id(self) -> int | None:
        """The one that it asks for."""

    def entry(
        self, producer: str, sequence_id: int, now_ms: int, schema_version: bytes | None
    ) -> bytes: ...


async def publish(
    topics: TopicRegistry,
    clock: Clock,
    topic: TopicName,
    messages: Sequence[tuple[Sendable, bytes | None]],
    *,
    name: str | None = None,
    create: bool = True,
) -> list[Outcome]:
    """Publish messages to a topic of this broker as ``publish_to`` does.

    Raises NotOwner for a topic of another broker.
    """
    await topics.serve(topic)
    opened = await topics.get(topic, create=create)
    return await publish_to(opened, clock, messages, name=name)


async def publish_to(
    topic: Topic,
    clock: Clock,
    messages: Sequence[tuple[Sendable, bytes | None]],
    *,
    name: str | None = None,
) -> list[Outcome]:
    """Publish messages, each with its schema's version, to a topic that is open, as one producer.

    It waits until all are durable or refused, and says what became of each, in their order. Raises
    what attaching the producer raises.
    """
    publisher = await Publisher.attach(topic, clock, name=name)
    try:
        now_ms = clock.wall_ms()
        sequences = [publisher.next_sequence_id(each.sequence_id) for each, _ in messages]
        entries = [
            each.entry(publisher.name, sequence, now_ms, version)
            for (each, version), sequence in zip(messages, sequences, strict=True)
        ]
        return await publisher.publish(sequences, entries)
    finally:
        await publisher.close()


class OperatorConnection:
    """Stands for a client's connection (``broker/topics/client_connection.py``)."""

    client_version = "Magnetar admin API"
    writable = True
    replicates_by_position = False

    def __init__(self, address: str) -> None:
        self.address = address
        self.outcomes: dict[int, Outcome] = {}  # By sequence id.
        self.pause_s: Callable[[], float] | None = None
        self._missing = 0
        self._answered: asyncio.Future[None] | None = None

    def expect(self, sequences: Sequence[int]) -> "asyncio.Future[None]":
        """What is done when all of these are answered."""
        self.outcomes.clear()
        self._missing = len(sequences)
        self._answered = asyncio.get_running_loop().create_future()
        return self._answered

    def _note(self, sequences: Sequence[int], outcomes: Sequence[Outcome]) -> None:
        self.outcomes.update(zip(sequences, outcomes, strict=True))
        self._missing -= len(sequences)
        if self._missing <= 0 and self._answered is not None and not self._answered.done():
            self._answered.set_result(None)

    def _note_all(self, sequences: Sequence[int], outcome: Outcome) -> None:
        self._note(sequences, [outcome] * len(sequences))

    def send_receipts(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        places = [Position(ledger_id, first_entry_id + index) for index in range(len(run))]
        self._note(run.sequences, places)

    def send_unstored_receipts(self, run: SendRun, *, delivered: bool) -> None:
        self._note_all(run.sequences, None)

    def send_errors(self, run: SendRun, error: MagnetarError) -> None:
        self._note_all(run.sequences, error)

    def drop_sends(self, run: SendRun) -> None:
        self._note_all(run.sequences, TopicClosed("The topic is being closed: try again"))

    def close_producer(self, producer_id: int, to: BrokerAddress | None = None) -> None:
        """What waits is answered by ``drop_sends``."""

    def read_later(self, wait_s: Callable[[], float]) -> None:
        self.pause_s = wait_s

    def when_writable(self, wake: Callable[[], None]) -> None:
        wake()

    async def alive(self) -> bool:
        return True

    def close_consumer(self, consumer_id: int, to: BrokerAddress | None = None) -> None:
        raise NotImplementedError("it has no consumers")

    def send_entries(self, consumer_id: int, run: Any, **more: Any) -> None:
        raise NotImplementedError("it has no consumers")

    def send_active_change(self, consumer_id: int, *, active: bool) -> None:
        raise NotImplementedError("it has no consumers")

    def send_end_of_topic(self, consumer_id: int) -> None:
        raise NotImplementedError("it has no consumers")


class Publisher:
    """One producer of one topic, for a request."""

    def __init__(self, producer: Producer, connection: OperatorConnection, clock: Clock) -> None:
        self._producer = producer
        self._connection = connection
        self._clock = clock
        self._next = producer.last_sequence_id + 1

    @classmethod
    async def attach(cls, topic: Topic, clock: Clock, *, name: str | None = None) -> "Publisher":
        """Raises what ``Topic.attach_producer`` does."""
        connection = OperatorConnection("admin")
        producer = await topic.attach_producer(
            connection, _PRODUCER_ID, name, metadata={"by": connection.client_version}
        )
        return cls(producer, connection, clock)

    @property
    def name(self) -> str:
        return self._producer.name

    def next_sequence_id(self, asked: int | None = None) -> int:
        """The next message's: what is asked for, or one more than the one before."""
        found = self._next if asked is None else asked
        self._next = max(self._next, found + 1)
        return found

    async def publish(self, sequences: Sequence[int], entries: Sequence[bytes]) -> list[Outcome]:
        """What became of entries, in their order; it waits until all are durable or refused."""
        if not entries:
            return []
        answered = self._connection.expect(sequences)
        count = len(entries)
        self._producer.publish(
            SendRun.of(
                _PRODUCER_ID,
                list(sequences),
                list(entries),
                [checksum(entry) for entry in entries],
                [1] * count,
                [0] * count,
            )
        )
        await answered
        outcomes = [self._connection.outcomes[sequence] for sequence in sequences]
        await self._keep_to_rates()
        return outcomes

    async def _keep_to_rates(self) -> None:
        """A client that is too fast is not read for a while; who asks here waits for the answer."""
        pause_s, self._connection.pause_s = self._connection.pause_s, None
        deadline = self._clock.now() + PAUSE_S_MAX
        while pause_s is not None and (wait := pause_s()) > 0 and self._clock.now() < deadline:
            await self._clock.sleep(wait)

    async def close(self) -> None:
        await self._producer.close()
