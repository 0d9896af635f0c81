"""Takes from clients what their roles may not have any more.

A change of what is granted, or of who administers a tenant, is looked into at once, and everything
now and then: whoever was let in while the permission went is found as well.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias, cast

from magnetar.auth.access import Access
from magnetar.auth.authorization import Principal
from magnetar.broker.authorization.authorization_service import (
    AuthorizationService,
    client_principal,
)
from magnetar.broker.resources import Resources
from magnetar.broker.session import Session
from magnetar.broker.topics.client_connection import ClientConnection
from magnetar.broker.topics.subscriptions.consumer import Consumer
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import Topic
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, NotAuthorized, TenantNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

TOPICS_AT_ONCE: Final = 100  # The loop serves others after so many.
Namespaces: TypeAlias = set[NamespaceName | None] | None
"""Those to look at; None: all."""


class Revocation:
    """Looks at the producers, consumers and topic list watchers of a broker's clients."""

    def __init__(
        self,
        service: AuthorizationService,
        resources: Resources,
        *,
        topics: Mapping[TopicName, Topic],
        sessions: Callable[[], Iterable[Session]],
        clock: Clock,
        tasks: Tasks,
        interval_s: float,
    ) -> None:
        """``topics`` are those that are open, ``interval_s`` is that of looking at everything."""
        self._service = service
        self._topics = topics
        self._sessions = sessions
        self._clock = clock
        self._tasks = tasks
        self._interval_s = interval_s
        self._changed: set[NamespaceName | None] = set()  # None: any of them.
        self._looking: asyncio.Task[None] | None = None
        self._watch = resources.watch_namespaces(self._noticed)

    def close(self) -> None:
        """Stop watching the metadata store."""
        self._watch.cancel()

    async def run(self) -> None:
        """Look at everything, every so often, for ever."""
        while True:
            await self._clock.sleep(self._interval_s)
            await self._try_to_look(None)

    def _noticed(self, namespace: NamespaceName | None) -> None:
        self._changed.add(namespace)
        if self._looking is None:
            self._looking = self._tasks.spawn("revocation", self._look_at_changes())

    async def _look_at_changes(self) -> None:
        try:
            while self._changed:
                changed, self._changed = self._changed, set()
                await self._try_to_look(None if None in changed else changed)
        finally:
            self._looking = None

    async def _try_to_look(self, namespaces: Namespaces) -> None:
        try:
            await self._look(namespaces)
        except MagnetarError as error:
            log.warning("permissions.unreadable error=%s", error)
        except Exception:  # A defect must not keep later changes from having an effect.
            log.exception("permissions.look_failed")

    async def _look(self, namespaces: Namespaces) -> None:
        for count, (name, topic) in enumerate(list(self._topics.items()), 1):
            if namespaces is None or name.namespace in namespaces:
                await self._look_at(topic)
            if count % TOPICS_AT_ONCE == 0:
                await self._clock.sleep(0)
        for session in list(self._sessions()):
            for watcher in list((session.watchers or {}).values()):
                where = watcher.namespace
                if (namespaces is None or where in namespaces) and not await self._allows(
                    session, Access.NAMESPACE_TOPICS, namespace=where
                ):
                    _log(session, "watcher", where)
                    watcher.end()

    async def _look_at(self, topic: Topic) -> None:
        name = topic.name
        allowed: dict[tuple[Principal, Access, str], bool] = {}  # Clients have few roles.

        async def keeps(connection: ClientConnection, access: Access, subscription: str) -> bool:
            session = cast("Session", connection)
            key = client_principal(session), access, subscription
            if key not in allowed:
                allowed[key] = await self._allows(
                    session, access, topic=name, subscription=subscription
                )
            return allowed[key]

        for producer in list(topic.producers.values()):
            connection = producer.connection
            kept = await keeps(connection, Access.PRODUCE, "")
            if not kept and topic.producers.get(producer.name) is producer:
                _log(connection, "producer", name)
                producer.detach()
                connection.close_producer(producer.producer_id)
        for subscription in list(topic.subscriptions.values()):
            for consumer in list(subscription.consumers):
                kept = await keeps(consumer.connection, Access.CONSUME, subscription.name)
                if not kept and consumer in subscription.consumers:
                    await self._close(topic, subscription, consumer)

    async def _close(self, topic: Topic, subscription: Subscription, consumer: Consumer) -> None:
        _log(consumer.connection, "consumer", topic.name)
        consumer.connection.close_consumer(consumer.consumer_id)
        await topic.leave(subscription, consumer)

    async def _allows(
        self,
        session: Session,
        access: Access,
        *,
        topic: TopicName | None = None,
        namespace: NamespaceName | None = None,
        subscription: str = "",
    ) -> bool:
        try:
            return await self._service.allows(
                client_principal(session),
                access,
                topic=topic,
                namespace=namespace,
                subscription=subscription,
            )
        except (NotAuthorized, TenantNotFound):
            return False


def _log(connection: ClientConnection, what: str, where: NamespaceName | TopicName) -> None:
    session = cast("Session", connection)
    log.info("permission.revoked what=%s of=%s role=%s", what, where, session.role)
