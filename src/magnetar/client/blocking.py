"""The same client for threads: every call waits for its answer.

Written by ``make generate`` from the asyncio client: change that, never this file. All blocking
clients of a process are served by one event loop in one daemon thread (``loop_thread.py``). Every
call here may be made from any thread.

What waits for an answer crosses to the loop's thread and back. ``submit``, ``send_nowait`` and
``acknowledge`` leave their message to be taken with others, ``receive`` takes one of those that the
loop has opened: they cost little each, ``send_many`` and ``receive_many`` still less.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from math import inf
from typing import Any, Generic, Self, Unpack

from magnetar.client import client as client_module
from magnetar.client import transaction as transaction_module
from magnetar.client.config import ClientOptions, ClientSettings
from magnetar.client.consumers import consumer as consumer_module
from magnetar.client.consumers import reader as reader_module
from magnetar.client.consumers import receiver as receiver_module
from magnetar.client.consumers import table_view as table_view_module
from magnetar.client.consumers.config import ConsumerOptions, ReaderOptions, TableViewOptions
from magnetar.client.consumers.entry import Entry
from magnetar.client.environment import read_conf, settings_in_environment
from magnetar.client.facade import (
    ClientFacade,
    MadeFacade,
    ProducerFacade,
    ReceiverFacade,
    inner,
    listed,
    lists,
)
from magnetar.client.failover import ServiceInfo
from magnetar.client.leaving import added_to
from magnetar.client.message import Message
from magnetar.client.outgoing_message import Buffer, MessageDetails, OutgoingMessage, outgoing
from magnetar.client.producers import producer as producer_module
from magnetar.client.producers.batching import PackedBatch
from magnetar.client.producers.config import ProducerOptions
from magnetar.client.send_future import SendFuture
from magnetar.client.statistics import ConsumerStats, ProducerStats
from magnetar.client.transaction import TransactionState
from magnetar.errors import AlreadyClosed, UndecodableValue
from magnetar.model.position import EARLIEST_MESSAGE, MessageId, Position
from magnetar.model.schemas import SchemaInfo
from magnetar.model.txn_id import TxnId
from magnetar.schemas.schema import Schema, T, T_co


class Transaction(MadeFacade):
    """``magnetar.Transaction`` for threads."""

    @property
    def _transaction(self) -> transaction_module.Transaction:
        found: transaction_module.Transaction = self._asyncio
        return found

    @property
    def id(self) -> TxnId:
        """Its id, as brokers show it: the number of its coordinator, and its own there."""
        return self._transaction.id

    @property
    def state(self) -> TransactionState:
        """How far it is, as this client knows."""
        return self._transaction.state

    def commit(self) -> None:
        """Let all that was done in it happen.

        Waits for what was sent and acknowledged in it. Raises TransactionAborted where some of that
        has failed, or its time is up: then nothing of it has happened. A commit whose answer is
        lost is asked for again; raises CommitUnknown when no coordinator answers within the
        operation timeout, or none knows any more how it has ended. Raises AlreadyClosed when it was
        aborted by the application. Cancelled, it goes on.
        """
        self._run(self._transaction.commit)

    def abort(self) -> None:
        """Let nothing of it happen: messages acknowledged in it come again.

        Raises AlreadyClosed when it was committed, and TimedOut when its coordinator does not
        answer, which aborts it when its time is up. Cancelled, it goes on.
        """
        self._run(self._transaction.abort)

    def close(self, timeout_s: float | None = None) -> None:
        """Abort it unless it has ended, in ``timeout_s``; its coordinator does it later if need be.

        While Ctrl-C or a cancellation ends the caller it takes half a second at most.
        """
        self._close(timeout_s)

    def __repr__(self) -> str:
        return repr(self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        if raised is not None:
            self.close()
        elif self.state is TransactionState.OPEN:  # It was not ended in the block.
            self.commit()


class Producer(ProducerFacade, Generic[T]):
    """``magnetar.Producer`` for threads."""

    @property
    def _producer(self) -> producer_module.Producer[T]:
        found: producer_module.Producer[T] = self._asyncio
        return found

    @property
    def topic(self) -> str:
        """The full name of the topic; without the partition on a partitioned one."""
        return self._producer.topic

    @property
    def name(self) -> str:
        """The producer's name: as given, or as the broker made it up."""
        return self._producer.name

    @property
    def last_sequence_id(self) -> int:
        """The highest sequence id that has a receipt; -1 before the first."""
        return self._producer.last_sequence_id

    @property
    def connected(self) -> bool:
        """Whether it is attached to its brokers. It need not be: sends wait for that."""
        return self._producer.connected

    @property
    def partitions(self) -> int:
        """How many partitions it sends to; 0 when the topic is not partitioned."""
        return self._producer.partitions

    @property
    def stats(self) -> ProducerStats:
        """Statistics of what it has sent."""
        return self._producer.stats

    def send(
        self,
        value: T | Buffer | OutgoingMessage[T],
        *,
        txn: Transaction | None = None,
        **details: Unpack[MessageDetails],
    ) -> MessageId:
        """Send one message, and return its id when the broker has stored it.

        Waits for room in the queue, too. Raises as ``magnetar.Producer.send``.
        """
        return self.send_many([outgoing(value, details)], txn=txn)[0]

    def submit(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> Future[MessageId]:
        """Send one message without waiting; the future brings what ``send`` returns or raises.

        Raises at once: QueueFull when there is no room (call ``ready``), AlreadyClosed,
        InvalidValue. The future cannot be cancelled.
        """
        receipt = SendFuture()
        self._handover.put(value, details, receipt)
        return receipt

    def send_nowait(
        self, value: T | Buffer | OutgoingMessage[T], **details: Unpack[MessageDetails]
    ) -> None:
        """The same without a future; what goes wrong later is raised by ``flush``."""
        self._handover.put(value, details)

    def send_many(
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
        return self._run(self._producer.send_many, listed(values), txn=inner(txn), **details)

    def enqueue(
        self,
        values: Iterable[T | Buffer | OutgoingMessage[T]],
        *,
        txn: Transaction | None = None,
        **details: Unpack[MessageDetails],
    ) -> None:
        """Send messages, and return when the queue has taken them: receipts come later.

        What goes wrong later is raised by ``flush``, or keeps the transaction from being committed.
        Raises as ``magnetar.Producer.enqueue``.
        """
        for some in lists(values):
            self._run(self._producer.enqueue, some, txn=inner(txn), **details)

    def enqueue_packed(
        self, batches: Sequence[PackedBatch], *, txn: Transaction | None = None
    ) -> None:
        """Send batches that were packed before, as ``enqueue``; they keep their sequence ids.

        Neither schema nor interceptors see their messages, and nothing is sent after a batch that
        failed: its error is raised by this call or, where the broker refused it, by a later one.
        Raises InvalidValue where there are interceptors, or partitions: a batch goes to a producer
        of one partition.
        """
        self._run(self._producer.enqueue_packed, batches, txn=inner(txn))

    def ready(self) -> None:
        """Return when there is room for a message. Raises AlreadyClosed.

        It waits for room in every partition, since the next message may go to any of them.
        """
        self._run(self._producer.ready)

    def register_schema(self, schema: Schema[Any] | SchemaInfo) -> int:
        """Let the topic have a schema that is not the producer's own. Returns its version.

        A payload that was encoded with it is sent with ``schema_version``. Raises InvalidValue for
        a schema that the broker is not told of, IncompatibleSchema, TimedOut, the broker's error.
        """
        return self._run(self._producer.register_schema, schema)

    def flush(self) -> None:
        """Send what waits in batches, and return when all that was sent has been settled.

        Raises the first error of what it waited for, or of a ``send_nowait`` since the last flush.
        """
        self._run(self._producer.flush)

    def close(self, timeout_s: float | None = None) -> None:
        """Flush and detach, in ``timeout_s``, or the client's ``close_timeout_s``. May be repeated.

        What has no receipt then fails with AlreadyClosed. Raises NotStored for it, and for what
        failed before without being told: it says how many messages, and why. It begins with
        the call; cancelled, it goes on without who waited for it, and another call waits for its
        end. While Ctrl-C or a cancellation ends the caller it takes half a second at most.
        """
        self._close(timeout_s)

    def __repr__(self) -> str:
        return repr(self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        with added_to(raised):
            self.close()


class Receiver(ReceiverFacade, Generic[T_co]):
    """``magnetar.Receiver`` for threads."""

    @property
    def _receiver(self) -> receiver_module.Receiver[T_co]:
        found: receiver_module.Receiver[T_co] = self._asyncio
        return found

    @property
    def topic(self) -> str:
        """The full name of the topic; of a list, all names joined by commas; or the pattern."""
        return self._receiver.topic

    @property
    def topics(self) -> list[str]:
        """The full names of what is received from: topics, and partitions one by one."""
        return self._receiver.topics

    @property
    def name(self) -> str:
        """Its own name, as given or made up."""
        return self._receiver.name

    @property
    def connected(self) -> bool:
        """Whether it is attached to the brokers of all its topics."""
        return self._receiver.connected

    @property
    def stats(self) -> ConsumerStats:
        """Statistics of what it has received."""
        return self._receiver.stats

    def receive(self, timeout_s: float | None = None) -> Message[T_co]:
        """The next message, waiting for it up to ``timeout_s`` seconds (None: for ever).

        Raises TimedOut, AlreadyClosed, or why the broker refuses it from now on.
        """
        return self._take(timeout_s)

    def receive_many(
        self,
        count_max: int = 1000,
        timeout_s: float | None = None,
        *,
        count_min: int = 1,
        bytes_max: int | None = None,
    ) -> list[Message[T_co]]:
        """What there is, at most ``count_max``; waits for the first, [] when the time is up.

        With ``count_min`` it waits for so many, and returns what there is when the time is up.
        Payloads of more than ``bytes_max`` bytes together are left to the next call, but for a
        first message that has more by itself.
        The cheapest way to receive. Raises as ``receive``, but for TimedOut.
        """
        return self._take_many(
            self._receiver.receive_many,
            count_max,
            timeout_s,
            count_min=count_min,
            bytes_max=bytes_max,
        )

    def __iter__(self) -> Iterator[Message[T_co]]:
        """Messages for ever; ends when it is closed."""
        while True:
            try:
                message = self.receive()
            except AlreadyClosed:
                return
            yield message

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return self._receiver.paused

    def pause(self) -> None:
        """Have the brokers send no more; what they have sent already is still received."""
        self._call(self._receiver.pause)

    def resume(self) -> None:
        """Have the brokers send again."""
        self._call(self._receiver.resume)

    def seek(self, message_id: MessageId, *, inclusive: bool = True) -> None:
        """Go to a message: it is received next, or with ``inclusive=False`` the one after it.

        Moves the whole subscription, with all its consumers. EARLIEST_MESSAGE and LATEST_MESSAGE
        move every topic; an id moves the partition it belongs to. Raises TimedOut or the broker's
        error. Cancelled, it may or may not have happened.
        """
        self._run(self._receiver.seek, message_id, inclusive=inclusive)

    def seek_time(self, publish_time_ms: int | datetime) -> None:
        """Go to the first message published at or after this time. Raises as ``seek``.

        It is in milliseconds since the epoch, or a ``datetime`` with a time zone.
        """
        self._run(self._receiver.seek_time, publish_time_ms)

    def seek_each(self, place: Callable[[str], MessageId | int | datetime]) -> None:
        """Go to a place of its own on each topic and partition.

        ``place`` gets a full name and returns a message id, or a publish time as that of
        ``seek_time``. Raises as ``seek``.
        """
        self._run(self._receiver.seek_each, place)

    def last_message_id(self) -> MessageId | None:
        """The id of the topic's last message; None when it has none.

        Of several topics or partitions the greatest. Raises TimedOut or the broker's error.
        """
        return self._run(self._receiver.last_message_id)

    def last_message_ids(self) -> dict[str, MessageId]:
        """The id of the last message of each topic and partition that has one. Raises as above."""
        return self._run(self._receiver.last_message_ids)

    @property
    def reached_end(self) -> bool:
        """Every topic has ended, and all that was in it is acknowledged, or read by a reader."""
        return self._receiver.reached_end

    def has_message_available(self) -> bool:
        """Whether ``receive`` would return without another message being published."""
        return self._run(self._receiver.has_message_available)

    def close(self, timeout_s: float | None = None) -> None:
        """Send the acknowledgements that wait, and detach. May be called again.

        That takes ``timeout_s`` at most, or the client's ``close_timeout_s``. Waiting receivers get
        AlreadyClosed. It begins with the call; cancelled, it goes on without who waited for it, and
        another call waits for its end.
        """
        self._close(timeout_s)

    def __repr__(self) -> str:
        return repr(self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        with added_to(raised):
            self.close()


class Consumer(Receiver[T_co]):
    """``magnetar.Consumer`` for threads."""

    @property
    def _consumer(self) -> consumer_module.Consumer[T_co]:
        found: consumer_module.Consumer[T_co] = self._asyncio
        return found

    @property
    def subscription(self) -> str:
        return self._consumer.subscription

    @property
    def active(self) -> bool:
        """A Failover consumer: it is the active one of some topic. The others are always."""
        return self._consumer.active

    def acknowledge(
        self,
        messages: Message[Any] | MessageId | Iterable[Message[Any] | MessageId],
        *,
        txn: Transaction | None = None,
    ) -> None:
        """The application is done with these: the broker need not deliver them again.

        Leaves with others after ``ack_group_time_s``. An entry is acknowledged when all its
        messages are, or message by message with ``batch_index_ack``. Raises AlreadyClosed, and
        InvalidValue for the bare id of a message that may be of several topics.

        What it returns need not be awaited. With ``ack_receipts`` awaiting it sends the group, and
        ends with the broker's answer: it raises the broker's error, TimedOut, or AlreadyClosed when
        the consumer is closed before; without, it ends at once. A connection that is lost
        meanwhile makes it wait for the next one, which sends the acknowledgement again.

        In a transaction it counts when that is committed; otherwise the messages come again. It
        leaves with what is acknowledged in the same iteration of the loop, message by message of
        a batch, and awaiting it ends with the broker's answer: it raises TransactionConflict for
        what another transaction has acknowledged. The transaction waits for it in any case.
        """
        self._acknowledge(messages, txn)

    def acknowledge_cumulative(
        self, message: Message[Any] | MessageId, *, txn: Transaction | None = None
    ) -> None:
        """The application is done with this one and all before it on its topic.

        Raises NotAllowed on a Shared or Key_Shared subscription. May be awaited as ``acknowledge``.
        """
        self._wait_for(self._consumer.acknowledge_cumulative, message, txn=inner(txn))

    def negative_acknowledge(
        self, messages: Message[Any] | MessageId | Iterable[Message[Any] | MessageId]
    ) -> None:
        """The application cannot process these now: they come again.

        They are asked for after ``negative_ack_delay_s``, entry by entry, without the messages of
        a batch that are acknowledged. An Exclusive or Failover subscription starts again behind its
        mark then. Raises InvalidValue as ``acknowledge``.
        """
        self._call(self._consumer.negative_acknowledge, listed(messages))

    def reconsume_later(
        self, message: Message[Any], delay_s: float, properties: Mapping[str, str] | None = None
    ) -> None:
        """Have a message come again from the retry topic, ``delay_s`` seconds from now.

        Needs ``enable_retry``. It is sent there with ``properties`` added to its own, or to the
        dead letter topic after ``max_redeliver_count`` times, and acknowledged when it is stored.
        Raises NotAllowed, InvalidValue, and what kept it from being stored; then it is not
        acknowledged. Cancelled, it may be in both topics.
        """
        self._run(self._consumer.reconsume_later, message, delay_s, properties)

    def backlog(self) -> int:
        """Entries that are still to be acknowledged; a batch is one. Raises as ``seek``.

        The broker counts them, in all of the topics and partitions together.
        """
        return self._run(self._consumer.backlog)

    def flush(self) -> None:
        """Send the acknowledgements that wait; they are with the socket when it returns.

        Without a connection they go on waiting for the next one.
        """
        self._run(self._consumer.flush)

    def redeliver_unacknowledged(
        self, messages: Iterable[Message[Any] | MessageId] | None = None
    ) -> None:
        """Ask for what was delivered and not acknowledged once more, or only for ``messages``.

        An Exclusive or Failover subscription always starts again behind its mark.
        """
        self._run(self._consumer.redeliver_unacknowledged, listed(messages))

    def unsubscribe(self, *, force: bool = False) -> None:
        """Delete the subscription and close; ``force``: even when others are connected to it.

        Raises TimedOut or the broker's error; then the consumer goes on.
        """
        self._run(self._consumer.unsubscribe, force=force)


class Reader(Receiver[T_co]):
    """``magnetar.Reader`` for threads."""

    @property
    def _reader(self) -> reader_module.Reader[T_co]:
        found: reader_module.Reader[T_co] = self._asyncio
        return found

    def backlog(self) -> int:
        """Entries that are still to be acknowledged; a batch is one. Raises as ``seek``.

        The broker counts them, in all of the topics and partitions together.
        """
        return self._run(self._reader.backlog)

    def receive_entries(
        self, count_max: int = 1000, timeout_s: float | None = None, *, bytes_max: float = inf
    ) -> list[Entry]:
        """Whole entries, until they have ``count_max`` messages; waits as ``receive_many``.

        Those behind the one with which payloads have ``bytes_max`` bytes are left to the next call.
        For callers that take many messages apart at once, such as into columns.
        """
        return self._run(self._reader.receive_entries, count_max, timeout_s, bytes_max=bytes_max)

    def mark_delete_position(self) -> Position | None:
        """Up to which entry the broker takes everything for received.

        Of a new reader that is the entry before its start; of one that starts behind the end of a
        ledger, the last entry of the ledger. Of several topics or partitions it is the least, and
        None when none of them has a message. Raises TimedOut or the broker's error.
        """
        return self._run(self._reader.mark_delete_position)


class TableView(MadeFacade, Generic[T_co]):
    """``magnetar.TableView`` for threads."""

    @property
    def _table_view(self) -> table_view_module.TableView[T_co]:
        found: table_view_module.TableView[T_co] = self._asyncio
        return found

    @property
    def topic(self) -> str:
        """The full name of the topic."""
        return self._table_view.topic

    def get(self, key: str) -> T_co | None:
        """The value of ``key``; None where it has none."""
        return self._table_view.get(key)

    def keys(self) -> list[str]:
        return self._table_view.keys()

    def values(self) -> list[T_co]:
        return self._table_view.values()

    def items(self) -> list[tuple[str, T_co]]:
        """The keys with their values, as they are now."""
        return self._table_view.items()

    @property
    def undecodable(self) -> dict[str, UndecodableValue]:
        """The keys whose latest message is none of the schema, and why."""
        return self._table_view.undecodable

    def for_each(self, action: Callable[[str, T_co], object]) -> None:
        """Call ``action`` with each key and its value."""
        return self._table_view.for_each(action)

    def listen(self, action: Callable[[str, T_co | None], object]) -> None:
        """Call ``action`` with each key that changes from now on, and its value; None: it has none.

        It is called on the client's event loop, so it may not wait; what it raises is logged.
        """
        self._call(self._table_view.listen, action)

    def for_each_and_listen(self, action: Callable[[str, T_co | None], object]) -> None:
        """``for_each``, then ``listen``: nothing in between is missed."""
        self._call(self._table_view.for_each_and_listen, action)

    def refresh(self, timeout_s: float | None = None) -> None:
        """Wait until everything is in that was published before this call.

        Raises TimedOut after ``timeout_s`` seconds, AlreadyClosed, or what ended the reading.
        """
        self._run(self._table_view.refresh, timeout_s)

    def close(self, timeout_s: float | None = None) -> None:
        """Follow the topic no longer. As ``Consumer.close``."""
        self._close(timeout_s)

    def __getitem__(self, key: str) -> T_co:
        return self._table_view.__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return self._table_view.__contains__(key)

    def __iter__(self) -> Iterator[str]:
        return self._table_view.__iter__()

    def __len__(self) -> int:
        return self._table_view.__len__()

    def __repr__(self) -> str:
        return repr(self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        with added_to(raised):
            self.close()


class Client(ClientFacade):
    """``magnetar.Client`` for threads."""

    @property
    def _client(self) -> client_module.Client:
        found: client_module.Client = self._asyncio
        return found

    @classmethod
    def from_env(cls, **options: Unpack[ClientOptions]) -> Self:
        """A client with the settings of the environment; keyword arguments go before them.

        PULSAR_SERVICE_URL, PULSAR_TOKEN, PULSAR_TLS_TRUST_CERTS_FILE and so on, over the file that
        PULSAR_CLIENT_CONF names. Raises InvalidValue.
        """
        settings: ClientSettings = {**settings_in_environment(os.environ), **options}
        return cls(**settings)

    @classmethod
    def from_config(cls, file: str, **options: Unpack[ClientOptions]) -> Self:
        """A client with the settings of a ``client.conf``; keyword arguments go before them.

        Raises InvalidValue.
        """
        settings: ClientSettings = {**read_conf(file), **options}
        return cls(**settings)

    def create_producer(
        self, topic: str, *, schema: Schema[T] | None = None, **options: Unpack[ProducerOptions]
    ) -> Producer[T]:
        """A producer for ``topic``; ``ProducerConfig`` says what the keyword arguments mean.

        It takes values of ``schema``, or bytes, and on a partitioned topic sends to all
        partitions. Raises InvalidName, InvalidValue, IncompatibleSchema when the topic does not
        take the schema, CryptoFailed for a key that cannot be had, ProducerFenced or ProducerBusy
        when another has the topic for itself, another error of the broker, or TimedOut when the
        broker did not let it in within the operation timeout, which does not end the waiting of
        WAIT_FOR_EXCLUSIVE.
        """
        return Producer(self, lambda: self._client.create_producer(topic, schema=schema, **options))

    def subscribe(
        self,
        topic: str | Sequence[str] | re.Pattern[str],
        subscription: str,
        *,
        schema: Schema[T] | None = None,
        listener: Callable[[Consumer[T], Message[T]], object] | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> Consumer[T]:
        """A consumer of ``topic``, or of several; ``ConsumerConfig`` explains the arguments.

        A list takes in those of its topics that exist, or can be created, and the others when they
        appear. So does a pattern, such as ``re.compile("persistent://tenant/namespace/a-.*")``: it
        is matched with the full names of one namespace's topics, and what vanishes is left out.
        Topics that come later are received from their first message on.

        ``listener`` is called with the consumer and each message, one after the other; a message
        is logged and left unacknowledged when it raises, or with ``negative_ack_listener_errors``
        comes again. Do not receive yourself then.

        Messages have values of ``schema``, or bytes. Creates the subscription where it does
        not exist. Raises InvalidName, InvalidValue, IncompatibleSchema when a topic does not go
        with the schema, another error of the broker, or TimedOut when the broker did not let it
        in within the operation timeout.
        """
        return Consumer(
            self,
            lambda: self._client.subscribe(topic, subscription, schema=schema, **options),
            listener,
        )

    def create_reader(
        self,
        topic: str | Sequence[str],
        start: MessageId | Mapping[int, MessageId] | Mapping[str, MessageId] = EARLIEST_MESSAGE,
        *,
        inclusive: bool = False,
        start_rollback_s: float | None = None,
        subscription: str | None = None,
        schema: Schema[T] | None = None,
        listener: Callable[[Reader[T], Message[T]], object] | None = None,
        **options: Unpack[ReaderOptions],
    ) -> Reader[T]:
        """A reader of ``topic``, or of several, from ``start`` on: it keeps no place at the broker.

        The first message is the one after ``start``, or with ``inclusive`` that one itself;
        EARLIEST_MESSAGE and LATEST_MESSAGE are the ends of the topic, and LATEST_MESSAGE with
        ``inclusive`` begins with the last message there is. On a partitioned topic, or several,
        give one of the ends, or an id for each partition index or full name; those left out begin
        at the earliest. With ``start_rollback_s`` it begins with what was published in the last so
        many seconds, instead. ``subscription`` is shown in the stats. ``listener`` is as that of
        ``subscribe``. Raises as ``subscribe``.
        """
        return Reader(
            self,
            lambda: self._client.create_reader(
                topic,
                start,
                inclusive=inclusive,
                start_rollback_s=start_rollback_s,
                subscription=subscription,
                schema=schema,
                **options,
            ),
            listener,
        )

    def create_table_view(
        self,
        topic: str,
        *,
        subscription: str | None = None,
        schema: Schema[T] | None = None,
        **options: Unpack[TableViewOptions],
    ) -> TableView[T]:
        """A table view of ``topic``: the latest value of each key, with all that is there now.

        It is read compacted, and keeps no place at the broker. Values are those of ``schema``, or
        bytes. Raises as ``subscribe``.
        """
        return TableView(
            self,
            lambda: self._client.create_table_view(
                topic, subscription=subscription, schema=schema, **options
            ),
        )

    def transaction(self, timeout_s: float = 60.0) -> Transaction:
        """Begin a transaction, to be used as ``async with client.transaction() as txn``.

        What is sent and acknowledged with ``txn=txn`` happens when the block ends, all of it; when
        an exception leaves the block, or ``timeout_s`` seconds are over before, none of it. Raises
        NotAllowed where the brokers have no transactions, TimedOut, the broker's error.
        """
        return Transaction(self, lambda: self._client.transaction(timeout_s))

    def partitions(self, topic: str) -> int:
        """How many partitions ``topic`` has; 0 when it is not partitioned.

        Creates nothing. Raises TopicNotFound when it does not exist, InvalidName, TimedOut.
        """
        return self._run(self._client.partitions, topic)

    def schema(self, topic: str, version: int | None = None) -> SchemaInfo:
        """The schema that ``topic`` has under a number, ``Message.schema_version``, or the latest.

        A partition has that of its topic. Raises SchemaNotFound, InvalidName, TimedOut.
        """
        return self._run(self._client.schema, topic, version)

    def topics(self, namespace: str) -> list[str]:
        """The full names of the persistent topics of ``tenant/namespace``, sorted.

        Partitions are listed one by one. Raises InvalidName, TimedOut, the broker's error.
        """
        return self._run(self._client.topics, namespace)

    def go_over(self, cluster: ServiceInfo) -> None:
        """Use another cluster from now on: what the client has made comes along.

        Raises InvalidValue, AlreadyClosed.
        """
        self._call(self._client.go_over, cluster)

    def close(self, timeout_s: float | None = None) -> None:
        """Close what the client has made, then the connections. As ``Producer.close``."""
        self._close(timeout_s)

    def __repr__(self) -> str:
        return repr(self._made)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: object = None, raised: BaseException | None = None, __: object = None
    ) -> None:
        with added_to(raised):
            self.close()
