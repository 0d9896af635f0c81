"""What is published to a topic as it happens, told by server-sent events.

It is read from the log, which is looked at a few times a second: publishing notices nothing. Who
falls behind is told how many entries it missed, and goes on with the newest.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from magnetar.broker.admin.events import event_of
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.model.names import TopicName
from magnetar.model.position import Position

from .chunked import ChunkedMessages
from .entries import TurnTaker, entries_from, unpacked
from .message_filter import MessageFilter
from .shown import ShownMessages
from .work import MessageWork

POLL_S: Final = 0.2
BEHIND_MAX: Final = 200
"""Entries that are told with one look; of more, the newest."""
TOLD_BYTES_MAX: Final = 1024 * 1024
"""Bytes of entries that are told with one look; it has one entry at least."""
KEEP_ALIVE_S: Final = 15.0
LISTENED_S_MAX: Final = 600.0
"""After so long it ends, and whoever listens asks again: it may have lost its permission."""

Logs = Callable[[], Mapping[TopicName, TopicLog]]
"""The topics, of a partitioned one all its partitions, that are loaded now."""


class Tail(AsyncIterator[bytes]):
    """What one client is told. Whoever has it must close it."""

    def __init__(
        self,
        work: MessageWork,
        logs: Logs,
        showing: Callable[[TopicName], ShownMessages],
        wanted: MessageFilter,
        clock: Clock,
    ) -> None:
        """Raises Rejection where so many listen that nobody else may."""
        self._leave = work.listen()
        self._logs = logs
        self._show = showing
        self._showing: dict[TopicName, ShownMessages] = {}
        self._wanted = wanted
        self._clock = clock
        # What is published after this moment is told, also to partitions that do not exist yet.
        self._places: dict[TopicName, Position] = {name: log.end for name, log in logs().items()}
        self._spoke = clock.now()
        self._until = self._spoke + LISTENED_S_MAX
        self._begun = False

    async def __anext__(self) -> bytes:
        if not self._begun:
            self._begun = True
            return event_of("began", {"topics": [str(name) for name in self._places]})
        while self._clock.now() < self._until:
            told = b"".join([await self._told(*each) for each in self._logs().items()])
            if not told and self._clock.now() - self._spoke >= KEEP_ALIVE_S:
                told = b": keep-alive\n\n"
            if told:
                self._spoke = self._clock.now()
                return told
            await self._clock.sleep(POLL_S)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Listen no more. May be called again."""
        self._leave()

    async def _told(self, name: TopicName, log: TopicLog) -> bytes:
        """The events of one log since the last look."""
        place, end = self._places.get(name, log.first), log.end
        if place >= end:
            return b""
        events, missed = [], log.entries_between(place, end) - BEHIND_MAX
        if missed > 0:
            place = log.back(end, BEHIND_MAX)
            events.append(event_of("missed", {"topic": str(name), "entries": missed}))
        showing = self._showing.setdefault(name, self._show(name))
        slices, size = TurnTaker(self._clock), 0
        chunked = ChunkedMessages(log, slices, waits=True)
        try:
            async for position, entry in entries_from(log, place, end):
                size += len(entry)
                if size > TOLD_BYTES_MAX and position > place:
                    end = position
                    break
                for found in await unpacked(position, entry, slices):
                    message = found if found.chunk is None else await chunked.shown(found)
                    if message is not None and self._wanted.takes(message):
                        shown: dict[str, Any] = await showing.one(message)
                        events.append(event_of("message", shown))
        except StorageError as error:
            events.append(event_of("unreadable", {"topic": str(name), "reason": str(error)}))
        self._places[name] = end
        return b"".join(events)
