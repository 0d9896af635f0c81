"""Sends letters, over producers that are made when the first one is sent."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from magnetar.client.gather_all import gather_all
from magnetar.client.message import Message, OutgoingMessage
from magnetar.errors import MagnetarError, NotAllowed
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.tasks import Tasks

from .letters import LetterRules, dead_letter, retry_letter


class LetterProducer(Protocol):
    """What sends to one topic of letters."""

    async def send(self, value: OutgoingMessage, /) -> MessageId: ...

    def close(self) -> Coroutine[Any, Any, None]: ...


OpenProducer = Callable[[TopicName, str | None], Awaitable[LetterProducer]]
"""Makes a producer of letters; it makes a subscription of the name with the topic."""


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of one consumer: their rules, and the door to their producers."""

    rules: LetterRules
    open_producer: OpenProducer


class LetterSender:
    """Sends the letters for the messages of one topic."""

    rules: LetterRules

    def __init__(self, letters: Letters, topic: TopicName) -> None:
        self.rules = letters.rules
        self._open_producer = letters.open_producer
        self._dead = letters.rules.dead_letter_topic(topic)
        self._opening: dict[TopicName, asyncio.Task[LetterProducer | MagnetarError]] = {}
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
        opened = [task.result() for task in self._opening.values() if task.done()]
        await self._tasks.close()
        await gather_all(each.close() for each in opened if not isinstance(each, MagnetarError))

    async def _send(self, message: Message[Any], letter: OutgoingMessage, topic: TopicName) -> None:
        if message.delivery.metadata.encryption is not None:
            if not message.delivery.decrypted:
                raise NotAllowed(f"{message} could not be decrypted: there is no letter for it")
            if not self.rules.encrypting:
                raise NotAllowed(
                    f"{message} was encrypted, and letters to {topic} are not: give the "
                    'DeadLetterPolicy producer_options with "encryption_keys"'
                )
        producer = await self._producer(topic)
        try:
            await producer.send(letter)
        except MagnetarError as error:
            if not error.retriable and self._opening.pop(topic, None) is not None:
                self._tasks.spawn("close", producer.close())  # The next letter gets another one.
            raise

    async def _producer(self, topic: TopicName) -> LetterProducer:
        opening = self._opening.get(topic)
        if opening is None:
            opening = self._opening[topic] = self._tasks.spawn("open", self._open(topic))
        opened = await asyncio.shield(opening)
        if isinstance(opened, MagnetarError):
            if self._opening.get(topic) is opening:
                del self._opening[topic]
            raise opened
        return opened

    async def _open(self, topic: TopicName) -> LetterProducer | MagnetarError:
        subscription = self.rules.initial_subscription if topic == self._dead else None
        try:
            return await self._open_producer(topic, subscription)
        except MagnetarError as error:
            return error
