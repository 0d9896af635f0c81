"""The consumer that an application holds: it receives, and acknowledges."""

from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any

from magnetar.checks import check_instance, check_number
from magnetar.client.gather_all import gather_all
from magnetar.client.message import Message
from magnetar.client.outgoing_message import DELAY_S_MAX
from magnetar.client.own_loop import check_loop
from magnetar.client.transaction import Transaction
from magnetar.errors import MagnetarError, NotAllowed
from magnetar.model.position import MessageId
from magnetar.schemas.schema import T_co

from .ack_receipts import ACKNOWLEDGED, all_of
from .acknowledgements import AckRun
from .receiver import Receiver
from .topic_consumer import TopicConsumer


class Consumer(Receiver[T_co]):
    """Receives the messages of one subscription. Made by ``Client.subscribe``."""

    _run = AckRun()  # The entry of the message that was acknowledged last, if it has more of them.

    @property
    def subscription(self) -> str:
        return self._subscription

    @property
    def active(self) -> bool:
        """A Failover consumer: it is the active one of some topic. The others are always."""
        return any(part.active for part in self._parts)

    def acknowledge(
        self,
        messages: Message[Any] | MessageId | Iterable[Message[Any] | MessageId],
        *,
        txn: Transaction | None = None,
    ) -> Awaitable[None]:
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
        if txn is not None:
            return self._acknowledge_in(txn, messages)
        if isinstance(messages, Message):
            run = self._run
            if run.left > 1 and messages.delivery.position is run.position:  # The usual case.
                run.indexes.append(messages.batch_index)
                run.left -= 1
                return ACKNOWLEDGED
        if isinstance(messages, (Message, MessageId)):
            acks = self._part_of(messages).acks
            done = acks.acknowledge_one(messages)
            if self._interceptors is None:
                self._run = acks.state.run
            else:
                self._interceptors.on_acknowledge((messages,))
            return done
        given = _several(messages)
        if self._parts.closed:
            self._parts.raise_if_over()
        if self._interceptors is not None:
            self._interceptors.on_acknowledge(given)
        only = self._parts.only
        if only is not None:
            return only.acks.acknowledge(given)
        groups = groupby(given, self._part_of)
        return all_of([part.acks.acknowledge(list(group)) for part, group in groups])

    def _needs_no_answer(
        self, messages: Message[Any] | MessageId | Iterable[Message[Any] | MessageId]
    ) -> bool:
        """On any thread: ``acknowledge`` of these is done at once. Raises InvalidValue as that."""
        if isinstance(messages, (Message, MessageId)):
            return not self._part_of(messages).acks.has_receipts
        given = _several(messages)
        if self._parts.closed:
            self._parts.raise_if_over()
        parts = {part for part, _ in groupby(given, self._part_of)}
        return self._interceptors is None and not any(part.acks.has_receipts for part in parts)

    def acknowledge_cumulative(
        self, message: Message[Any] | MessageId, *, txn: Transaction | None = None
    ) -> Awaitable[None]:
        """The application is done with this one and all before it on its topic.

        Raises NotAllowed on a Shared or Key_Shared subscription. May be awaited as ``acknowledge``.
        """
        if not self._type.single_active:
            raise NotAllowed(
                f"cumulative acknowledgement on a {self._type.name} subscription: acknowledge "
                "messages one by one"
            )
        part = self._part_of(message)
        if txn is None:
            done = part.acks.acknowledge_cumulative(message)
        else:
            done = part.transaction_acks.acknowledge_cumulative(txn, message)
        if self._interceptors is not None:
            self._interceptors.on_acknowledge_cumulative(message)
        return done

    def negative_acknowledge(
        self, messages: Message[Any] | MessageId | Iterable[Message[Any] | MessageId]
    ) -> None:
        """The application cannot process these now: they come again.

        They are asked for after ``negative_ack_delay_s``, entry by entry, without the messages of
        a batch that are acknowledged. An Exclusive or Failover subscription starts again behind its
        mark then. Raises InvalidValue as ``acknowledge``.
        """
        given = [messages] if isinstance(messages, (Message, MessageId)) else _several(messages)
        for part, group in groupby(given, self._part_of):
            refused = list(group)
            part.redeliveries.refuse(refused)
            if part.incoming.interceptors is not None:
                part.incoming.interceptors.refuse(refused)

    def _acknowledge_in(
        self,
        txn: Transaction,
        messages: Message[Any] | MessageId | Iterable[Message[Any] | MessageId],
    ) -> Awaitable[None]:
        given = [messages] if isinstance(messages, (Message, MessageId)) else _several(messages)
        if self._parts.closed:
            self._parts.raise_if_over()
        txn._check_open()
        answers = []
        for part, group in groupby(given, self._part_of):
            if part.keeps_messages:
                answers.append(part.transaction_acks.acknowledge(txn, group))
        if self._interceptors is not None:
            self._interceptors.on_acknowledge(given)
        return all_of(answers)

    def _listener_failed(self, message: Message[Any]) -> None:
        if self._refuses_listener_errors:
            with suppress(MagnetarError):  # The listener may have closed it.
                self.negative_acknowledge(message)

    async def reconsume_later(
        self,
        message: Message[Any],
        delay_s: float,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Have a message come again from the retry topic, ``delay_s`` seconds from now.

        Needs ``enable_retry``. It is sent there with ``properties`` added to its own, or to the
        dead letter topic after ``max_redeliver_count`` times, and acknowledged when it is stored.
        Raises NotAllowed, InvalidValue, and what kept it from being stored; then it is not
        acknowledged. Cancelled, it may be in both topics.
        """
        check_loop(self._loop)
        check_instance("message", message, Message)
        check_number("delay_s", delay_s, most=DELAY_S_MAX)
        part = self._part_of(message)
        if part.incoming.dead_letters is None:
            raise NotAllowed("reconsume_later needs a consumer with enable_retry=True")
        await part.incoming.dead_letters.later(message, delay_s, properties)
        await part.acks.acknowledge_one(message)

    async def backlog(self) -> int:
        """Entries that are still to be acknowledged; a batch is one. Raises as ``seek``.

        The broker counts them, in all of the topics and partitions together.
        """
        return sum(await self._parts.all(part.positions.backlog() for part in self._parts))

    async def flush(self) -> None:
        """Send the acknowledgements that wait; they are with the socket when it returns.

        Without a connection they go on waiting for the next one.
        """
        check_loop(self._loop)
        for part in self._parts:
            part.flush()

    async def redeliver_unacknowledged(
        self, messages: Iterable[Message[Any] | MessageId] | None = None
    ) -> None:
        """Ask for what was delivered and not acknowledged once more, or only for ``messages``.

        An Exclusive or Failover subscription always starts again behind its mark.
        """
        check_loop(self._loop)
        if messages is None:
            for part in self._parts:
                part.redeliver(None)
            return
        wanted: dict[TopicConsumer, list[Message[Any] | MessageId]] = {}
        for message in _several(messages):
            wanted.setdefault(self._part_of(message), []).append(message)
        for part, group in wanted.items():
            part.redeliver(group)

    async def _close(self, timeout_s: float | None) -> None:
        self._run = AckRun()
        await super()._close(timeout_s)

    async def unsubscribe(self, *, force: bool = False) -> None:
        """Delete the subscription and close; ``force``: even when others are connected to it.

        Raises TimedOut or the broker's error; then the consumer goes on.
        """
        check_loop(self._loop)
        await gather_all(part.unsubscribe(force=force) for part in self._parts)
        await self.close()


def _several(messages: Iterable[Message[Any] | MessageId]) -> list[Message[Any] | MessageId]:
    """Raises InvalidValue where one of them is no message and no id."""
    check_instance("what is acknowledged", messages, Message, MessageId, Iterable)
    given = list(messages)
    if not set(map(type, given)) <= {Message, MessageId}:  # These two need no second look.
        for each in given:
            check_instance("what is acknowledged", each, Message, MessageId)
    return given
