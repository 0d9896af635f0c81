"""Dead letters and retries: messages of one topic that are stored in another, and acknowledged.

A message that was redelivered too often goes to the dead letter topic. It is acknowledged when it
is stored there. Where that is refused, the application gets it after all: it is not lost, and does
not stand in the way of others. ``reconsume_later`` sends a message to the retry topic.

Producers are made when the first letter is sent.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from magnetar.client.gather_all import gather_all
from magnetar.client.message import Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import MagnetarError, NotAllowed, NotStored
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.tasks import Tasks

from .dead_letter_policy import DeadLetterRules, dead_letter, retry_letter
from .receive_queue import Opened

log = logging.getLogger(__name__)


class DeadLetterProducer(Protocol):
    """Sends to one topic of dead letters, or of retries."""

    async def send(self, value: OutgoingMessage, /) -> MessageId: ...

    def close(self) -> Coroutine[Any, Any, None]: ...


@dataclass(frozen=True, slots=True)
class Channel:
    """The letters that one producer sends: to one topic, and written with one schema."""

    topic: TopicName
    schema_topic: str = ""  # Where the schema is known, by its version; "" for none.
    schema_version: bytes | None = None


OpenProducer = Callable[[Channel, str | None], Awaitable[DeadLetterProducer]]
"""Makes a producer of letters; it makes a subscription of the name with the topic."""

PRODUCERS_MAX: Final = 16
"""Producers of letters for the messages of one topic; for one more, the oldest is closed."""


@dataclass(frozen=True, slots=True)
class DeadLetterSetup:
    """The rules of one consumer for its letters, and what opens their producers."""

    rules: DeadLetterRules
    open_producer: OpenProducer


@dataclass(slots=True)
class Outcome:
    """What became of dead letters that were sent together."""

    stored: list[Message[Any]] = field(default_factory=list)
    refused: list[Message[Any]] = field(default_factory=list)
    forgotten: bool = False  # The broker sends those that are not stored again.


class DeadLetters:
    """The letters for one topic. Messages held here have taken permits, which bound them."""

    rules: DeadLetterRules
    held: int  # The permits of messages that are neither settled nor forgotten.

    def __init__(
        self,
        setup: DeadLetterSetup,
        topic: TopicName,
        settled: Callable[[Outcome], None],
        *,
        producers_max: int = PRODUCERS_MAX,
    ) -> None:
        """``settled`` is called with what became of messages that ``filter`` took out."""
        self.rules = setup.rules
        self.held = 0
        self._open_producer = setup.open_producer
        self._topic = topic
        self._dead = setup.rules.dead_letter_topic(topic)
        self._settled = settled
        self._producers_max = producers_max
        self._opening: dict[Channel, asyncio.Task[DeadLetterProducer | MagnetarError]] = {}
        self._waiting: list[Message[Any]] = []
        self._epoch = 0  # Counts how often the broker was to send everything again.
        self._tasks = Tasks(f"dead letters of {topic}")
        self._sending: asyncio.Task[None] | None = None

    def filter(self, opened: Opened) -> Opened:
        """Return an entry; it has nothing for the application if it was redelivered too often."""
        messages = opened.messages
        if not messages or messages[0].redelivery_count <= self.rules.count_max:
            return opened
        self._waiting += messages
        self.held += len(messages)
        if self._sending is None:
            self._sending = self._tasks.spawn("send", self._send_dead())
        return Opened([], opened.permits - len(messages))

    def clear(self) -> None:
        """Forget the messages here: the broker sends them again."""
        self._waiting.clear()
        self._epoch += 1
        self.held = 0

    async def sent(self, timeout_s: float) -> None:
        """Return when all that was taken out is stored or refused, or the time is up."""
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=timeout_s)

    async def send(self, message: Message[Any]) -> None:
        """Store a dead letter. Raises why it is not stored."""
        await self._store(message, dead_letter(message), self._dead)

    async def later(
        self, message: Message[Any], delay_s: float, properties: Mapping[str, str] | None
    ) -> None:
        """Store a retry letter, or a dead one where it came too often. Raises as ``send``."""
        if self.rules.retry is None:
            raise NotAllowed("reconsume_later needs a consumer with enable_retry=True")
        letter, times = retry_letter(message, delay_s, properties)
        if times > self.rules.count_max:
            await self._store(message, letter, self._dead)
        else:
            letter = replace(letter, deliver_after_s=delay_s) if delay_s else letter
            await self._store(message, letter, self.rules.retry)

    async def close(self) -> None:
        """Send no more, and close the producers, once their letters are stored."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])
        opened = [task for task in self._opening.values() if task.done()]
        self._opening.clear()
        await gather_all(self._close(task) for task in opened)
        await self._tasks.close()

    async def _send_dead(self) -> None:
        try:
            while self._waiting:
                epoch, messages = self._epoch, self._waiting
                self._waiting = []
                letters = (self.send(message) for message in messages)
                outcomes = await asyncio.gather(*letters, return_exceptions=True)
                outcome = Outcome(forgotten=epoch != self._epoch)
                for message, error in zip(messages, outcomes, strict=True):
                    (outcome.stored if error is None else outcome.refused).append(message)
                errors = list(filter(None, outcomes))
                if errors:
                    log.error(
                        "consumer.dead_letters_refused topic=%s messages=%d error=%r",
                        self._topic,
                        len(errors),
                        errors[0],
                    )
                if not outcome.forgotten:
                    self.held -= len(messages)
                self._settled(outcome)
        finally:
            self._sending = None

    async def _store(
        self, message: Message[Any], letter: OutgoingMessage, topic: TopicName
    ) -> None:
        if message.delivery.metadata.encryption is not None:
            if not message.delivery.decrypted:
                raise NotAllowed(f"{message} could not be decrypted: there is no letter for it")
            if not self.rules.encrypting:
                raise NotAllowed(
                    f"{message} was encrypted, and letters to {topic} are not: give the "
                    'DeadLetterPolicy producer_options with "encryption_keys"'
                )
        version = message.delivery.metadata.schema_version
        channel = Channel(topic, message.topic if version else "", version or None)
        opening = self._opening.get(channel)
        if opening is None:
            opening = self._opening[channel] = self._tasks.spawn("open", self._open(channel))
            if len(self._opening) > self._producers_max:
                self._drop(next(iter(self._opening)))
        try:
            opened = await asyncio.shield(opening)
            if isinstance(opened, MagnetarError):
                raise opened
            await opened.send(letter)
        except MagnetarError as error:
            if not error.retriable and self._opening.get(channel) is opening:
                self._drop(channel)  # The next letter gets another producer.
            raise

    async def _open(self, channel: Channel) -> DeadLetterProducer | MagnetarError:
        subscription = self.rules.initial_subscription if channel.topic == self._dead else None
        try:
            return await self._open_producer(channel, subscription)
        except MagnetarError as error:
            self._opening.pop(channel, None)  # The next letter tries again.
            return error

    def _drop(self, channel: Channel) -> None:
        self._tasks.spawn("close", self._close(self._opening.pop(channel)))

    @staticmethod
    async def _close(opening: asyncio.Task[DeadLetterProducer | MagnetarError]) -> None:
        opened = await asyncio.shield(opening)
        if not isinstance(opened, MagnetarError):
            with suppress(NotStored):  # Its message is not acknowledged, and comes again.
                await opened.close()
