"""Where the policies that topics set themselves are kept: the contract, and records for it.

A cluster keeps them in its topics ``__change_events`` instead (``change_events/``).
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Protocol

from magnetar.model.names import DOMAINS, NamespaceName, TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_records import TopicPolicies
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore, Watch

from .record_cache import RecordCache

Changed = Callable[[Collection[TopicName] | None], None]
"""Is told of topics whose policies have changed; None: it is not known of which."""


class TopicPolicyStore(Protocol):
    """The policies of topics, partitioned ones by their base names.

    Those of this cluster are apart from those of all clusters, which are global.
    """

    def watch(self, changed: Changed) -> Watch:
        """Call ``changed`` after policies have changed, whichever broker changed them."""

    async def topics(self, namespace: NamespaceName) -> Collection[TopicName]:
        """The topics of a namespace that may have policies of their own."""

    async def get(self, topic: TopicName, *, is_global: bool = False) -> Policies | None:
        """What a topic sets itself; None: nothing ever. Raises CorruptEntry."""

    async def change(self, topic: TopicName, *, is_global: bool, **changed: Any) -> None:
        """Set these policies of a topic, None to unset one.

        Raises Refused for what does not go together, and Conflict where others change them without
        end.
        """

    async def delete(self, topic: TopicName) -> None:
        """Forget all that a topic sets itself; nothing is fine."""


class TopicPolicyRecords:
    """One record for each topic that has policies, and for each that has global ones."""

    def __init__(self, metadata: MetadataStore, records: RecordCache) -> None:
        self._metadata = metadata
        self._records = records

    def watch(self, changed: Changed) -> Watch:
        def noticed(path: str) -> None:
            topic = paths.topic_with_policies_at(path)
            changed(None if topic is None else {topic})

        return self._metadata.watch(paths.TOPIC_POLICIES, noticed)

    async def topics(self, namespace: NamespaceName) -> set[TopicName]:
        found = set()
        for scope in (paths.LOCAL, paths.GLOBAL):
            for domain in DOMAINS:
                path = paths.topics_with_policies(scope, namespace, domain)
                named = partial(TopicName, domain, namespace.tenant, namespace.local)
                found |= {named(paths.decode(name)) for name in await self._records.children(path)}
        return found

    async def get(self, topic: TopicName, *, is_global: bool = False) -> Policies | None:
        path = _path(topic, is_global=is_global)
        record = await self._records.get(path, TopicPolicies.from_json)
        return None if record is None else record.policies

    async def change(self, topic: TopicName, *, is_global: bool, **changed: Any) -> None:
        path = _path(topic, is_global=is_global)

        def change(stored: TopicPolicies) -> TopicPolicies:
            return stored.with_policies(**changed)

        while not await self._records.change(path, TopicPolicies.from_json, change):
            if await self._records.create(path, change(TopicPolicies())):
                return

    async def delete(self, topic: TopicName) -> None:
        for is_global in (False, True):
            await self._records.delete(_path(topic, is_global=is_global))


def _path(topic: TopicName, *, is_global: bool) -> str:
    return paths.topic_policies(paths.GLOBAL if is_global else paths.LOCAL, topic)
