"""A consumer with the names and behaviour of ``pulsar.asyncio.Consumer``."""

from contextlib import suppress
from typing import Any

from magnetar.client.consumers.consumer import Consumer as OurConsumer
from magnetar.client.consumers.receiver import Receiver
from magnetar.compat.consumer import place, source
from magnetar.compat.enums import Result
from magnetar.compat.message import Message, wrapped
from magnetar.compat.message_id import MessageId
from magnetar.compat.schema.schema import Schema
from magnetar.errors import NotAllowed, NotOfConsumer
from magnetar.tasks import Tasks

from .exception import PulsarException, raises_theirs


class Consumer:
    """Receives the messages of a subscription. Made by ``Client.subscribe``."""

    def __init__(self, consumer: OurConsumer, schema: Schema) -> None:
        """``consumer`` is our asyncio client's."""
        self._consumer = consumer
        self._schema = schema
        self._inclusive = False
        self._tasks = Tasks(f"consumer of {consumer.topic}")

    @raises_theirs
    async def receive(self) -> Message:
        """The next message."""
        return wrapped(await self._consumer.receive(), self._schema)

    @raises_theirs
    async def acknowledge(self, message: Message | MessageId) -> None:
        """The application is done with a message."""
        self._consumer.acknowledge(source(message))

    @raises_theirs
    async def acknowledge_cumulative(self, message: Message | MessageId) -> None:
        """The application is done with a message and all before it on its topic."""
        given = source(message)
        try:
            self._consumer.acknowledge_cumulative(given)
        except NotAllowed as error:
            result = Result.CumulativeAcknowledgementNotAllowedError
            raise PulsarException(result, str(error)) from error

    @raises_theirs
    async def negative_acknowledge(self, message: Message | MessageId) -> None:
        """The application cannot process a message now: it comes again after a while."""
        with suppress(NotOfConsumer):  # Theirs says nothing of it.
            self._consumer.negative_acknowledge(source(message))

    @raises_theirs
    async def unsubscribe(self) -> None:
        """Delete the subscription, and close."""
        await self._consumer.unsubscribe()

    @raises_theirs
    async def seek(self, messageid: MessageId | int) -> None:
        """Go behind a message, or to a time in milliseconds since the epoch.

        With ``start_message_id_inclusive`` it goes to the message itself.
        """
        await seek(self._consumer, messageid, inclusive=self._inclusive)

    @raises_theirs
    async def close(self) -> None:
        """Send the acknowledgements that wait, and detach."""
        await self._consumer.close()

    @raises_theirs
    async def get_last_message_id(self) -> MessageId:
        """The id of the topic's last message; all -1 when it has none."""
        last = await self._consumer.last_message_id()
        return MessageId() if last is None else MessageId._of(last)

    def redeliver_unacknowledged_messages(self) -> None:
        """Ask for everything that was delivered and not acknowledged once more."""
        self._tasks.spawn("redeliver", self._consumer.redeliver_unacknowledged())

    def topic(self) -> str:
        """The full name of the topic; of several, all names joined by commas."""
        return self._consumer.topic

    def subscription_name(self) -> str:
        return self._consumer.subscription

    def consumer_name(self) -> str:
        return self._consumer.name


async def seek(receiver: Receiver[Any], messageid: MessageId | int, *, inclusive: bool) -> None:
    """Go behind a message, to it where ``inclusive``, or to a time in milliseconds."""
    if isinstance(messageid, MessageId):
        await receiver.seek(place(messageid), inclusive=inclusive)
    elif isinstance(messageid, int):
        await receiver.seek_time(messageid)
    else:
        raise ValueError(f"invalid messageid type {type(messageid)}")
