"""What of a broker is spent on operators' messages at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from magnetar.errors import AlreadyExists
from magnetar.model.names import TopicName
from magnetar.rest.errors import Rejection
from magnetar.tasks import Tasks

from .redrive_progress import Progress

READERS_MAX: Final = 2
"""Pages that are looked for at the same time; others wait."""
LISTENERS_MAX: Final = 16
"""Clients that are told what is published as it happens."""
REDRIVES_MAX: Final = 2
"""Topics whose letters are sent back at the same time."""
REDRIVES_KEPT_MAX: Final = 100
"""Topics of which it is known how the last redrive ended."""


class MessageWork:
    """There is one in a broker."""

    def __init__(self) -> None:
        self._tasks = Tasks("messages")
        self._redrives: dict[TopicName, tuple[Progress, asyncio.Task[None]]] = {}
        self.reading = asyncio.Semaphore(READERS_MAX)
        self._listeners: set[object] = set()

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def listen(self) -> Callable[[], None]:
        """Count one who listens; what is returned counts it no more, and may be called again.

        Raises Rejection.
        """
        if len(self._listeners) >= LISTENERS_MAX:
            raise Rejection(
                503, f"{LISTENERS_MAX} clients follow messages, which is the most: close some"
            )
        listener = object()
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def redrive_of(self, topic: TopicName) -> Progress | None:
        """How far the last one is, which may be over."""
        known = self._redrives.get(topic)
        return None if known is None else known[0]

    def start_redrive(
        self, topic: TopicName, progress: Progress, work: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Begin the work. Raise AlreadyExists while the topic's letters are sent back.

        Those of a topic are those of its partitions. Raises Rejection where many topics' are.
        """
        self._check(topic)
        self._redrives.pop(topic, None)
        self._redrives[topic] = progress, self._tasks.spawn(f"redrive {topic}", work())
        ended = [name for name, (_, each) in self._redrives.items() if each.done()]
        for name in ended[: max(len(self._redrives) - REDRIVES_KEPT_MAX, 0)]:
            del self._redrives[name]

    def _check(self, topic: TopicName) -> None:
        running = {name for name, (_, task) in self._redrives.items() if not task.done()}
        for each in running:
            if topic in (each, each.partitioned_name) or each == topic.partitioned_name:
                raise AlreadyExists(f"Letters of {each} are being sent back: wait, or stop it")
        if len(running) >= REDRIVES_MAX:
            raise Rejection(
                503, f"Letters of {REDRIVES_MAX} topics are being sent back: wait for one"
            )

    async def stop_redrive(self, topic: TopicName) -> None:
        """Return when it has ended. Nothing is stopped where nothing runs."""
        known = self._redrives.get(topic)
        if known is not None:
            known[1].cancel()
            await asyncio.wait([known[1]])

    async def run(self) -> None:
        """Until it is cancelled; then what runs ends."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self._tasks.close()
