"""LOOKUP, PARTITIONED_METADATA, GET_TOPICS_OF_NAMESPACE: where topics are, and which there are."""

import asyncio
from dataclasses import field
from typing import Final

from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.creation import Creation
from magnetar.broker.peers import Peers
from magnetar.broker.plain_patterns import TopicPattern
from magnetar.broker.resources import Resources
from magnetar.broker.session import Session
from magnetar.errors import (
    InvalidName,
    NamespaceNotFound,
    NotReady,
    TopicNotFound,
    UnexpectedCommand,
)
from magnetar.late_dataclass import dataclass
from magnetar.model.hashing import topics_hash
from magnetar.model.names import (
    DOMAINS,
    NON_PERSISTENT,
    PERSISTENT,
    NamespaceName,
    TopicName,
)
from magnetar.model.system_topics import is_system_topic
from magnetar.wire import replies
from magnetar.wire.commands import (
    CommandGetTopicsOfNamespace,
    CommandLookupTopic,
    CommandPartitionedTopicMetadata,
)

from .client_authorization import OFF, ClientAuthorization
from .names import topic_name

TOPIC_LISTS_AT_ONCE_MAX: Final = 1  # For all connections: the loop serves others between two.
ANSWER_WAIT_S: Final = 30.0  # How long a client may take to read earlier answers.
_DOMAINS: Final = {0: (PERSISTENT,), 1: (NON_PERSISTENT,), 2: DOMAINS}  # By mode.


@dataclass(slots=True, eq=False)
class LookupHandler:
    """Tells clients where topics are, how many partitions they have, and which there are."""

    resources: Resources
    lookup: Lookup
    creation: Creation
    peers: Peers
    authorization: ClientAuthorization = OFF
    _listing: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(TOPIC_LISTS_AT_ONCE_MAX), init=False
    )

    async def on_lookup(self, session: Session, command: CommandLookupTopic) -> None:
        name = topic_name(command.topic)
        if command.advertised_listener_name:
            raise NotReady(f"the broker do not have {command.advertised_listener_name} listener")
        await self.authorization.lookup(session, name)
        found = await self.lookup.find(name)
        session.reply(
            replies.lookup_connect(
                command.request_id,
                found.address.service_url,
                url_tls=found.address.service_url_tls or None,
                proxy_through_service_url=found.kept,
            )
        )

    async def on_partitioned_metadata(
        self, session: Session, command: CommandPartitionedTopicMetadata
    ) -> None:
        name = topic_name(command.topic)
        await self.authorization.partitions(session, name)
        create = command.metadata_auto_creation_enabled
        try:
            partitions = await self.creation.partitions(name, create=create)
        except NamespaceNotFound as error:
            raise TopicNotFound(str(error) if create else "") from None
        except TopicNotFound:
            if name.persistent or name not in await self._elsewhere(name.namespace, name):
                raise TopicNotFound("") from None
            partitions = 0
        session.reply(replies.partitioned_metadata(command.request_id, partitions))

    async def on_topics_of_namespace(
        self, session: Session, command: CommandGetTopicsOfNamespace
    ) -> None:
        try:
            namespace = NamespaceName.parse(command.namespace)
        except InvalidName as error:
            raise UnexpectedCommand(f"GET_TOPICS_OF_NAMESPACE: {error}") from None
        await self.authorization.list_topics(session, namespace)
        volatile = NON_PERSISTENT in _DOMAINS[command.mode]
        beside = await self._elsewhere(namespace) if volatile else []
        while True:
            if not await _writable(session):
                return
            async with self._listing:
                if session.writable:
                    session.reply(await self._topics_of(namespace, command, beside))
                    return

    async def _elsewhere(
        self, namespace: NamespaceName, only: TopicName | None = None
    ) -> list[TopicName]:
        """The non-persistent topics that other brokers serve: of these there are no records.

        ``only`` is one whose bundle alone is asked for. Raises NotReady.
        """
        found: list[TopicName] = []
        for bundle, owner in await self.lookup.owners_elsewhere(namespace):
            if only is None or bundle.holds(only):
                found += await self.peers.non_persistent_topics(owner, bundle)
        return found

    async def _topics_of(
        self,
        namespace: NamespaceName,
        command: CommandGetTopicsOfNamespace,
        beside: list[TopicName],
    ) -> bytes:
        """The answer; ``beside`` are topics that other brokers know."""
        found = list(beside)
        for domain in _DOMAINS[command.mode]:
            every = await self.resources.topics(namespace, domain)
            found += [topic for topic in every if not is_system_topic(topic)]
        filtered = False
        if command.HasField("topics_pattern"):
            pattern = TopicPattern.of(command.topics_pattern)
            if pattern is not None:
                found = [topic for topic in found if pattern.matches(topic)]
                filtered = True
        names = list(map(str, found))
        known = topics_hash(sorted(names))
        changed = known != command.topics_hash
        return replies.topics_of_namespace(
            command.request_id,
            names if changed else [],
            filtered=filtered,
            topics_hash=known,
            changed=changed,
        )


async def _writable(session: Session) -> bool:
    """A long answer waits until those before it are read: many small requests can ask for much.

    False: the client is gone. Raises UnexpectedCommand for one that does not read.
    """
    try:
        async with asyncio.timeout(ANSWER_WAIT_S):
            return await session.until_writable()
    except TimeoutError:
        raise UnexpectedCommand(
            f"a request for much, while earlier answers are not read for {ANSWER_WAIT_S:g} s"
        ) from None
