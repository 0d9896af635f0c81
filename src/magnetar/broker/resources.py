"""Clusters, tenants, namespaces and partitioned topics in the metadata store.

Every change is a compare-and-set: of two administrators who do the same, one gets an error.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from magnetar.broker.record_cache import JsonObjects, RecordCache
from magnetar.broker.topic_policies import TopicPolicyRecords
from magnetar.errors import (
    AlreadyExists,
    Conflict,
    InvalidValue,
    NamespaceNotFound,
    NotFound,
    TenantNotFound,
    TopicNotFound,
)
from magnetar.model.bundles import BUNDLES_DEFAULT, Bundle, Bundles
from magnetar.model.names import DOMAINS, PERSISTENT, NamespaceName, TopicName
from magnetar.model.policies import Policies
from magnetar.model.policy_records import NamespacePolicies
from magnetar.model.policy_values import AuthPolicies
from magnetar.model.records import ClusterData, Json, PartitionedTopicMetadata, TenantInfo
from magnetar.storage.codec.codec import Codec
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore, Watch
from magnetar.turns import in_turns

NAMES_PER_TURN: Final = 500
"""Names of topics that are made before others are served."""
DEFAULT_NAMESPACES: Final = (NamespaceName("public", "default"), NamespaceName("pulsar", "system"))
_DEFAULT_TENANTS: Final = frozenset(namespace.tenant for namespace in DEFAULT_NAMESPACES)
_WHOLE_RING: Final = Bundles.even(1)


class Resources:
    """Reads, creates, changes and deletes them. Made in a running event loop."""

    def __init__(
        self, metadata: MetadataStore, cluster: str = "standalone", *, codec: Codec
    ) -> None:
        """``cluster``: this one, whose rates are read from a namespace's policies."""
        self._metadata = metadata
        self._cluster = cluster
        self._records = RecordCache(metadata, paths.ADMIN, paths.BOOKIES, codec=codec)
        self.objects = JsonObjects(self._records)
        self.topic_policies = TopicPolicyRecords(metadata, self._records)
        self.open_topics = OpenTopics()

    def close(self) -> None:
        """Stop watching the metadata store. This must not be used afterwards."""
        self._records.close()

    async def ensure_defaults(
        self, cluster: str, *urls: str, alone: bool = True, bundles: int = BUNDLES_DEFAULT
    ) -> None:
        """Make sure that the cluster and Pulsar's own namespaces exist.

        ``urls``: ``ClusterData.of``. The cluster of a broker that is alone is where that is;
        another keeps the addresses that it was given at first.
        """
        here = ClusterData.of(*urls)
        stored = await self.cluster(cluster)
        if stored is None:
            await self._records.create(paths.cluster(cluster), here)
        elif alone and stored.moved_to(here) != stored:
            await self.update_cluster(cluster, lambda data: data.moved_to(here))
        for namespace in DEFAULT_NAMESPACES:
            tenant = _default_tenant(cluster)
            await self._records.create(paths.tenant(namespace.tenant), tenant)
            policies = NamespacePolicies.fresh(cluster, bundles)
            await self._records.create(paths.namespace(namespace), policies)

    async def clusters(self) -> list[str]:
        return await self._records.children(paths.CLUSTERS)

    async def cluster(self, name: str) -> ClusterData | None:
        return await self._records.get(paths.cluster(name), ClusterData.from_json)

    async def create_cluster(self, name: str, data: ClusterData) -> None:
        """Raises AlreadyExists."""
        if not await self._records.create(paths.cluster(name), data):
            raise AlreadyExists("Cluster already exists")

    async def update_cluster(self, name: str, change: Callable[[ClusterData], ClusterData]) -> None:
        """Raises NotFound."""
        if not await self._records.change(paths.cluster(name), ClusterData.from_json, change):
            raise NotFound("Cluster does not exist")

    async def delete_cluster(self, name: str) -> None:
        """Raises NotFound."""
        if await self.cluster(name) is None:
            raise NotFound("Cluster does not exist")
        await self._records.delete(paths.cluster(name))

    async def tenants(self) -> list[str]:
        return await self._records.children(paths.TENANTS)

    async def tenant(self, name: str) -> TenantInfo | None:
        return await self._records.get(paths.tenant(name), TenantInfo.from_json)

    async def create_tenant(self, name: str, info: TenantInfo) -> None:
        """In place of a default one that nobody has changed. Raises AlreadyExists."""
        path = paths.tenant(name)
        if await self._records.create(path, info):
            return

        def replace_default(stored: TenantInfo) -> TenantInfo:
            if name not in _DEFAULT_TENANTS or stored != _default_tenant(self._cluster):
                raise AlreadyExists("Tenant already exist")
            return info

        if not await self._records.change(path, TenantInfo.from_json, replace_default):
            raise Conflict(f"Tenant {name} is being deleted: try again")

    async def update_tenant(self, name: str, info: TenantInfo) -> None:
        """Raises TenantNotFound."""

        def change(stored: TenantInfo) -> TenantInfo:
            return TenantInfo(info.admin_roles, info.allowed_clusters, stored.other)

        if not await self._records.change(paths.tenant(name), TenantInfo.from_json, change):
            raise TenantNotFound(f"Tenant {name} not found")

    async def delete_tenant(self, name: str) -> None:
        """Raises TenantNotFound, or Conflict while the tenant has namespaces."""
        if await self.tenant(name) is None:
            raise TenantNotFound("Tenant doesn't exist")
        if await self.namespaces(name):
            raise Conflict("The tenant still has active namespaces")
        await self._records.delete(paths.tenant(name))

    async def namespaces(self, tenant: str) -> list[NamespaceName]:
        """The tenant's namespaces; [] where there is no such tenant."""
        names = await self._records.children(paths.tenant(tenant))
        found = [NamespaceName(tenant, name) for name in names]
        return [name for name in found if await self.namespace(name) is not None]

    async def namespace(self, namespace: NamespaceName) -> NamespacePolicies | None:
        """The policies of a namespace; None where there is none, or it is being deleted."""
        path = paths.namespace(namespace)
        policies = await self._records.get(path, self._namespace_of)
        return None if policies is None or policies.deleted else policies

    async def require_namespace(self, namespace: NamespaceName) -> NamespacePolicies:
        """The policies of a namespace that must exist. Raises NamespaceNotFound."""
        policies = await self.namespace(namespace)
        if policies is None:
            raise NamespaceNotFound("Namespace not found")
        return policies

    async def bundle(self, topic: TopicName) -> Bundle:
        """The bundle of a topic, which need not exist; nor need its namespace."""
        return (await self._bundles(topic.namespace)).bundle_of(topic)

    async def has_bundle(self, bundle: Bundle) -> bool:
        """Whether a namespace has this bundle: it may have been split."""
        return bundle in (await self._bundles(bundle.namespace)).of(bundle.namespace)

    async def _bundles(self, namespace: NamespaceName) -> Bundles:
        # A namespace that is being deleted has its bundles until its last topic is gone.
        policies = await self._records.get(paths.namespace(namespace), self._namespace_of)
        return _WHOLE_RING if policies is None else policies.bundles

    def is_taken(self, namespace: NamespaceName, stored: NamespacePolicies) -> bool:
        """Whether a namespace is more than a default one that nobody has changed."""
        return namespace not in DEFAULT_NAMESPACES or stored != NamespacePolicies.fresh(
            self._cluster
        )

    async def create_namespace(self, namespace: NamespaceName, policies: NamespacePolicies) -> None:
        """In place of a default one that nobody has changed. Raises TenantNotFound, AlreadyExists.

        A default namespace keeps its bundles, of which a broker may serve some already.
        """
        if await self.tenant(namespace.tenant) is None:
            raise TenantNotFound("Tenant does not exist")
        path = paths.namespace(namespace)
        if await self._records.create(path, policies):
            return

        def replace_deleted(stored: NamespacePolicies) -> NamespacePolicies:
            if stored.deleted:
                return policies
            if self.is_taken(namespace, stored):
                raise AlreadyExists("Namespace already exists")
            return replace(policies, bundles=stored.bundles)

        if not await self._records.change(path, self._namespace_of, replace_deleted):
            raise Conflict(f"Namespace {namespace} is being deleted: try again")

    async def delete_namespace(self, namespace: NamespaceName) -> None:
        """Raises NamespaceNotFound, or Conflict while the namespace has topics."""
        async with self.deleting_namespace(namespace):
            pass

    @asynccontextmanager
    async def deleting_namespace(self, namespace: NamespaceName) -> AsyncIterator[None]:
        """Delete a namespace at the end of the block, in which it is not found any more.

        It is marked first and removed last, so that an interrupted deletion can be repeated. Raises
        NamespaceNotFound, or Conflict where it has topics at the end; after any error of the block
        it is there again.
        """
        path = paths.namespace(namespace)
        if await self.namespace(namespace) is None or not await self._mark(path, deleted=True):
            raise NamespaceNotFound(f"Namespace {namespace} does not exist.")
        try:
            yield
            await self._check_empty(namespace)
        except BaseException:
            await asyncio.shield(self._mark(path, deleted=False))
            raise
        for topic in await self.topic_policies.topics(namespace):
            await self.topic_policies.delete(topic)
        await self.objects.delete(paths.local_policies(namespace))
        await self._records.delete(path)

    async def _check_empty(self, namespace: NamespaceName) -> None:
        for domain in DOMAINS:
            if await self.topics(namespace, domain) or await self.partitioned_topics(
                namespace, domain
            ):
                raise Conflict("Cannot delete non empty namespace")

    async def _mark(self, path: str, *, deleted: bool) -> bool:
        return await self._records.change(
            path, self._namespace_of, lambda stored: replace(stored, deleted=deleted)
        )

    async def change_policies(
        self, namespace: NamespaceName, changed: Callable[[Policies], Mapping[str, Any]]
    ) -> None:
        """Set the policies that are made of those that are set, None to unset one.

        Raises NamespaceNotFound.
        """

        def change(stored: NamespacePolicies) -> NamespacePolicies:
            if stored.deleted:
                raise NamespaceNotFound("Namespace does not exist")
            return stored.with_policies(**changed(stored.policies))

        if not await self._records.change(paths.namespace(namespace), self._namespace_of, change):
            raise NamespaceNotFound("Namespace does not exist")

    async def split_bundles(self, namespace: NamespaceName, boundaries: Sequence[int]) -> None:
        """Let bundles begin at these hashes, too. Raises NamespaceNotFound, InvalidValue."""

        def change(stored: NamespacePolicies) -> NamespacePolicies:
            return replace(stored, bundles=stored.bundles.split_at(boundaries))

        if not await self._records.change(paths.namespace(namespace), self._namespace_of, change):
            raise NamespaceNotFound("Namespace does not exist")

    async def change_auth(
        self, namespace: NamespaceName, change: Callable[[AuthPolicies], AuthPolicies]
    ) -> None:
        """Change what is granted in a namespace. Raises NamespaceNotFound."""
        await self.change_policies(
            namespace, lambda stored: {"auth": change(stored.auth or AuthPolicies())}
        )

    def _namespace_of(self, value: Json) -> NamespacePolicies:
        return NamespacePolicies.from_json(value, self._cluster)

    async def partitioned_topic(self, topic: TopicName) -> PartitionedTopicMetadata | None:
        """The record of a partitioned topic; None where the topic is not one."""
        path = paths.partitioned_topic(topic)
        return await self._records.get(path, PartitionedTopicMetadata.from_json)

    async def partitions(self, topic: TopicName) -> int:
        """How many partitions a topic has; 0 where it is not partitioned or does not exist."""
        metadata = await self.partitioned_topic(topic)
        return 0 if metadata is None else metadata.partitions

    async def create_partitioned_topic(
        self, topic: TopicName, partitions: int, properties: dict[str, str] | None = None
    ) -> None:
        """Store that a topic is partitioned. The caller creates the partitions themselves.

        Raises NamespaceNotFound, or AlreadyExists (as a plain topic, too).
        """
        await self.require_namespace(topic.namespace)
        created = PartitionedTopicMetadata(partitions, properties)
        if await self.topic_exists(topic) or not await self._records.create(
            paths.partitioned_topic(topic), created
        ):
            raise AlreadyExists("This topic already exists")

    async def grow_partitions(self, topic: TopicName, partitions: int) -> int:
        """Give a partitioned topic more partitions (as many is fine); return how many it had.

        Raises Conflict when the topic is not partitioned, InvalidValue when it has more already.
        """
        had = 0

        def grow(stored: PartitionedTopicMetadata) -> PartitionedTopicMetadata:
            nonlocal had
            had = stored.partitions
            if partitions < had:
                raise InvalidValue(
                    f"Desired partitions {partitions} can't be less than the current "
                    f"partitions {had}."
                )
            return replace(stored, partitions=partitions)

        path = paths.partitioned_topic(topic)
        if not await self._records.change(path, PartitionedTopicMetadata.from_json, grow):
            raise Conflict(f"Topic {topic} is not the partitioned topic.")
        return had

    async def change_partitioned_properties(
        self, topic: TopicName, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        """Set and remove properties of a partitioned topic. Raises TopicNotFound."""

        def change(stored: PartitionedTopicMetadata) -> PartitionedTopicMetadata:
            kept = {k: v for k, v in (stored.properties or {}).items() if k not in removed}
            return replace(stored, properties={**kept, **changed})

        path = paths.partitioned_topic(topic)
        if not await self._records.change(path, PartitionedTopicMetadata.from_json, change):
            raise TopicNotFound(f"Topic {topic} not found")

    async def delete_partitioned_topic(self, topic: TopicName) -> None:
        """Forget that a topic is partitioned. The caller must delete its partitions first.

        Raises TopicNotFound.
        """
        if await self.partitioned_topic(topic) is None:
            raise TopicNotFound(f"Partitioned Topic {topic} not found")
        await self._records.delete(paths.partitioned_topic(topic))

    async def partitioned_topics(
        self, namespace: NamespaceName, domain: str = PERSISTENT
    ) -> list[TopicName]:
        """The partitioned topics of a namespace, by their base names, sorted."""
        path = paths.partitioned_topics(namespace, domain)
        return await self._topics_at(path, namespace, domain)

    async def topic_exists(self, topic: TopicName) -> bool:
        """Whether a plain topic, or this partition, has been created.

        A non-persistent one is in no store: it exists as long as it is open.
        """
        if not topic.persistent:
            return topic in self.open_topics
        path = paths.managed_ledger(paths.managed_ledger_name(topic))
        if await self._metadata.get(path) is None:
            return False
        return await self._metadata.get(paths.deletion(topic)) is None

    async def topics(self, namespace: NamespaceName, domain: str = PERSISTENT) -> list[TopicName]:
        """The topics of a namespace that exist, partitions one by one, sorted."""
        if domain != PERSISTENT:
            return self.open_topics.of(namespace)
        found = await self._topics_at(paths.managed_ledgers(namespace, domain), namespace, domain)
        deleting = await self.deleting()
        return [topic for topic in found if topic not in deleting] if deleting else found

    async def deleting(self) -> set[TopicName]:
        """The topics whose deletion was begun and is not finished."""
        children = await self._metadata.children(paths.DELETIONS)
        return {TopicName.parse(paths.decode(child)) for child in children}

    def watch_topics(
        self, namespace: NamespaceName, changed: Callable[[TopicName | None], None]
    ) -> Watch:
        """Call ``changed`` when a persistent topic may have come or gone; None: any of them."""
        prefix = paths.managed_ledgers(namespace, PERSISTENT)

        def noticed(path: str) -> None:
            local = path[len(prefix) + 1 :]
            if "/" not in local:  # It is the topic's own record, and not one of a cursor.
                place = namespace.tenant, namespace.local
                changed(TopicName(PERSISTENT, *place, paths.decode(local)) if local else None)

        return self._metadata.watch(prefix, noticed)

    def watch_namespaces(self, changed: Callable[[NamespaceName | None], None]) -> Watch:
        """Call ``changed`` when policies of a namespace change; None: of any, or a tenant."""
        return self._metadata.watch(paths.TENANTS, lambda path: changed(paths.namespace_at(path)))

    async def _topics_at(self, path: str, namespace: NamespaceName, domain: str) -> list[TopicName]:
        tenant, local = namespace.tenant, namespace.local
        names = sorted(paths.decode(child) for child in await self._records.children(path))
        each = in_turns(names, NAMES_PER_TURN)
        return [TopicName(domain, tenant, local, name) async for name in each]


def _default_tenant(cluster: str) -> TenantInfo:
    return TenantInfo(allowed_clusters=[cluster])


class OpenTopics:
    """The non-persistent topics that are open here; whoever opens and closes them says so."""

    def __init__(self) -> None:
        self._by_namespace: dict[NamespaceName, set[TopicName]] = {}

    def __contains__(self, topic: TopicName) -> bool:
        return topic in self._by_namespace.get(topic.namespace, ())

    def of(self, namespace: NamespaceName) -> list[TopicName]:
        """The topics of a namespace, sorted."""
        return sorted(self._by_namespace.get(namespace, ()), key=str)

    def add(self, topic: TopicName) -> None:
        self._by_namespace.setdefault(topic.namespace, set()).add(topic)

    def discard(self, topic: TopicName) -> None:
        here = self._by_namespace.get(topic.namespace, set())
        here.discard(topic)
        if not here:
            self._by_namespace.pop(topic.namespace, None)
