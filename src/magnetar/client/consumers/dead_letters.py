"""Takes out the messages that came too often, and sends them to the dead letter topic.

A message is acknowledged when its letter is stored. Where that is refused, the application gets it
after all: it is not lost, and does not stand in the way of others.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from magnetar.client.message import Message
from magnetar.tasks import Tasks

from .letter_sender import LetterSender
from .receive_queue import Opened

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """What became of dead letters that were sent together."""

    stored: list[Message[Any]] = field(default_factory=list)
    refused: list[Message[Any]] = field(default_factory=list)
    forgotten: bool = False  # The broker sends those that are not stored again.


class DeadLetters:
    """The dead letters for one topic. The messages here have taken permits, which bound them."""

    held: int  # The permits of messages that are neither settled nor forgotten.

    def __init__(
        self,
        topic: str,
        sender: LetterSender,
        settled: Callable[[Outcome], None],
    ) -> None:
        self._topic = topic
        self._sender = sender
        self._settled = settled
        self.held = 0
        self._waiting: list[Message[Any]] = []
        self._epoch = 0  # Counts how often the broker was to send everything again.
        self._tasks = Tasks(f"dead letters of {topic}")
        self._sending: asyncio.Task[None] | None = None

    def filter(self, opened: Opened) -> Opened:
        """Return an entry; it has nothing for the application if it was redelivered too often."""
        messages = opened.messages
        if not messages or messages[0].redelivery_count <= self._sender.rules.count_max:
            return opened
        self._waiting += messages
        self.held += len(messages)
        if self._sending is None:
            self._sending = self._tasks.spawn("send", self._send())
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

    async def close(self) -> None:
        await self._tasks.close()
        await self._sender.close()

    async def _send(self) -> None:
        try:
            while self._waiting:
                epoch, messages = self._epoch, self._waiting
                self._waiting = []
                letters = (self._sender.dead(message) for message in messages)
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
