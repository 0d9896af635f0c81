"""A consumer with the names and behaviour of ``pulsar.Consumer``, over ours for threads."""

from collections.abc import Callable
from contextlib import suppress

from magnetar.client import blocking
from magnetar.client.message import Message as OurMessage
from magnetar.client.message import TopicMessageId
from magnetar.errors import NotAllowed, NotOfConsumer
from magnetar.model.position import ChunkedMessageId
from magnetar.model.position import MessageId as OurMessageId

from .callbacks import Callbacks
from .checks import check_type
from .enums import Result
from .errors import exception, raises_theirs
from .listening import Listening
from .message import Message, wrapped
from .message_id import MessageId
from .policies import NO_LIMIT, BatchReceivePolicy
from .schema.schema import Schema


class Consumer:
    """Receives the messages of a subscription. Made by ``Client.subscribe``."""

    _consumer: blocking.Consumer
    _schema: Schema
    _batch_policy: BatchReceivePolicy
    _callbacks: Callbacks
    _opened: set[object]
    _listening: "Listening[Consumer] | None" = None
    _inclusive = False  # Whether ``seek`` goes to the message itself.

    def topic(self) -> str:
        """The full name of the topic; of several, all names joined by commas."""
        return self._consumer.topic

    def subscription_name(self) -> str:
        return self._consumer.subscription

    def consumer_name(self) -> str:
        return self._consumer.name

    @raises_theirs
    def unsubscribe(self) -> None:
        """Delete the subscription, and close."""
        self._consumer.unsubscribe()
        self._opened.discard(self)

    @raises_theirs
    def receive(self, timeout_millis: int | None = None) -> Message:
        """The next message. Raises Timeout when there is none in so many milliseconds."""
        if self._listening is not None:
            raise exception(Result.InvalidConfiguration, "receive: there is a listener")
        if timeout_millis is None:
            return wrapped(self._consumer.receive(), self._schema)
        check_type(int, timeout_millis, "timeout_millis")
        return wrapped(self._consumer.receive(max(timeout_millis, 0) / 1000), self._schema)

    @raises_theirs
    def batch_receive(self) -> list[Message]:
        """As many messages as the batch receive policy says."""
        policy = self._batch_policy
        count, size = policy.getMaxNumMessages(), policy.getMaxNumBytes()
        timeout_ms = policy.getTimeoutMs()
        count = count if count > 0 else NO_LIMIT
        messages = self._consumer.receive_many(
            count,
            timeout_ms / 1000 if timeout_ms > 0 else None,
            count_min=count,
            bytes_max=size if size > 0 else None,
        )
        return [wrapped(message, self._schema) for message in messages]

    @raises_theirs
    def acknowledge(self, message: Message | MessageId) -> None:
        """The application is done with a message: the broker need not deliver it again."""
        self._consumer.acknowledge(source(message))

    @raises_theirs
    def acknowledge_cumulative(self, message: Message | MessageId) -> None:
        """The application is done with a message and all before it on its topic.

        Raises CumulativeAcknowledgementNotAllowedError on a Shared or Key_Shared subscription.
        """
        given = source(message)
        try:
            self._consumer.acknowledge_cumulative(given)
        except NotAllowed as error:
            result = Result.CumulativeAcknowledgementNotAllowedError
            raise exception(result, error) from error

    @raises_theirs
    def negative_acknowledge(self, message: Message | MessageId) -> None:
        """The application cannot process a message now: it comes again after a while."""
        with suppress(NotOfConsumer):  # Theirs says nothing of it.
            self._consumer.negative_acknowledge(source(message))

    @raises_theirs
    def pause_message_listener(self) -> None:
        """Call the listener no more until ``resume_message_listener``."""
        if self._listening is not None:
            self._listening.pause()
            self._consumer.pause()

    @raises_theirs
    def resume_message_listener(self) -> None:
        """Call the listener again."""
        if self._listening is not None:
            self._listening.resume()
            self._consumer.resume()
            self._callbacks.put(self._listening.go_on)

    @raises_theirs
    def redeliver_unacknowledged_messages(self) -> None:
        """Ask for everything that was delivered and not acknowledged once more."""
        self._consumer.redeliver_unacknowledged()

    @raises_theirs
    def seek(self, messageid: MessageId | int) -> None:
        """Go behind a message, or to a time in milliseconds since the epoch.

        With ``start_message_id_inclusive`` it goes to the message itself.
        """
        seek(self._consumer, messageid, inclusive=self._inclusive)

    @raises_theirs
    def close(self) -> None:
        """Send the acknowledgements that wait, and detach. May be called again."""
        self._opened.discard(self)
        self._consumer.close()

    def is_connected(self) -> bool:
        """Whether it is attached to the brokers of all its topics."""
        return self._consumer.connected

    @raises_theirs
    def get_last_message_id(self) -> MessageId:
        """The id of the topic's last message; all -1 when it has none."""
        last = self._consumer.last_message_id()
        return MessageId() if last is None else MessageId._of(last)


Listener = Callable[[Consumer, Message], object]


def source(message: object) -> OurMessage | OurMessageId:
    """What our client acknowledges: the message itself where it is known. Raises TypeError."""
    if isinstance(message, Message) and isinstance(message._message, OurMessage):
        return message._message
    if isinstance(message, MessageId):
        return message._message or place(message)
    raise TypeError(f"a Message or MessageId is wanted, not {type(message).__name__}")


def place(message_id: MessageId) -> OurMessageId:
    """The id of ours, with its topic where that is known."""
    if message_id._topic and not isinstance(message_id._id, ChunkedMessageId):
        return TopicMessageId.of(message_id._id, message_id._topic)
    return message_id._id


def seek(receiver: blocking.Receiver, messageid: MessageId | int, *, inclusive: bool) -> None:
    """Raises ValueError for anything but an id or a time."""
    if isinstance(messageid, MessageId):
        receiver.seek(place(messageid), inclusive=inclusive)
    elif isinstance(messageid, int):
        receiver.seek_time(messageid)
    else:
        raise ValueError(f"invalid seek_arg type {type(messageid)}")
