"""LOOKUP, PARTITIONED_METADATA, GET_TOPICS_OF_NAMESPACE: finding topics."""

import asyncio
from typing import Final, Protocol

from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.config import TopicSettings
from magnetar.broker.session import Session
from magnetar.errors import (
    AlreadyExists,
    InvalidName,
    NotReady,
    TopicNotFound,
    UnexpectedCommand,
)
from magnetar.model.hashing import topics_hash
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.records import NamespacePolicies
from magnetar.wire import replies
from magnetar.wire.commands import (
    CommandGetTopicsOfNamespace,
    CommandLookupTopic,
    CommandPartitionedTopicMetadata,
)

from .names import topic_name
from .topic_patterns import TopicPattern

TOPIC_LISTS_AT_ONCE_MAX: Final = 1  # Of all connections: others are served between two of them.
ANSWER_WAIT_S: Final = 30.0  # So long a client may take to read what was answered before.
_NON_PERSISTENT_ONLY: Final = 1


class Catalogue(Protocol):
    """What is asked about topics that may not be open: ``Resources`` answers."""

    async def namespace(self, namespace: NamespaceName) -> NamespacePolicies | None: ...

    async def partitions(self, topic: TopicName) -> int: ...

    async def create_partitioned_topic(self, topic: TopicName, partitions: int) -> None: ...

    async def topic_exists(self, topic: TopicName) -> bool: ...

    async def topics(self, namespace: NamespaceName) -> list[TopicName]: ...


class Finding:
    """Tells clients where topics are, how many partitions they have, and which there are."""

    def __init__(self, catalogue: Catalogue, lookup: Lookup, settings: TopicSettings) -> None:
        self._catalogue = catalogue
        self._lookup = lookup
        self._settings = settings
        self._listing = asyncio.Semaphore(TOPIC_LISTS_AT_ONCE_MAX)

    async def on_lookup(self, session: Session, command: CommandLookupTopic) -> None:
        name = topic_name(command.topic)
        if command.advertised_listener_name:
            raise NotReady(f"the broker do not have {command.advertised_listener_name} listener")
        broker = await self._lookup.find(name)
        session.reply(
            replies.lookup_connect(
                command.request_id, broker.service_url, proxy_through_service_url=broker.kept
            )
        )

    async def on_partitioned_metadata(
        self, session: Session, command: CommandPartitionedTopicMetadata
    ) -> None:
        name = topic_name(command.topic)
        create = command.metadata_auto_creation_enabled
        partitions = await self._partitions(name, create=create)
        session.reply(replies.partitioned_metadata(command.request_id, partitions))

    async def on_topics_of_namespace(
        self, session: Session, command: CommandGetTopicsOfNamespace
    ) -> None:
        try:
            namespace = NamespaceName.parse(command.namespace)
        except InvalidName as error:
            raise UnexpectedCommand(f"GET_TOPICS_OF_NAMESPACE: {error}") from None
        while True:
            await _until_writable(session)
            async with self._listing:
                if session.writable:
                    session.reply(await self._topics_of(namespace, command))
                    return

    async def _topics_of(
        self, namespace: NamespaceName, command: CommandGetTopicsOfNamespace
    ) -> bytes:
        found: list[TopicName] = []
        if command.mode != _NON_PERSISTENT_ONLY:
            found = await self._catalogue.topics(namespace)
        filtered = False
        if command.HasField("topics_pattern"):
            pattern = TopicPattern.of(command.topics_pattern)
            if pattern is not None:
                found = [topic for topic in found if pattern.matches(topic)]
                filtered = True
        names = sorted(map(str, found))
        known = topics_hash(names)
        changed = known != command.topics_hash
        return replies.topics_of_namespace(
            command.request_id,
            names if changed else [],
            filtered=filtered,
            topics_hash=known,
            changed=changed,
        )

    async def _partitions(self, name: TopicName, *, create: bool) -> int:
        """How many a topic has; 0 for one that has none. Raises TopicNotFound."""
        if await self._catalogue.namespace(name.namespace) is None:
            raise TopicNotFound("Namespace not found" if create else "")
        if name.partition_index >= 0:
            partitions = await self._catalogue.partitions(name.partitioned_name)
            if partitions and name.partition_index >= partitions:
                raise TopicNotFound("")
            return 0
        partitions = await self._catalogue.partitions(name)
        if partitions or await self._catalogue.topic_exists(name):
            return partitions
        if not (create and self._settings.auto_creation):
            raise TopicNotFound("")
        if self._settings.auto_creation_type == "non-partitioned":
            return 0  # It will be made by who first produces to it or subscribes.
        return await self._create_partitioned(name)

    async def _create_partitioned(self, name: TopicName) -> int:
        partitions = self._settings.partitions_default
        try:
            await self._catalogue.create_partitioned_topic(name, partitions)
        except AlreadyExists:  # Somebody else asked at the same moment.
            return await self._catalogue.partitions(name)
        return partitions


async def _until_writable(session: Session) -> None:
    """A long answer waits until those before it are read: many small requests can ask for much.

    Raises UnexpectedCommand in the end, also for a client that is gone.
    """
    try:
        async with asyncio.timeout(ANSWER_WAIT_S):
            while not session.writable:
                written = asyncio.Event()
                session.when_writable(written.set)
                await written.wait()
    except TimeoutError:
        raise UnexpectedCommand(
            f"a request for much, while earlier answers are not read for {ANSWER_WAIT_S:g} s"
        ) from None
