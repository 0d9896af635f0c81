import asyncio
from dataclasses import replace

import pytest

from magnetar.broker.resources import OpenTopics, Resources
from magnetar.errors import (
    AlreadyExists,
    Conflict,
    InvalidValue,
    NamespaceNotFound,
    NotFound,
    TenantNotFound,
    TopicNotFound,
)
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_records import NamespacePolicies
from magnetar.model.records import ClusterData, TenantInfo
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.codec.json_object import encode
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore

NAMESPACE = NamespaceName("public", "default")
TOPIC = TopicName.parse("persistent://public/default/dir/file x")
A = TopicName.parse("non-persistent://public/default/a")
B = TopicName.parse("non-persistent://public/default/b")
OTHER = TopicName.parse("non-persistent://public/other/a")


@pytest.fixture
async def other(tree):
    """Another process on the same metadata."""
    store = MemoryMetadataStore(tree)
    other = Resources(store, codec=JsonCodec())
    yield other
    other.close()
    await store.close()


async def make_topic(metadata, topic):
    await metadata.put(paths.managed_ledger(paths.managed_ledger_name(topic)), b"{}")


async def test_a_new_store_gets_pulsar_s_tenants_and_namespaces(resources):
    assert await resources.clusters() == ["standalone"]
    assert await resources.tenants() == ["public", "pulsar"]
    assert await resources.tenant("public") == TenantInfo([], ["standalone"])
    assert await resources.namespaces("public") == [NAMESPACE]
    assert await resources.namespaces("pulsar") == [NamespaceName("pulsar", "system")]
    policies = await resources.namespace(NAMESPACE)
    assert policies == NamespacePolicies.fresh("standalone")


async def test_defaults_made_again_leave_what_there_is(resources, tree):
    await resources.update_tenant("public", TenantInfo(["boss"], ["standalone"]))
    before = dict(tree.records)
    await resources.ensure_defaults("standalone", "http://h:8080", "pulsar://h:6650")
    assert tree.records == before


async def test_two_brokers_may_make_the_defaults_at_once(metadata, other):
    await asyncio.gather(
        *(
            each.ensure_defaults("c", "http://h", "pulsar://h")
            for each in (other, Resources(metadata, codec=JsonCodec()))
        )
    )
    assert "c" in await other.clusters()


async def test_a_cluster_that_moved_is_written_down(resources):
    await resources.update_cluster(
        "standalone", lambda data: ClusterData({**data.fields, "proxyServiceUrl": "pulsar://p"})
    )
    await resources.ensure_defaults("standalone", "http://h:9090", "pulsar://h:7650")
    cluster = await resources.cluster("standalone")
    assert cluster is not None
    assert cluster.fields == {
        "serviceUrl": "http://h:9090",
        "brokerServiceUrl": "pulsar://h:7650",
        "proxyServiceUrl": "pulsar://p",
    }


async def test_clusters_come_and_go(resources):
    data = ClusterData.of("http://x", "pulsar://x")
    await resources.create_cluster("c2", data)
    assert await resources.cluster("c2") == data
    with pytest.raises(AlreadyExists, match="Cluster already exists"):
        await resources.create_cluster("c2", data)
    await resources.delete_cluster("c2")
    assert await resources.cluster("c2") is None
    for change in (
        resources.delete_cluster("c2"),
        resources.update_cluster("c2", lambda old: old),
    ):
        with pytest.raises(NotFound, match="Cluster does not exist"):
            await change


async def test_tenants_come_and_go(resources):
    info = TenantInfo(["a"], ["standalone"])
    await resources.create_tenant("t", info)
    with pytest.raises(AlreadyExists):
        await resources.create_tenant("t", info)
    await resources.update_tenant("t", TenantInfo([], ["standalone"]))
    assert await resources.tenant("t") == TenantInfo([], ["standalone"])
    await resources.delete_tenant("t")
    assert await resources.tenant("t") is None
    with pytest.raises(TenantNotFound, match="Tenant doesn't exist"):
        await resources.delete_tenant("t")
    with pytest.raises(TenantNotFound, match="Tenant t not found"):
        await resources.update_tenant("t", info)


async def test_a_tenant_with_namespaces_stays(resources):
    with pytest.raises(Conflict, match="The tenant still has active namespaces"):
        await resources.delete_tenant("public")


async def test_namespaces_come_and_go(resources):
    name = NamespaceName("public", "n")
    policies = NamespacePolicies.fresh("standalone", bundles=2)
    await resources.create_namespace(name, policies)
    assert await resources.namespace(name) == policies
    with pytest.raises(AlreadyExists, match="Namespace already exists"):
        await resources.create_namespace(name, policies)
    await resources.delete_namespace(name)
    assert await resources.namespace(name) is None
    assert name not in await resources.namespaces("public")
    with pytest.raises(NamespaceNotFound, match="Namespace public/n does not exist"):
        await resources.delete_namespace(name)
    with pytest.raises(NamespaceNotFound, match="Namespace not found"):
        await resources.require_namespace(name)


async def test_a_namespace_needs_its_tenant(resources):
    with pytest.raises(TenantNotFound, match="Tenant does not exist"):
        await resources.create_namespace(
            NamespaceName("nobody", "n"), NamespacePolicies.fresh("standalone")
        )


async def test_a_namespace_with_topics_stays_and_can_be_used(resources, metadata):
    await make_topic(metadata, TOPIC)
    with pytest.raises(Conflict, match="Cannot delete non empty namespace"):
        await resources.delete_namespace(NAMESPACE)
    assert await resources.namespace(NAMESPACE) is not None


async def test_a_namespace_with_a_partitioned_topic_stays(resources):
    await resources.create_partitioned_topic(TOPIC, 2)
    with pytest.raises(Conflict):
        await resources.delete_namespace(NAMESPACE)


async def test_a_namespace_whose_deletion_was_cut_short_is_absent_and_can_be_made_again(
    resources, metadata
):
    name = NamespaceName("public", "n")
    half = replace(NamespacePolicies.fresh("standalone"), deleted=True)
    await metadata.put(paths.namespace(name), encode(half.to_json()))
    assert await resources.namespace(name) is None
    assert name not in await resources.namespaces("public")
    with pytest.raises(NamespaceNotFound):
        await resources.delete_namespace(name)
    fresh = NamespacePolicies.fresh("standalone", bundles=1)
    await resources.create_namespace(name, fresh)
    assert await resources.namespace(name) == fresh


async def test_a_namespace_that_is_removed_just_now_can_be_made_a_moment_later(resources, metadata):
    name = NamespaceName("public", "n")
    policies = NamespacePolicies.fresh("standalone")
    await resources.create_namespace(name, policies)
    get = metadata.get

    async def removed_meanwhile(path):
        if path == paths.namespace(name):
            await metadata.delete(path)
        return await get(path)

    metadata.get = removed_meanwhile
    with pytest.raises(Conflict, match="is being deleted: try again"):
        await resources.create_namespace(name, policies)
    metadata.get = get
    await resources.create_namespace(name, policies)


async def test_partitioned_topics_come_grow_and_go(resources):
    assert await resources.partitions(TOPIC) == 0
    await resources.create_partitioned_topic(TOPIC, 2, {"a": "b"})
    assert await resources.partitions(TOPIC) == 2
    assert await resources.partitioned_topics(NAMESPACE) == [TOPIC]
    assert await resources.grow_partitions(TOPIC, 5) == 2
    assert await resources.grow_partitions(TOPIC, 5) == 5
    metadata = await resources.partitioned_topic(TOPIC)
    assert metadata is not None
    assert (metadata.partitions, metadata.properties) == (5, {"a": "b"})
    await resources.delete_partitioned_topic(TOPIC)
    assert await resources.partitions(TOPIC) == 0
    with pytest.raises(TopicNotFound):
        await resources.delete_partitioned_topic(TOPIC)


async def test_what_cannot_be_partitioned_is_refused(resources, metadata):
    with pytest.raises(NamespaceNotFound):
        await resources.create_partitioned_topic(TopicName.parse("persistent://no/no/x"), 1)
    await resources.create_partitioned_topic(TOPIC, 1)
    with pytest.raises(AlreadyExists, match="This topic already exists"):
        await resources.create_partitioned_topic(TOPIC, 1)
    plain = TopicName.parse("persistent://public/default/plain")
    await make_topic(metadata, plain)
    with pytest.raises(AlreadyExists):
        await resources.create_partitioned_topic(plain, 1)


async def test_partitions_never_get_fewer(resources):
    await resources.create_partitioned_topic(TOPIC, 6)
    with pytest.raises(
        InvalidValue, match="Desired partitions 3 can't be less than the current partitions 6"
    ):
        await resources.grow_partitions(TOPIC, 3)
    assert await resources.partitions(TOPIC) == 6


async def test_a_plain_topic_cannot_grow(resources):
    with pytest.raises(Conflict, match="is not the partitioned topic"):
        await resources.grow_partitions(TOPIC, 3)


async def test_of_many_who_grow_a_topic_each_sees_what_there_was(resources, other):
    await resources.create_partitioned_topic(TOPIC, 1)
    had = await asyncio.gather(
        *(each.grow_partitions(TOPIC, 4) for each in (resources, other) for _ in range(3))
    )
    assert sorted(had) == [1, 4, 4, 4, 4, 4]


async def test_topics_are_those_with_a_log_partitions_one_by_one(resources, metadata):
    await resources.create_partitioned_topic(TOPIC, 2)
    assert await resources.topics(NAMESPACE) == []
    partitions = [TOPIC.partition(index) for index in range(2)]
    for partition in reversed(partitions):
        await make_topic(metadata, partition)
    assert await resources.topics(NAMESPACE) == partitions
    assert await resources.topic_exists(partitions[0])
    assert not await resources.topic_exists(TOPIC)
    assert await resources.topics(NamespaceName("no", "no")) == []


async def test_another_process_sees_changes_once_the_watch_has_fired(resources, other):
    assert await other.partitions(TOPIC) == 0
    await resources.create_partitioned_topic(TOPIC, 2)
    await asyncio.sleep(0)
    assert await other.partitions(TOPIC) == 2
    await resources.grow_partitions(TOPIC, 3)
    await asyncio.sleep(0)
    assert await other.partitions(TOPIC) == 3


def test_they_are_listed_by_namespace_while_they_are_open():
    topics = OpenTopics()
    for name in (B, OTHER, A):
        topics.add(name)
    assert topics.of(NamespaceName("public", "default")) == [A, B]
    topics.discard(A)
    topics.discard(A)
    assert topics.of(NamespaceName("public", "default")) == [B]
    assert A not in topics
    assert B in topics


def test_nothing_is_left_of_a_namespace_without_any():
    topics = OpenTopics()
    topics.add(A)
    topics.discard(A)
    assert topics.of(A.namespace) == []
    assert not topics._by_namespace
