"""Reads and watches the policies in the metadata store, and pushes them to the open topics."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final, Protocol

from magnetar.errors import MagnetarError
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policies import Combined, Level, Policies, combine
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks

from .resources import Resources

log = logging.getLogger(__name__)

IN_FORCE: Final = frozenset(
    {
        "allowed_clusters",
        "auto_subscription_creation",
        "auto_topic_creation",
        "consumers_per_subscription_max",
        "consumers_per_topic_max",
        "encryption_required",
        "producers_per_topic_max",
        "replication_clusters",
        "retention",
        "schema_auto_update",
        "schema_auto_update_allowed",
        "schema_compatibility",
        "schema_validation_enforced",
        "subscription_types",
        "subscriptions_per_topic_max",
        "topics_per_namespace_max",
        "unacked_per_consumer_max",
        "unacked_per_subscription_max",
    }
)
"""The policies that this broker applies; a request for any other is refused."""


class Governed(Protocol):
    """An open topic."""

    def apply(self, policies: Policies) -> None: ...


class PolicyService:
    """Says which policies hold, and tells the open topics when they change."""

    def __init__(
        self, resources: Resources, metadata: MetadataStore, *, broker: Policies, tasks: Tasks
    ) -> None:
        """Made in a running event loop. ``broker``: the policies where no namespace sets any."""
        self._resources = resources
        self._broker = Combined.of(Level.BROKER, broker)
        self._tasks = tasks
        # By namespace: its own policies, and those combined from them, shared by all its topics.
        self._known: dict[NamespaceName, tuple[Policies, Combined]] = {}
        self._topics: Mapping[TopicName, Governed] = {}
        self._changes = 0  # Counts, so that nobody gets what was read before a change.
        self._changed: set[NamespaceName] = set()  # Their topics must be told.
        self._pushing: asyncio.Task[None] | None = None
        self._watch = metadata.watch(paths.TENANTS, self._noticed)

    def close(self) -> None:
        """Stop watching the metadata store."""
        self._watch.cancel()

    def govern(self, topics: Mapping[TopicName, Governed]) -> None:
        """Push changes to the topics in this mapping, which its owner keeps up to date."""
        self._topics = topics

    async def combined(self, namespace: NamespaceName) -> Combined:
        """The policies of a namespace, and the level of each; the broker's where there is none."""
        stored = await self._resources.namespace(namespace)
        if stored is None:
            return self._broker
        known = self._known.get(namespace)
        if known is None or known[0] is not stored.policies:
            combined = combine(self._broker, Combined.of(Level.NAMESPACE, stored.policies))
            known = self._known[namespace] = stored.policies, combined
        return known[1]

    async def of(self, topic: TopicName) -> Policies:
        """The policies of a topic.

        A caller who adds it to the governed topics before the next await misses no change.
        """
        while True:
            changes = self._changes
            found = await self.combined(topic.namespace)
            if changes == self._changes:
                return found.policies

    async def change(self, namespace: NamespaceName, **changed: Any) -> None:
        """Set policies of a namespace, None to unset one, and apply them to all open topics.

        Raises InvalidValue with Pulsar's words, NamespaceNotFound.
        """
        Policies(**changed).check()
        await self._resources.change_policies(namespace, **changed)
        await asyncio.shield(self._push({namespace}))

    def _noticed(self, path: str) -> None:
        namespace = paths.namespace_at(path)
        everywhere = {name.namespace for name in self._topics} if path == paths.TENANTS else set()
        self._push(everywhere if namespace is None else {namespace})

    def _push(self, namespaces: set[NamespaceName]) -> asyncio.Task[None]:
        self._changes += 1
        self._changed |= namespaces
        for namespace in namespaces:
            self._known.pop(namespace, None)
        if self._pushing is None:
            self._pushing = self._tasks.spawn("push policies", self._push_all())
        return self._pushing

    async def _push_all(self) -> None:
        """Push one namespace at a time, so that what is read last is applied last."""
        try:
            while self._changed:
                namespace = self._changed.pop()
                try:
                    policies = (await self.combined(namespace)).policies
                except MagnetarError as error:
                    log.warning("policies.unreadable namespace=%s error=%s", namespace, error)
                    continue
                for topic in [t for name, t in self._topics.items() if name.namespace == namespace]:
                    try:
                        topic.apply(policies)
                    except Exception:  # One topic's defect must not keep changes from others.
                        log.exception("policies.not_applied namespace=%s", namespace)
        finally:
            self._pushing = None
