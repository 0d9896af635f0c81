"""The topics ``__change_events`` that this broker serves: what is in them, and appends to them.

Of each key the newest event counts. They are read once, when they are asked for first, and then as
far as the topic has grown. Whoever appends says which event it takes the place of, so that of two
who change the same policies at once one must look again. A record for each topic says how far it
goes: brokers watch it, and ask the owner then.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import Any, Final, Self

from magnetar.broker.cluster.publishing import publish_to
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.topics.topic import StoredTopic, storing
from magnetar.clock import Clock
from magnetar.errors import (
    CorruptEntry,
    InvalidValue,
    MagnetarError,
    SchemaNotFound,
    TopicNotFound,
    UndecodableValue,
    UnexpectedCommand,
)
from magnetar.late_dataclass import dataclass
from magnetar.message import metadata as message_metadata
from magnetar.message.entry import split
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST, Position
from magnetar.model.records import Json
from magnetar.model.schemas import SchemaCompatibilityStrategy, SchemaInfo
from magnetar.model.system_topics import is_change_events
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks
from magnetar.turns import in_turns
from magnetar.wire.schemas import version_bytes, version_number

from .definition import EVENT_SCHEMA
from .event import Event, EventKey, EventMessage, key_in
from .event_value import decode, encode

log = logging.getLogger(__name__)

READ_ENTRIES: Final = 1_000
READ_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Events:
    """The events behind a position, by their keys. ``whole``: all there are, as if asked first."""

    last: Position
    whole: bool
    events: list[Event]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        events = [Event.from_json(each) for each in value["events"]]
        return cls(Position(*value["last"]), value["whole"], events)

    def to_json(self) -> Json:
        events = [each.to_json() for each in self.events]
        return {"last": self.last, "whole": self.whole, "events": events}


@dataclass(slots=True)
class _View:
    """What is known of one topic that is open here."""

    topic: StoredTopic
    last: Position = EARLIEST  # It was read up to here.
    first_read: Position | None = None  # What was deleted before it may not be known. None: unread.
    events: dict[EventKey, Event] = field(default_factory=dict)  # Also those without policies.
    reading: asyncio.Task[None] | None = None
    writing: dict[EventKey, asyncio.Future[None]] = field(default_factory=dict)
    watched: bool = False  # What anybody appends is read at once.

    def position_of(self, key: EventKey) -> Position | None:
        """The event that has the policies of a key, if it has any."""
        event = self.events.get(key)
        return None if event is None or event.policies is None else event.position


class EventLogs:
    """Made in a running event loop."""

    def __init__(
        self,
        topics: TopicRegistry,
        schemas: SchemaRegistry,
        metadata: MetadataStore,
        clock: Clock,
        *,
        cluster: str,
        tasks: Tasks,
    ) -> None:
        """``cluster``: this one, to which policies that are not global belong."""
        self._topics = topics
        self._schemas = schemas
        self._metadata = metadata
        self._clock = clock
        self._cluster = cluster
        self._tasks = tasks
        self._views: dict[TopicName, _View] = {}

    async def since(self, name: TopicName, after: Position | None) -> Events:
        """The events of a topic behind a position; None: all that have policies.

        There are none in a topic that does not exist. Raises NotOwner where it is not served here,
        and what reading it raises.
        """
        try:
            view = await self._view(storing(await self._topics.get(name, create=False)))
        except TopicNotFound:
            return Events(EARLIEST, whole=True, events=[])
        whole = after is None or view.first_read is None or after < view.first_read
        found = [
            each
            for each in view.events.values()
            if (each.policies is not None if whole or after is None else each.position > after)
        ]
        return Events(view.last, whole, found)

    async def put(
        self, name: TopicName, key: EventKey, policies: Json | None, instead_of: Position | None
    ) -> bool:
        """Append an event, durably; None takes the policies away. The topic is made for the first.

        ``instead_of`` is the event that has the policies now. False: another has, and nothing was
        appended. Raises NotOwner where the topic is not served here, InvalidValue, and what the
        stores raise.
        """
        view = await self._opened(name)
        while (busy := view.writing.get(key)) is not None:
            await asyncio.wait([busy])
            view = await self._opened(name)  # It may have been closed meanwhile.
        if view.position_of(key) != instead_of:
            return False
        written = view.writing[key] = asyncio.get_running_loop().create_future()
        try:
            await self._append(view, key, policies)
            await self._view(view.topic)
        finally:
            del view.writing[key]
            written.set_result(None)
        return True

    async def open(self, name: TopicName) -> StoredTopic:
        """A topic that somebody publishes to past ``put``, as other clusters do; made if need be.

        What is published so is told to all brokers, too. Raises what opening it raises.
        """
        view = await self._opened(name)
        if not view.watched:
            view.watched = True
            view.topic.watch_appends(partial(self._grew, view))
        return view.topic

    def _grew(self, view: _View) -> None:
        if not view.writing:  # Else who appends reads it as well.
            self._tasks.spawn(f"read {view.topic.name}", self._read_on(view))

    async def _read_on(self, view: _View) -> None:
        try:
            await self._view(view.topic)
        except MagnetarError as error:
            log.warning("change_events.unread topic=%s error=%s", view.topic.name, error)

    async def topic_deleted(self, topic: TopicName) -> None:
        """Forget a topic that is deleted, and let all brokers forget it."""
        if is_change_events(topic):
            self._views.pop(topic, None)
            await self._metadata.delete(paths.change_events(topic))

    async def _opened(self, name: TopicName) -> _View:
        """What is in a topic, which is made if it is not there."""
        try:
            topic = await self._topics.get(name, create=False)
        except TopicNotFound:
            topic = await self._topics.create(name)
        return await self._view(storing(topic))

    async def _append(self, view: _View, key: EventKey, policies: Json | None) -> None:
        """Append to the topic as it was opened: where it was closed since, that is refused."""
        before = view.events.get(key)
        used = None if before is None else before.schema_version
        payload, version = b"", used
        if policies is not None:
            payload, version = await self._encoded(view.topic.name, key, policies, used)
        message = EventMessage(key, payload, self._cluster)
        sent = [(message, version_bytes(version) or None)]
        (outcome,) = await publish_to(view.topic, self._clock, sent)
        if isinstance(outcome, MagnetarError):
            raise outcome
        assert outcome is not None, "nothing in this topic is a duplicate"

    async def _encoded(
        self, name: TopicName, key: EventKey, policies: Json, used: int | None
    ) -> tuple[bytes, int]:
        """An event in the first version of its schema that has a place for all of it.

        That is the version that the event was written with before, or the latest, or ours.
        """
        versions = await self._schemas.versions(name)
        for each in [*(each for each in versions if each.number == used), *versions[-1:]]:
            with suppress(InvalidValue, UndecodableValue):
                return encode(each.schema, key, policies, self._cluster), each.number
        payload = encode(EVENT_SCHEMA, key, policies, self._cluster)
        strategy = SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE
        return payload, await self._schemas.add(name, EVENT_SCHEMA, strategy)

    async def _view(self, topic: StoredTopic) -> _View:
        """What is in a topic, up to its end."""
        view = self._views.get(topic.name)
        if view is None or view.topic is not topic:
            view = self._views[topic.name] = _View(topic)
        while view.first_read is None or view.last < topic.log.last_visible:
            if view.reading is None or view.reading.done():
                view.reading = self._tasks.start(f"read {topic.name}", self._read(view))
            await asyncio.shield(view.reading)
        return view

    async def _read(self, view: _View) -> None:
        end = view.topic.log.last_visible
        newest: dict[EventKey, tuple[Position, bytes]] = {}
        async for run in self._runs(view, end):
            for index, entry in enumerate(run.data):
                position = Position(run.ledger_id, run.first_entry_id + index)
                try:
                    key = key_in(entry)
                except CorruptEntry as error:
                    _log_unreadable(view, position, error)
                    continue
                if key is not None:
                    newest[key] = position, entry
        async for key, (position, entry) in in_turns(newest.items()):
            try:
                view.events[key] = await self._event(view.topic.name, key, position, entry)
            except (UndecodableValue, UnexpectedCommand) as error:
                _log_unreadable(view, position, error)
        if view.events:
            await self._tell(view.topic.name, end)
        view.last = max(view.last, end)
        if view.first_read is None:
            view.first_read = end

    async def _runs(self, view: _View, end: Position) -> AsyncIterator[EntryRun]:
        """What was not read yet. At first what compaction left is enough."""
        if view.first_read is None:
            async for run in view.topic.log.compacted(end, READ_ENTRIES, READ_BYTES):
                yield run
            return
        place = Position(view.last.ledger_id, view.last.entry_id + 1)
        while place <= end:
            found = await view.topic.log.read(place, READ_ENTRIES, READ_BYTES)
            if found is None:
                return
            yield found
            place = Position(found.ledger_id, found.last_entry_id + 1)

    async def _event(
        self, name: TopicName, key: EventKey, position: Position, entry: bytes
    ) -> Event:
        """Raises UndecodableValue, and what reading the schema raises."""
        found = message_metadata.parse(entry)
        number = version_number(found.schema_version) if found.schema_version else None
        _, payload = split(entry)
        if found.null_value or not payload:
            return Event(key, position, None, number)
        policies = decode(await self._schema(name, number), bytes(payload))
        return Event(key, position, policies, number)

    async def _schema(self, name: TopicName, number: int | None) -> SchemaInfo:
        """A version of the schema of events; ours where it is not known any more."""
        if number is None:
            return EVENT_SCHEMA
        try:
            return (await self._schemas.version(name, number)).schema
        except SchemaNotFound:
            return EVENT_SCHEMA

    async def _tell(self, name: TopicName, last: Position) -> None:
        """Let all brokers know how far the events go, where they may not know it yet.

        What was appended before may not have been told, or a broker of Pulsar's did it.
        """
        path, said = paths.change_events(name), str(last).encode()
        record = await self._metadata.get(path)
        if record is None or record.value != said:
            await self._metadata.put(path, said)


def _log_unreadable(view: _View, position: Position, error: MagnetarError) -> None:
    log.error("change_events.unreadable topic=%s at=%s error=%s", view.topic.name, position, error)
