"""The policies of topics, kept as events in the topic ``__change_events`` of their namespace.

A broker asks the owner of that topic for the events of a namespace when it first needs them, and
again for what is new when the record how far they go has changed. A namespace without the topic
has no policies of topics; the topic is made for the first one.
"""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import field
from typing import Any, Final

from magnetar.broker.resources import Resources
from magnetar.broker.topic_policies import Changed
from magnetar.clock import Clock
from magnetar.errors import Conflict, CorruptEntry, InvalidValue, MagnetarError, NotReady
from magnetar.late_dataclass import dataclass
from magnetar.model.hashing import java_string_hash
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_records import TopicPolicies
from magnetar.model.position import Position
from magnetar.model.records import Json
from magnetar.model.system_topics import change_events
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore, Watch
from magnetar.tasks import Tasks

from .event import Event, EventKey, policies_of
from .event_owners import EventOwners

log = logging.getLogger(__name__)

ATTEMPTS_MAX: Final = 20
"""To change policies that others change at the same time."""
AGAIN_S: Final = 1.0
"""How long to wait before a question that was not answered is asked again."""


@dataclass(slots=True)
class _Known:
    """What is known of the events of a namespace."""

    stale: bool = True  # It may have changed since.
    read: bool = False
    last: dict[TopicName, Position] = field(default_factory=dict)  # Of each topic that has events.
    events: dict[TopicName, dict[EventKey, Event]] = field(default_factory=dict)
    reading: asyncio.Task[None] | None = None
    followed: bool = False  # Somebody sees to it that it is read again.

    def find(self, key: EventKey) -> tuple[TopicName, Event] | None:
        """The event of a key that has policies, and where it is."""
        for name, events in self.events.items():
            if key in events:
                return name, events[key]
        return None


class EventTopicPolicies:
    """A ``TopicPolicyStore``. Made in a running event loop."""

    def __init__(
        self, resources: Resources, metadata: MetadataStore, clock: Clock, tasks: Tasks
    ) -> None:
        """Nothing can be asked of it before ``start``."""
        self._resources = resources
        self._metadata = metadata
        self._clock = clock
        self._tasks = tasks
        self._owners: EventOwners | None = None
        self._known: dict[NamespaceName, _Known] = {}
        self._changed: Changed = lambda _: None

    def start(self, owners: EventOwners) -> None:
        """Ask these from now on."""
        self._owners = owners

    def watch(self, changed: Changed) -> Watch:
        """There is one who watches."""
        self._changed = changed
        return self._metadata.watch(paths.CHANGE_EVENTS, self._noticed)

    async def topics(self, namespace: NamespaceName) -> Collection[TopicName]:
        return {
            key.topic for events in (await self._of(namespace)).events.values() for key in events
        }

    async def get(self, topic: TopicName, *, is_global: bool = False) -> Policies | None:
        found = (await self._of(topic.namespace)).find(EventKey(topic, is_global))
        return None if found is None else _record(found[1]).policies

    async def change(self, topic: TopicName, *, is_global: bool, **changed: Any) -> None:
        key = EventKey(topic, is_global)
        for _ in range(ATTEMPTS_MAX):
            found = (await self._of(topic.namespace)).find(key)
            stored = TopicPolicies() if found is None else _record(found[1])
            if await self._put(key, policies_of(stored.with_policies(**changed)), found):
                return
        raise Conflict(f"The policies of {topic} are being changed by others, without end")

    async def delete(self, topic: TopicName) -> None:
        for key in (EventKey(topic, is_global=False), EventKey(topic, is_global=True)):
            while (found := (await self._of(topic.namespace)).find(key)) is not None:
                await self._put(key, None, found)

    async def _put(
        self, key: EventKey, policies: Json | None, found: tuple[TopicName, Event] | None
    ) -> bool:
        """Put policies in the place of those that were found."""
        namespace = key.topic.namespace
        name = await self._place(key) if found is None else found[0]
        try:
            return await self._asked.put(
                name, key, policies, None if found is None else found[1].position
            )
        finally:
            self._known[namespace].stale = True

    @property
    def _asked(self) -> EventOwners:
        if self._owners is None:
            raise NotReady("The broker is starting: try again")
        return self._owners

    async def _place(self, key: EventKey) -> TopicName:
        """The topic for the first event of a key: where a client in Java sends it."""
        name = change_events(key.topic.namespace)
        count = await self._resources.partitions(name)
        return name.partition(java_string_hash(str(key)) % count) if count else name

    async def _of(self, namespace: NamespaceName) -> _Known:
        """What is known of the events of a namespace, all that were there at the call included."""
        known = self._known.setdefault(namespace, _Known())
        while known.stale or known.reading is not None:
            if known.reading is None:
                known.reading = self._tasks.start(
                    f"read events of {namespace}", self._read(namespace, known)
                )
            await asyncio.shield(known.reading)
        return known

    async def _read(self, namespace: NamespaceName, known: _Known) -> None:
        known.stale = False  # What changes from here on makes it so again.
        changed: set[TopicName] = set()
        try:
            names = await self._event_topics(namespace)
            for name in known.last.keys() - set(names):
                changed |= {key.topic for key in known.events.pop(name)}
                del known.last[name]
            for name in names:
                changed |= await self._read_topic(name, known)
        except BaseException:
            known.stale = True
            raise
        finally:
            known.reading = None
            first, known.read = not known.read, True
            if changed and not first:
                self._changed(changed)

    async def _read_topic(self, name: TopicName, known: _Known) -> set[TopicName]:
        """The topics whose policies have changed."""
        found = await self._asked.since(name, known.last.get(name))
        events = known.events.setdefault(name, {})
        changed = {each.key for each in found.events if events.get(each.key) != each}
        if found.whole:
            changed |= events.keys() - {each.key for each in found.events}
            events.clear()
        for each in found.events:
            if each.policies is None:
                events.pop(each.key, None)
            else:
                events[each.key] = each
        known.last[name] = found.last
        return {key.topic for key in changed}

    async def _event_topics(self, namespace: NamespaceName) -> list[TopicName]:
        """The topic of events of a namespace, or its partitions, where it is there at all."""
        name = change_events(namespace)
        if await self._resources.topic_exists(name):
            return [name]
        parts = map(name.partition, range(await self._resources.partitions(name)))
        return [part for part in parts if await self._resources.topic_exists(part)]

    def _noticed(self, path: str) -> None:
        namespace = paths.change_events_at(path)
        for each in [namespace] if namespace is not None else list(self._known):
            known = self._known.get(each)
            if known is not None:
                known.stale = True
                if not known.followed:
                    known.followed = True
                    self._tasks.spawn(f"follow events of {each}", self._follow(each, known))

    async def _follow(self, namespace: NamespaceName, known: _Known) -> None:
        """Ask what has changed, until it is answered."""
        try:
            while known.stale:
                try:
                    await self._of(namespace)
                except MagnetarError as error:
                    log.warning("change_events.unanswered namespace=%s error=%s", namespace, error)
                    await self._clock.sleep(AGAIN_S)
        finally:
            known.followed = False


def _record(event: Event) -> TopicPolicies:
    """Raises CorruptEntry."""
    try:
        return event.record
    except InvalidValue as error:
        raise CorruptEntry(
            f"The policies of {event.key} in __change_events cannot be read: {error}"
        ) from error
