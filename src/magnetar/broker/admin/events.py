"""What the broker does, told as it happens to whoever listens (server-sent events).

One task looks, once for all listeners, while there are any. It hands each look to all of them;
whoever is not done with the one before gets the newest when it is, so that nothing is queued.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import field
from typing import Any, Final

from magnetar.broker.admin.overview import Overview, Sight, Snapshot
from magnetar.broker.admin.rates import RateBook
from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.rest.errors import Rejection

log = logging.getLogger(__name__)

LISTENERS_MAX: Final = 100
LISTENERS_OF_ROLE_MAX: Final = 25
"""Of one role, which shall not keep others out; where nobody is asked who it is, there are none."""
INTERVAL_S_MAX: Final = 60
TICK_S: Final = 1.0
PAUSE_PER_WORK: Final = 20
"""After a look that took long, at least so many times as long passes before the next."""
KEEP_ALIVE_S: Final = 15.0
"""A listener that is told nothing gets a comment, so that proxies keep the connection."""
_KEEP_ALIVE: Final = b": keep-alive\n\n"

SIGHT_S: Final = 10.0
"""How long a listener sees what it might see before."""

SightOf = Callable[[], Awaitable[Sight]]
"""What somebody may see now. Raises Rejection where it may not listen any more."""
TopicShown = Callable[[float], Awaitable[dict[str, Any]]]
"""A topic's stats at a moment of ``Clock.now``, as JSON. Raises MagnetarError."""


@dataclass(slots=True)
class Changes:
    """The changes found in one look."""

    look: Snapshot
    topics: dict[TopicName, bytes] = field(default_factory=dict)  # Each an event.
    overviews: dict[Sight, bytes] = field(default_factory=dict)


class Events:
    """Those who listen, and what they are told."""

    def __init__(self, overview: Overview, clock: Clock, broker: dict[str, str]) -> None:
        """``broker`` is shown with each overview."""
        self.rates = RateBook()
        """Of the topics that are watched, since the last tick."""
        self._overview = overview
        self._clock = clock
        self._broker = broker
        self._watched: dict[TopicName, list[TopicShown]] = {}  # For each listener.
        self._listeners: Counter[str | None] = Counter()  # Of each role.
        self._somebody_listens = asyncio.Event()
        self._next: asyncio.Future[Changes] | None = None

    def __len__(self) -> int:
        return self._listeners.total()

    def listen(
        self,
        interval_s: float,
        sight: SightOf,
        topic: TopicName | None = None,
        topic_shown: TopicShown | None = None,
        *,
        role: str | None = None,
    ) -> "Listener":
        """What somebody is told from now on, until it is closed.

        Raises Rejection where so many listen that nobody else may, or nobody else of this role.
        """
        if len(self) >= LISTENERS_MAX:
            raise Rejection(
                503, f"{LISTENERS_MAX} clients listen to events, which is the most: close some"
            )
        if role is not None and self._listeners[role] >= LISTENERS_OF_ROLE_MAX:
            raise Rejection(
                503, f"{LISTENERS_OF_ROLE_MAX} clients of {role} listen to events: close some"
            )
        self._listeners[role] += 1
        if topic is not None and topic_shown is not None:
            self._watched.setdefault(topic, []).append(topic_shown)
        self._somebody_listens.set()
        return Listener(self, self._clock, interval_s, topic, sight, role=role)

    def unsubscribed(self, topic: TopicName | None, role: str | None) -> None:
        """A listener is gone."""
        self._listeners[role] -= 1
        if not self._listeners[role]:
            del self._listeners[role]
        if topic is not None:
            self._watched[topic].pop()
            if not self._watched[topic]:
                del self._watched[topic]
                self.rates.forget()  # What others watch is noted again with the next tick.
        if not self._listeners:
            self._somebody_listens.clear()

    async def tick(self) -> Changes:
        """The next look; all who wait get the same."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._next)

    def overview(self, tick: Changes, sight: Sight) -> bytes:
        """The event with an overview, made once for all who see the same."""
        event = tick.overviews.get(sight)
        if event is None:
            shown = self._overview.shown(tick.look, sight, **self._broker)
            event = tick.overviews[sight] = event_of("overview", shown)
        return event

    async def run(self) -> None:
        """Look while anybody listens, for ever."""
        while True:
            await self._somebody_listens.wait()
            began = self._clock.now()
            try:
                tick = await self._look()
            except Exception:  # Those who listen go on listening.
                log.exception("events.failed")
            else:
                waiting, self._next = self._next, None
                if waiting is not None and not waiting.done():
                    waiting.set_result(tick)
            worked = self._clock.now() - began
            await self._clock.sleep(max(TICK_S, worked * PAUSE_PER_WORK))

    async def _look(self) -> Changes:
        tick = Changes(await self._overview.look())
        for topic, (topic_shown, *_) in list(self._watched.items()):
            try:
                shown = {"topic": str(topic), "stats": await topic_shown(tick.look.at)}
            except (MagnetarError, Rejection) as error:
                shown = {"topic": str(topic), "reason": str(error)}
            tick.topics[topic] = event_of("topic", shown)
        return tick


class Listener(AsyncIterator[bytes]):
    """What one client is told. Whoever has it must close it."""

    def __init__(
        self,
        events: Events,
        clock: Clock,
        interval_s: float,
        topic: TopicName | None,
        sight: SightOf,
        *,
        role: str | None,
    ) -> None:
        self._events = events
        self._role = role
        self._clock = clock
        self._interval_s = interval_s
        self._topic = topic
        self._sight_of = sight
        self._sight: Sight = None
        self._sight_until = -1.0
        self._due = self._spoke = clock.now()
        self._closed = False

    async def __anext__(self) -> bytes:
        while True:
            tick = await self._events.tick()
            now = self._clock.now()
            if now >= self._due:
                # Ticks are not exact: a quarter of one too early is in time.
                self._due, self._spoke = now + self._interval_s - TICK_S / 4, now
                if now >= self._sight_until:
                    self._sight, self._sight_until = await self._sight_of(), now + SIGHT_S
                return self._told(tick)
            if now - self._spoke >= KEEP_ALIVE_S:
                self._spoke = now
                return _KEEP_ALIVE

    async def aclose(self) -> None:
        """Listen no more. May be called again."""
        if not self._closed:
            self._closed = True
            self._events.unsubscribed(self._topic, self._role)

    def _told(self, tick: Changes) -> bytes:
        told = self._events.overview(tick, self._sight)
        return told if self._topic is None else told + tick.topics.get(self._topic, b"")


def event_of(name: str, value: Any) -> bytes:
    """An event as it is sent."""
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"event: {name}\ndata: {data}\n\n".encode()
