"""Reads and watches the policies in the metadata store, and pushes them to the open topics."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Protocol

from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policies import NO_POLICIES, Combined, Policies, combine
from magnetar.model.policy_rows import Level
from magnetar.model.policy_values import (
    BacklogQuota,
    BacklogQuotaPolicy,
    InactiveTopicPolicies,
    PublishRate,
    RetentionPolicies,
)
from magnetar.model.system_topics import is_change_events
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks

from .resources import Resources
from .topic_policies import TopicPolicyStore

log = logging.getLogger(__name__)

_UNLIMITED: Final = BacklogQuota(-1, -1, BacklogQuotaPolicy.HOLD)
_OF_EVENTS: Final = Policies(
    retention=RetentionPolicies(-1, -1),
    message_ttl_s=0,
    backlog_quota_size=_UNLIMITED,
    backlog_quota_age=_UNLIMITED,
    compaction_threshold_bytes=1024 * 1024,
    inactive_topics=InactiveTopicPolicies(),
    deduplication=False,
    publish_rate=PublishRate(),
    producers_per_topic_max=0,
    encryption_required=False,
)
"""What a topic ``__change_events`` has, whatever its namespace says."""


class PolicyTarget(Protocol):
    """An open topic."""

    def apply(self, policies: Policies) -> None: ...


@dataclass(slots=True)
class _Namespace:
    """The policies of a namespace, and its open topics."""

    stored: Policies
    combined: Combined  # Shared by all topics that set nothing themselves.
    topics: dict[TopicName, Combined | None]  # Those that may; None: not read yet.


class PolicyService:
    """Says which policies hold, and tells the open topics when they change."""

    def __init__(
        self,
        resources: Resources,
        metadata: MetadataStore,
        *,
        broker: Policies,
        tasks: Tasks,
        topic_level: bool = True,
        of_topics: TopicPolicyStore | None = None,
    ) -> None:
        """Made in a running event loop. ``broker``: the policies where no namespace sets any.

        ``topic_level``: whether topics have policies of their own. ``of_topics``: where these are
        kept; None: in records.
        """
        self.topic_level = topic_level
        self._resources = resources
        self._of_topics = of_topics or resources.topic_policies
        self._broker = Combined.of(Level.BROKER, broker)
        self._tasks = tasks
        self._known: dict[NamespaceName, _Namespace] = {}
        self._topics: Mapping[TopicName, PolicyTarget] = {}
        self._changes = 0  # Counts, so that nobody gets what was read before a change.
        self._changed: set[NamespaceName | TopicName] = set()  # Their open topics must be told.
        self._pushing: asyncio.Task[None] | None = None
        self._watches = (
            metadata.watch(paths.TENANTS, self._noticed),
            self._of_topics.watch(self._noticed_topics),
        )

    def close(self) -> None:
        """Stop watching the metadata store."""
        for watch in self._watches:
            watch.cancel()

    def govern(self, topics: Mapping[TopicName, PolicyTarget]) -> None:
        """Push changes to the topics in this mapping, which its owner keeps up to date."""
        self._topics = topics

    async def set_broker(self, broker: Policies) -> None:
        """Change the policies where no namespace sets any, and apply them to all open topics."""
        self._broker = Combined.of(Level.BROKER, broker)
        self._known.clear()
        await asyncio.shield(self._push({name.namespace for name in self._topics}))

    async def combined(self, namespace: NamespaceName) -> Combined:
        """The policies of a namespace, and the level of each; the broker's where there is none."""
        return (await self._namespace(namespace)).combined

    async def combined_of(self, topic: TopicName) -> Combined:
        """The policies of a topic, and the level of each.

        All topics of a namespace that set nothing themselves share one.
        """
        if is_change_events(topic):
            return await self._of_events(topic.namespace)
        while True:
            changes = self._changes
            found = await self._read(topic)
            if changes == self._changes:
                return found

    async def of(self, topic: TopicName) -> Policies:
        """The policies of a topic.

        A caller who adds it to the governed topics before the next await misses no change.
        """
        return (await self.combined_of(topic)).policies

    async def change(self, namespace: NamespaceName, **changed: Any) -> None:
        """Set policies of a namespace, None to unset one, and apply them to all open topics.

        Raises InvalidValue with Pulsar's words, NamespaceNotFound.
        """
        Policies(**changed).check()
        await self.revise(namespace, lambda _: changed)

    async def revise(
        self, namespace: NamespaceName, revised: Callable[[Policies], Mapping[str, Any]]
    ) -> None:
        """Set the policies that ``revised`` makes of those that are set; it may be called again.

        Raises NamespaceNotFound.
        """
        await self._resources.change_policies(namespace, revised)
        await asyncio.shield(self._push({namespace}))

    async def change_topic(
        self, topic: TopicName, *, is_global: bool = False, **changed: Any
    ) -> None:
        """Set policies of a topic, None to unset one, and apply them if it is open.

        A partitioned topic's hold for its partitions. ``is_global``: in all clusters; those of
        this cluster are stronger. Raises InvalidValue with Pulsar's words.
        """
        Policies(**changed).check()
        await self._of_topics.change(topic, is_global=is_global, **changed)
        await asyncio.shield(self._push({topic}))

    async def own(self, topic: TopicName, *, is_global: bool = False) -> Policies:
        """What a topic sets itself: in this cluster, or in all."""
        return await self._of_topics.get(topic, is_global=is_global) or NO_POLICIES

    async def with_own(self, namespace: NamespaceName) -> Collection[TopicName]:
        """The topics of a namespace that may set policies themselves."""
        return list((await self._namespace(namespace)).topics)

    async def topic_deleted(self, topic: TopicName) -> None:
        """Forget a topic that is deleted; one partition leaves it to the others."""
        if topic.partition_index < 0:
            await self.forget(topic)

    async def forget(self, topic: TopicName) -> None:
        """Remove all that a topic sets itself."""
        if not self.topic_level or topic in (await self._namespace(topic.namespace)).topics:
            await self._of_topics.delete(topic)
            await asyncio.shield(self._push({topic}))

    async def _of_events(self, namespace: NamespaceName) -> Combined:
        """The policies of a topic that has policies of topics in it: it keeps all of them.

        They are not asked for here, as it must be open for that.
        """
        stored = await self._resources.namespace(namespace)
        own = NO_POLICIES if stored is None else stored.policies
        levels = Combined.of(Level.NAMESPACE, own), Combined.of(Level.TOPIC, _OF_EVENTS)
        return combine(self._broker, *levels)

    async def _namespace(self, name: NamespaceName) -> _Namespace:
        stored = await self._resources.namespace(name)
        if stored is None:
            return _Namespace(NO_POLICIES, self._broker, {})
        known = self._known.get(name)
        if known is not None and known.stored is stored.policies:
            return known
        changes = self._changes
        topics = await self._of_topics.topics(name) if self.topic_level else ()
        known = self._known.get(name)
        if known is not None and known.stored is stored.policies:
            return known  # Somebody else was as far first.
        combined = combine(self._broker, Combined.of(Level.NAMESPACE, stored.policies))
        known = _Namespace(stored.policies, combined, dict.fromkeys(topics))
        if changes == self._changes:
            self._known[name] = known
        return known

    async def _read(self, topic: TopicName) -> Combined:
        changes = self._changes
        known = await self._namespace(topic.namespace)
        name = topic.partitioned_name if known.topics else topic
        if name not in known.topics:
            return known.combined
        combined = known.topics[name]
        if combined is not None:
            return combined
        levels = [known.combined]
        for is_global in (True, False):
            own = await self._of_topics.get(name, is_global=is_global)
            if own is not None:
                levels.append(Combined.of(Level.TOPIC, own))
        combined = combine(*levels) if len(levels) > 1 else known.combined
        if changes == self._changes:
            known.topics[name] = combined
            if combined is known.combined:
                del known.topics[name]  # Its records are gone.
        return combined

    def _noticed(self, path: str) -> None:
        namespace = paths.namespace_at(path)
        everywhere = {name.namespace for name in self._topics} if path == paths.TENANTS else set()
        self._push(everywhere if namespace is None else {namespace})

    def _noticed_topics(self, topics: Collection[TopicName] | None) -> None:
        if topics is not None:
            self._push(topics)
        else:
            self._known.clear()
            self._push({name.namespace for name in self._topics})

    def _push(self, changed: Collection[NamespaceName | TopicName]) -> asyncio.Task[None]:
        self._changes += 1
        self._changed.update(changed)
        for each in changed:
            if isinstance(each, NamespaceName):
                self._known.pop(each, None)
            elif each.namespace in self._known:
                self._known[each.namespace].topics[each] = None
        if self._pushing is None:
            self._pushing = self._tasks.spawn("push policies", self._push_all())
        return self._pushing

    async def _push_all(self) -> None:
        """Push one change at a time, so that what is read last is applied last."""
        try:
            while self._changed:
                changed = self._changed.pop()
                try:
                    if isinstance(changed, NamespaceName):
                        await self._push_namespace(changed)
                    else:
                        await self._push_topic(changed)
                except MagnetarError as error:
                    log.warning("policies.unreadable of=%s error=%s", changed, error)
        finally:
            self._pushing = None

    async def _push_namespace(self, namespace: NamespaceName) -> None:
        """Push to the topics that set nothing themselves; the others come one by one."""
        known = await self._namespace(namespace)
        for name, topic in list(self._topics.items()):
            if name.namespace != namespace:
                continue
            if is_change_events(name):
                _apply(topic, await self.of(name), name)
            else:
                own = name.partitioned_name if known.topics else name
                if own in known.topics:
                    self._changed.add(own)
                else:
                    _apply(topic, known.combined.policies, name)

    async def _push_topic(self, name: TopicName) -> None:
        partitions = await self._resources.partitions(name)
        policies = await self.of(name)
        for each in (name, *map(name.partition, range(partitions))):
            topic = self._topics.get(each)
            if topic is not None:
                _apply(topic, policies, each)


def _apply(topic: PolicyTarget, policies: Policies, name: TopicName) -> None:
    try:
        topic.apply(policies)
    except Exception:  # One topic's defect must not keep changes from others.
        log.exception("policies.not_applied topic=%s", name)
