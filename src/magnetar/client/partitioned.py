"""A producer of a partitioned topic: one producer for each partition, and a router in front."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Self, Unpack

from magnetar.clock import Clock
from magnetar.errors import InvalidValue
from magnetar.model.position import MessageId
from magnetar.tasks import Closing

from .checks import check_data
from .encoding import key_text
from .gather_all import gather_all
from .message import MessageDetails, OutgoingMessage, as_sequence, prepare
from .partition_watch import PartitionWatch
from .producer import TopicProducer
from .receipts import ManyReceipts
from .routing import Router


class PartitionedProducer:
    """Made by ``Client.create_producer``; ``contracts.Producer`` says what the methods promise.

    Order holds within a partition, hence for all messages with one key.
    """

    def __init__(
        self,
        topic: str,
        partitions: list[TopicProducer],
        router: Router,
        *,
        clock: Clock,
        closed: Callable[["PartitionedProducer"], None],
    ) -> None:
        """``partitions`` are attached, by index; they belong to this producer from now on."""
        self._topic = topic
        self._partitions = partitions
        self._router = router
        self._clock = clock
        self._on_closed = closed
        self._watch: PartitionWatch | None = None
        self._closing = Closing(f"producer of {topic}", self._close)

    @property
    def topic(self) -> str:
        return self._topic

    @property
    def name(self) -> str:
        return self._partitions[0].name

    @property
    def last_sequence_id(self) -> int:
        return max(producer.last_sequence_id for producer in self._partitions)

    @property
    def connected(self) -> bool:
        return all(producer.connected for producer in self._partitions)

    @property
    def partitions(self) -> int:
        """How many partitions it sends to."""
        return len(self._partitions)

    async def send(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> MessageId:
        data, message = prepare(value, details)
        producer = self._route(data, message)
        if producer.full:
            await producer.ready()
        return await producer.put(data, message)

    def submit(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> asyncio.Future[MessageId]:
        data, message = prepare(value, details)
        return self._route(data, message).put(data, message)

    def send_nowait(
        self, value: bytes | OutgoingMessage, **details: Unpack[MessageDetails]
    ) -> None:
        data, message = prepare(value, details)
        self._route(data, message).put_nowait(data, message)

    async def enqueue(self, values: Iterable[bytes | OutgoingMessage]) -> None:
        for value in values:
            data, message = prepare(value)
            producer = self._route(data, message)
            if producer.full:
                await producer.ready()
            producer.put_nowait(data, message)

    async def send_many(self, values: Iterable[bytes | OutgoingMessage]) -> Sequence[MessageId]:
        messages = as_sequence(values)
        receipts = ManyReceipts()
        at = 0
        while at < len(messages):
            try:
                producer, count = self._run(messages, at)
            except InvalidValue as error:
                receipts.part().settle(error)
                at += 1
                continue
            await producer.put_many(messages[at : at + count], receipts)
            at += count
        for producer in self._partitions:
            producer.close_batches()
        return await receipts.ids()

    async def ready(self) -> None:
        """Return when every partition has room: nobody knows where the next message goes."""
        for producer in self._partitions:
            await producer.ready()

    async def flush(self) -> None:
        await gather_all(producer.flush() for producer in self._partitions)

    def close(self) -> Coroutine[Any, Any, None]:
        return self._closing()

    async def _close(self) -> None:
        self._on_closed(self)
        if self._watch is not None:
            await self._watch.close()
        await gather_all(producer.close() for producer in self._partitions)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def watch(self, watch: PartitionWatch) -> None:
        """Let ``watch`` add partitions, until this producer is closed."""
        self._watch = watch
        watch.start()

    def add(self, producer: TopicProducer) -> None:
        """One more partition; it gets messages from now on."""
        self._partitions.append(producer)

    def _route(self, data: bytes, message: OutgoingMessage | None) -> TopicProducer:
        """Who takes what ``prepare`` returned. Raises InvalidValue for what is not bytes."""
        check_data(data)
        key = key_text(message.key) if message is not None else None
        count, now = len(self._partitions), self._clock.now()
        return self._partitions[self._router.choose(key, len(data), count, now)]

    def _run(
        self, messages: Sequence[bytes | OutgoingMessage], at: int
    ) -> tuple[TopicProducer, int]:
        """Who takes the message at ``at``, and how many of those behind it. Raises InvalidValue."""
        first = messages[at]
        if isinstance(first, OutgoingMessage):
            return self._route(*prepare(first)), 1
        check_data(first)
        now = self._clock.now()
        index, count_max, size_max = self._router.room(len(self._partitions), now)
        count, size = 0, 0
        for message in messages[at : at + max(count_max, 1)]:
            if type(message) is not bytes or (count and size + len(message) > size_max):
                break
            count += 1
            size += len(message)
        self._router.took(count, size)
        return self._partitions[index], count
