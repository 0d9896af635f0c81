"""The producer that an application holds, of one topic or of all partitions of a topic."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Generic, Self, Unpack

from magnetar.checks import check_data, check_timeout
from magnetar.client.gather_all import close_all, gather_all
from magnetar.client.leaving import added_to, time_to_close
from magnetar.client.outgoing_message import (
    Buffer,
    MessageDetails,
    OutgoingMessage,
    each_with,
    many,
    not_sent,
    prepare,
    prepare_many,
)
from magnetar.client.own_loop import check_loop
from magnetar.client.statistics import ProducerStats
from magnetar.client.stats_reports import report
from magnetar.client.transaction import Transaction
from magnetar.clock import Clock
from magnetar.errors import InvalidValue, MagnetarError, NotStored, QueueFull
from magnetar.model.position import MessageId
from magnetar.model.schemas import SchemaInfo
from magnetar.schemas.schema import Schema, T
from magnetar.tasks import Closing, Tasks

from .batching import PackedBatch
from .encoding import key_text
from .interceptors import ProducerInterceptor, ProducerInterceptors
from .receipts import InTransaction, ManyInTransaction, ManyReceipts
from .routing import MessageRouter, Router
from .send_queue import Handed, SendQueue
from .statistics import ProducerStatistics
from .topic_producer import TopicProducer


class Producer(Generic[T]):
    """Sends values of type ``T`` to one topic. Made by ``Client.create_producer``.

    Calls that wait are coroutines and may be cancelled at any time; the others return at once. All
    may only be called on the client's event loop.

    At most ``max_pending_messages`` and ``max_pending_bytes`` wait for their receipts, per
    partition. A message is stored behind those that were sent before it to the same partition,
    also across reconnections; after a reconnection it may be stored twice.
    """

    def __init__(
        self,
        topic: str,
        parts: list[TopicProducer],
        router: Router | MessageRouter | None,
        *,
        clock: Clock,
        closed: Callable[["Producer[Any]"], None],
        schema: Schema[T] | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
    ) -> None:
        """``parts`` are attached; ``router`` chooses among them, and is None without partitions.

        Without ``schema`` values are bytes. ``closed`` is called once, when the producer has been
        closed.
        """
        self._topic = topic
        self._parts = parts
        self._router = router
        self._clock = clock
        self._on_closed = closed
        self._schema = schema
        self._interceptors = ProducerInterceptors(interceptors, self) if interceptors else None
        self._before_send = self._interceptors.before_send if self._interceptors else None
        self._plain = router is None and schema is None and not interceptors
        self._loop = asyncio.get_running_loop()
        self._statistics = ProducerStatistics(self._parts, clock)
        self._tasks = Tasks(f"producer of {topic}")
        self._closing = Closing(f"producer of {topic}", self._close)

    @property
    def topic(self) -> str:
        """The full name of the topic; without the partition on a partitioned one."""
        return self._topic

    @property
    def name(self) -> str:
        """The producer's name: as given, or as the broker made it up."""
        return self._parts[0].name

    @property
    def last_sequence_id(self) -> int:
        """The highest sequence id that has a receipt; -1 before the first."""
        return max(part.queue.sends.last_sequence_id for part in self._parts)

    @property
    def connected(self) -> bool:
        """Whether it is attached to its brokers. It need not be: sends wait for that."""
        return all(part.connected for part in self._parts)

    @property
    def partitions(self) -> int:
        """How many partitions it sends to; 0 when the topic is not partitioned."""
        return 0 if self._router is None else len(self._parts)

    @property
    def stats(self) -> ProducerStats:
        """Statistics of what it has sent."""
        return self._statistics.stats()

    async def send(
        self,
        value: T | Buffer | OutgoingMessage[T],
        *,
        txn: Transaction | None = None,
        **details: Unpack[MessageDetails],
    ) -> MessageId:
        """Send one message, and return its id when the broker has stored it.

        In a transaction it is delivered when that is committed; what goes wrong keeps it from
        being committed.

        Waits for room in the queue, too; with ``block_if_queue_full=False`` it raises QueueFull,
        or MemoryFull where ``memory_limit_bytes`` is why. ``MessageDetails`` says what the keyword
        arguments mean; what they refer to may be changed as soon as this has begun. Raises
        AlreadyClosed, MessageTooLarge, InvalidValue for what no message can carry, the broker's
        error, or TimedOut after ``send_timeout_s`` seconds, whose ``__cause__`` is what kept the
        broker from storing it, if that is known; TransactionAborted when the time of the
        transaction is up. Cancelled, the message may be sent all the same.
        """
        check_loop(self._loop)
        data, message = self._prepare(value, details)
        queue = self._route(data, message)
        if txn is not None:
            return await self._send_in(txn, queue, data, message)
        if queue.full:
            await queue.room()
        receipt: asyncio.Future[MessageId] = self._loop.create_future()
        queue.put(data, message, receipt)
        return await receipt

    def submit(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> asyncio.Future[MessageId]:
        """Send one message without waiting; the future brings what ``send`` returns or raises.

        Raises at once: QueueFull when there is no room (await ``ready``), AlreadyClosed,
        MessageTooLarge, InvalidValue. A message whose future is cancelled is sent all the same.
        """
        data, message = self._prepare(value, details)
        receipt: asyncio.Future[MessageId] = self._loop.create_future()
        self._route(data, message).put(data, message, receipt)
        return receipt

    def send_nowait(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> None:
        """Submit without a future; ``flush`` raises what goes wrong later."""
        data, message = self._prepare(value, details)
        self._route(data, message).put(data, message, None)

    async def send_many(
        self,
        values: Iterable[T | Buffer | OutgoingMessage[T]],
        *,
        txn: Transaction | None = None,
        **details: Unpack[MessageDetails],
    ) -> Sequence[MessageId]:
        """Send messages, waiting for room as needed; their ids, in the same order.

        The cheapest way to send. ``details`` are those of each of them. Raises the first error,
        after everything that was taken has been settled. When cancelled, the messages already
        taken are sent all the same.
        """
        check_loop(self._loop)
        messages = prepare_many(each_with(values, details), self._schema, self._before_send)
        if txn is not None:
            with txn._working():
                return await self._send_all(messages, ManyInTransaction(txn), txn)
        return await self._send_all(messages, ManyReceipts(), None)

    async def _send_all(
        self,
        messages: Sequence[bytes | Buffer | OutgoingMessage],
        receipts: ManyReceipts,
        txn: Transaction | None,
    ) -> Sequence[MessageId]:
        at = 0
        while at < len(messages):
            try:
                at += await self._put_some(messages, at, receipts, txn)
            except MagnetarError as error:
                for rest in messages[at + 1 :]:
                    not_sent(rest, error)
                if not isinstance(error, QueueFull):
                    raise
                receipts.part().settle(error)
                break
        for part in self._parts:
            part.queue.close_batches()
        return await receipts.ids()

    async def enqueue(
        self,
        values: Iterable[T | Buffer | OutgoingMessage[T]],
        *,
        txn: Transaction | None = None,
        **details: Unpack[MessageDetails],
    ) -> None:
        """Send messages, and return when the queue has taken them: receipts come later.

        What goes wrong later is raised by ``flush``, or keeps the transaction from being committed.
        Raises AlreadyClosed; InvalidValue or MessageTooLarge for one of them, when those before it
        have been taken.
        """
        check_loop(self._loop)
        values = each_with(values, details)
        if txn is not None:
            with txn._working():
                await self._enqueue_in(txn, many(values))
            return
        if self._plain and isinstance(values, list | tuple):
            await self._parts[0].queue.put_many(values, None)
            return
        for value in many(values):
            data, message = self._prepare(value, {})
            queue = self._route(data, message)
            if queue.full:
                await queue.room()
            queue.put(data, message, None)

    async def enqueue_packed(
        self, batches: Sequence[PackedBatch], *, txn: Transaction | None = None
    ) -> None:
        """Send batches that were packed before, as ``enqueue``; they keep their sequence ids.

        Neither schema nor interceptors see their messages, and nothing is sent after a batch that
        failed: its error is raised by this call or, where the broker refused it, by a later one.
        Raises InvalidValue where there are interceptors, or partitions: a batch goes to a producer
        of one partition.
        """
        check_loop(self._loop)
        if self._router is not None or self._interceptors is not None:
            raise InvalidValue(
                f"a packed batch goes to one partition, unseen by interceptors: open a producer "
                f"of one partition of {self._topic}, without interceptors"
            )
        queue = self._parts[0].queue
        if txn is None:
            await queue.put_packed(batches)
            return
        with txn._working():
            await txn._sends_to(queue)
            await queue.put_packed(batches, ManyInTransaction(txn))

    async def ready(self) -> None:
        """Return when there is room for a message. Raises AlreadyClosed.

        It waits for room in every partition, since the next message may go to any of them.
        """
        check_loop(self._loop)
        for part in self._parts:
            await part.queue.ready()

    async def register_schema(self, schema: Schema[Any] | SchemaInfo) -> int:
        """Let the topic have a schema that is not the producer's own. Returns its version.

        A payload that was encoded with it is sent with ``schema_version``. Raises InvalidValue for
        a schema that the broker is not told of, IncompatibleSchema, TimedOut, the broker's error.
        """
        check_loop(self._loop)
        info = schema.info if isinstance(schema, Schema) else schema
        if info is None:
            raise InvalidValue(f"{type(schema).__name__} is no schema that a topic can have")
        return await self._parts[0].register_schema(info)

    async def flush(self) -> None:
        """Send what waits in batches, and return when all that was sent has been settled.

        Raises the first error of what it waited for, or of a ``send_nowait`` since the last flush.
        """
        check_loop(self._loop)
        await gather_all(part.queue.flush() for part in self._parts)

    def close(self, timeout_s: float | None = None) -> Coroutine[Any, Any, None]:
        """Flush and detach, in ``timeout_s``, or the client's ``close_timeout_s``. May be repeated.

        What has no receipt then fails with AlreadyClosed. Raises NotStored for it, and for what
        failed before without being told: it says how many messages, and why. It begins with
        the call; cancelled, it goes on without who waited for it, and another call waits for its
        end. While Ctrl-C or a cancellation ends the caller it takes half a second at most.
        """
        check_loop(self._loop)
        check_timeout(timeout_s)
        return self._closing(time_to_close(timeout_s))

    async def _close(self, timeout_s: float | None) -> None:
        try:
            await self._tasks.close()
            await close_all(part.close(timeout_s) for part in self._parts)
        finally:
            if self._interceptors is not None:
                self._interceptors.close()
            self._on_closed(self)
        messages = sum(part.not_stored for part in self._parts)
        if messages:
            why = next(part.why_not for part in self._parts if part.not_stored)
            raise NotStored(
                f"not stored, as far as is known: {messages} message{'s' * (messages > 1)} that "
                f"the producer of {self._topic} had taken: {why}"
            ) from why

    def __repr__(self) -> str:
        return f"<Producer {self.name} of {self._topic}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        with added_to(raised):
            await self.close()

    def _prepare(
        self, value: T | Buffer | OutgoingMessage[T], details: MessageDetails
    ) -> tuple[bytes, OutgoingMessage | None]:
        """Make the outgoing message for a value. On any thread. Raises InvalidValue."""
        return prepare(value, details, self._schema, self._before_send)

    def _check_room(self, messages: int, size_bytes: int) -> None:
        """Raises QueueFull when so many more fill a queue, AlreadyClosed. On any thread."""
        for part in self._parts:
            part.queue.check_room(messages, size_bytes)

    def _take(self, handed: list[Handed]) -> None:
        """Send messages that ``Handover`` let in before. Their errors go to their receipts."""
        if self._router is None:
            self._parts[0].queue.take(handed)
            return
        for each in handed:
            data, message, waiter = (each, None, None) if isinstance(each, bytes) else each
            try:
                self._route(data, message).take([each])
            except MagnetarError as error:
                self._parts[0].queue.sends.fail(waiter, error)

    def _report_stats(self, interval_s: float) -> None:
        """Measure latencies, and log a line of statistics every so often."""
        self._statistics.measure()
        who = f"producer.stats topic={self._topic} name={self.name}"
        work = report(self._statistics.end_interval, who, clock=self._clock, interval_s=interval_s)
        self._tasks.spawn("stats", work)

    def _watch(self, partitions: Coroutine[Any, Any, None]) -> None:
        """Run what adds new partitions, until this producer is closed."""
        self._tasks.spawn("partitions", partitions)

    def _add(self, parts: Sequence[TopicProducer]) -> None:
        """Send to more partitions."""
        self._parts += parts  # They are those of the statistics, too.
        if self._interceptors is not None:
            self._interceptors.on_partitions_change(len(self._parts))

    def _route(self, data: bytes, message: OutgoingMessage | None) -> SendQueue:
        """Which queue takes what ``prepare`` returned. Raises InvalidValue."""
        if self._router is None:
            return self._parts[0].queue
        try:
            return self._parts[self._choose(self._router, data, message)].queue
        except InvalidValue as error:
            not_sent(message, error)
            raise

    def _choose(
        self, router: Router | MessageRouter, data: bytes, message: OutgoingMessage | None
    ) -> int:
        check_data(data)
        count, now = len(self._parts), self._clock.now()
        if isinstance(router, MessageRouter):
            return router.choose(message or OutgoingMessage(data), count)
        key = key_text(message.key) if message is not None else None
        return router.choose(key, len(data), count, now)

    async def _send_in(
        self, txn: Transaction, queue: SendQueue, data: bytes, message: OutgoingMessage | None
    ) -> MessageId:
        receipt: asyncio.Future[MessageId] = self._loop.create_future()
        try:
            await txn._sends_to(queue)
            if queue.full:
                await queue.room()
                txn._check_open()
        except MagnetarError as error:
            not_sent(message, error)
            raise
        waiter = InTransaction(txn, receipt)
        try:
            queue.put(data, message, waiter, txn.id)
        except MagnetarError:
            txn._end_work()  # It is not sent, and who sends it is told.
            raise
        return await receipt

    async def _enqueue_in(
        self, txn: Transaction, values: Iterable[T | Buffer | OutgoingMessage[T]]
    ) -> None:
        receipts = ManyInTransaction(txn)
        if self._plain and isinstance(values, list | tuple):
            queue = self._parts[0].queue
            await txn._sends_to(queue)
            await queue.put_many(values, receipts)
            return
        for value in values:
            data, message = self._prepare(value, {})
            queue = self._route(data, message)
            await txn._sends_to(queue)
            if queue.full:
                await queue.room()
            receipt = receipts.part()
            try:
                queue.put(data, message, receipt, txn.id)
            except MagnetarError as error:
                receipt.settle(error)
                raise

    async def _put_some(
        self,
        messages: Sequence[bytes | Buffer | OutgoingMessage],
        at: int,
        receipts: ManyReceipts,
        txn: Transaction | None,
    ) -> int:
        """Put the message at ``at``, and those that go where it goes. Returns how many.

        Raises as ``SendQueue.put_many``.
        """
        first, router = messages[at], self._router
        if router is None:
            if txn is not None:
                await txn._sends_to(self._parts[0].queue)
            await self._parts[0].queue.put_many(messages[at:], receipts)
            return len(messages) - at
        if type(first) is not bytes or isinstance(router, MessageRouter):
            await self._put_routed(first, receipts, txn)
            return 1
        now = self._clock.now()
        index, count_max, size_max = router.room(len(self._parts), now)
        count, size = 0, 0
        for message in messages[at : at + max(count_max, 1)]:
            if type(message) is not bytes or (count and size + len(message) > size_max):
                break
            count += 1
            size += len(message)
        router.took(count, size)
        if txn is not None:
            await txn._sends_to(self._parts[index].queue)
        await self._parts[index].queue.put_many(messages[at : at + count], receipts)
        return count

    async def _put_routed(
        self,
        message: bytes | Buffer | OutgoingMessage,
        receipts: ManyReceipts,
        txn: Transaction | None,
    ) -> None:
        try:
            data, details = prepare(message)
            queue = self._route(data, details)
        except InvalidValue as error:
            receipts.part().settle(error)
            return
        if txn is not None:
            await txn._sends_to(queue)
        if queue.full:
            await queue.room()
            try:
                queue.check_room()
            except MagnetarError as error:
                not_sent(details, error)
                raise
        receipt = receipts.part()
        try:
            queue.put(data, details, receipt, receipts.txn_id)
        except MagnetarError as error:
            receipt.settle(error)
