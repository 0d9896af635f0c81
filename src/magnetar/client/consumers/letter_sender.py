"""Sends letters, over producers that are made when the first one is sent."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from magnetar.client.gather_all import gather_all
from magnetar.client.message import Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import MagnetarError, NotAllowed, NotStored
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.tasks import Tasks

from .letters import LetterRules, dead_letter, retry_letter


class LetterProducer(Protocol):
    """What sends to one topic of letters."""

    async def send(self, value: OutgoingMessage, /) -> MessageId: ...

    def close(self) -> Coroutine[Any, Any, None]: ...


@dataclass(frozen=True, slots=True)
class Channel:
    """Letters that one producer sends: to one topic, and written with one schema."""

    topic: TopicName
    schema_topic: str = ""  # Where the schema is known, by its version; "" for none.
    schema_version: bytes | None = None


OpenProducer = Callable[[Channel, str | None], Awaitable[LetterProducer]]
"""Makes a producer of letters; it makes a subscription of the name with the topic."""

PRODUCERS_MAX: Final = 16
"""Producers of letters for the messages of one topic; for one more, the oldest is closed."""


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of one consumer: their rules, and the door to their producers."""

    rules: LetterRules
    open_producer: OpenProducer


class LetterSender:
    """Sends the letters for the messages of one topic."""

    rules: LetterRules

    def __init__(
        self, letters: Letters, topic: TopicName, *, producers_max: int = PRODUCERS_MAX
    ) -> None:
        self.rules = letters.rules
        self._open_producer = letters.open_producer
        self._dead = letters.rules.dead_letter_topic(topic)
        self._producers_max = producers_max
        self._opening: dict[Channel, asyncio.Task[LetterProducer | MagnetarError]] = {}
        self._tasks = Tasks(f"letters of {topic}")

    async def dead(self, message: Message[Any]) -> None:
        """Store a dead letter. Raises why it is not stored."""
        await self._send(message, dead_letter(message), self._dead)

    async def later(
        self, message: Message[Any], delay_s: float, properties: Mapping[str, str] | None
    ) -> None:
        """Store a retry letter, or a dead one where it came too often. Raises as ``dead``."""
        if self.rules.retry is None:
            raise NotAllowed("reconsume_later needs a consumer with enable_retry=True")
        letter, times = retry_letter(message, delay_s, properties)
        if times > self.rules.count_max:
            await self._send(message, letter, self._dead)
        else:
            letter = replace(letter, deliver_after_s=delay_s) if delay_s else letter
            await self._send(message, letter, self.rules.retry)

    async def close(self) -> None:
        """Close the producers, once their letters are stored."""
        opened = [task for task in self._opening.values() if task.done()]
        self._opening.clear()
        await gather_all(self._close(task) for task in opened)
        await self._tasks.close()

    async def _send(self, message: Message[Any], letter: OutgoingMessage, topic: TopicName) -> None:
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

    async def _open(self, channel: Channel) -> LetterProducer | MagnetarError:
        subscription = self.rules.initial_subscription if channel.topic == self._dead else None
        try:
            return await self._open_producer(channel, subscription)
        except MagnetarError as error:
            self._opening.pop(channel, None)  # The next letter tries again.
            return error

    def _drop(self, channel: Channel) -> None:
        self._tasks.spawn("close", self._close(self._opening.pop(channel)))

    @staticmethod
    async def _close(opening: asyncio.Task[LetterProducer | MagnetarError]) -> None:
        opened = await asyncio.shield(opening)
        if not isinstance(opened, MagnetarError):
            with suppress(NotStored):  # Its message is not acknowledged, and comes again.
                await opened.close()
