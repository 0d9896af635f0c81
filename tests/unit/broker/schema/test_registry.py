import asyncio

import pytest
from support.clock import ManualClock
from unit.broker.schema.samples import A_TEXT, AB, AC, A

from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.errors import (
    Conflict,
    CorruptEntry,
    IncompatibleSchema,
    InvalidSchema,
    SchemaNotFound,
    VersionMismatch,
)
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaCompatibilityStrategy, SchemaInfo, SchemaType
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.schemas.in_records import SchemasInRecords

TOPIC = TopicName.parse("persistent://public/default/a/b c%")
FULL = SchemaCompatibilityStrategy.FULL


@pytest.fixture
async def registry(metadata):
    made = SchemaRegistry(SchemasInRecords(metadata), ManualClock())
    yield made
    made.close()


async def numbers(registry, topic=TOPIC):
    return [each.number for each in await registry.versions(topic)]


async def test_the_same_schema_has_the_same_version_and_a_new_one_the_next(registry):
    assert await registry.add(TOPIC, A, FULL) == 0
    assert await registry.add(TOPIC, AB, FULL) == 1
    assert await registry.add(TOPIC, A, FULL) == 0
    assert await registry.find(TOPIC, AB) == 1
    assert await registry.find(TOPIC, AC) is None
    assert (await registry.version(TOPIC, 0)).schema.data == A.data
    assert (await registry.latest(TOPIC)).number == 1


async def test_what_does_not_go_with_the_others_is_not_kept(registry):
    await registry.add(TOPIC, A, FULL)
    with pytest.raises(IncompatibleSchema, match="field a"):
        await registry.add(TOPIC, A_TEXT, FULL)
    with pytest.raises(InvalidSchema):
        await registry.add(TOPIC, SchemaInfo(SchemaType.AVRO, b"{bad"), FULL)
    with pytest.raises(IncompatibleSchema, match="auto updating is disabled"):
        await registry.add(TOPIC, AB, FULL, may_update=False)
    assert await registry.add(TOPIC, A, FULL, may_update=False) == 0
    assert await numbers(registry) == [0]


async def test_partitions_share_the_schema_of_their_topic(registry):
    await registry.add(TOPIC.partition(1), A, FULL)
    assert await numbers(registry) == [0]
    await registry.topic_deleted(TOPIC.partition(1))
    assert await numbers(registry) == [0]
    await registry.topic_deleted(TOPIC)
    assert await numbers(registry) == []


async def test_a_deleted_schema_is_gone_and_numbers_go_on(registry):
    assert await registry.delete(TOPIC) == 0
    await registry.add(TOPIC, A, FULL)
    await registry.add(TOPIC, AB, FULL)
    assert await registry.delete(TOPIC) == 2
    assert await registry.delete(TOPIC) == 2
    assert await numbers(registry) == []
    with pytest.raises(SchemaNotFound):
        await registry.version(TOPIC, 0)
    assert (await registry.latest(TOPIC)).schema.deleted
    assert await registry.add(TOPIC, A_TEXT, FULL) == 3
    assert await registry.find(TOPIC, A) is None


async def test_a_forgotten_schema_leaves_nothing(registry, metadata):
    await registry.add(TOPIC, A, FULL)
    await registry.add(TOPIC, AB, FULL)
    await registry.forget(TOPIC)
    assert await metadata.children(paths.schemas(TOPIC)) == []
    await registry.forget(TOPIC)
    assert await registry.add(TOPIC, A_TEXT, FULL) == 0


async def test_two_brokers_that_add_at_once_make_two_versions(tree):
    one, other = (
        SchemaRegistry(SchemasInRecords(MemoryMetadataStore(tree)), ManualClock()) for _ in range(2)
    )
    await numbers(one)
    await numbers(other)
    added = await asyncio.gather(one.add(TOPIC, A, FULL), other.add(TOPIC, AB, FULL))
    assert sorted(added) == [0, 1]
    assert await numbers(one) == await numbers(other) == [0, 1]


async def test_adding_ends_where_others_are_always_faster():
    class Busy(MemoryMetadataStore):
        async def put(self, path, value, **options):
            raise VersionMismatch(path)

    registry = SchemaRegistry(SchemasInRecords(Busy()), ManualClock())
    with pytest.raises(Conflict, match="without end"):
        await registry.add(TOPIC, A, FULL)


async def test_what_another_broker_adds_is_seen(tree):
    one, other = (
        SchemaRegistry(SchemasInRecords(MemoryMetadataStore(tree)), ManualClock()) for _ in range(2)
    )
    assert await numbers(one) == []
    await other.add(TOPIC, A, FULL)
    await asyncio.sleep(0)
    assert await numbers(one) == [0]


async def test_only_so_much_is_kept_in_memory(metadata):
    registry = SchemaRegistry(SchemasInRecords(metadata), ManualClock(), cache_size_max=3000)
    for number in range(20):
        await registry.add(TopicName.parse(f"t{number}"), A, FULL)
        await numbers(registry, TopicName.parse(f"t{number}"))
    assert len(registry._kept) < 5
    assert 0 < registry._kept_size <= 3000
    assert await numbers(registry, TopicName.parse("t0")) == [0]
    registry.close()


async def test_a_damaged_record_is_named(registry, metadata):
    await metadata.put(paths.schema(TOPIC, 0), b"{}")
    with pytest.raises(CorruptEntry, match=r"/schemas/public/default/.*/0"):
        await registry.versions(TOPIC)


async def test_what_is_done_is_counted_for_so_many_namespaces(registry, monkeypatch):
    monkeypatch.setattr("magnetar.broker.schema.registry.NAMESPACES_COUNTED_MAX", 1)
    await registry.add(TOPIC, A, FULL)
    with pytest.raises(IncompatibleSchema):
        await registry.add(TOPIC, A_TEXT, FULL)
    other = TopicName.parse("persistent://public/other/a")
    assert await registry.add(other, A, FULL) == 0
    assert set(registry.counts) == {TOPIC.namespace}
    counts = registry.counts[TOPIC.namespace]
    assert (counts.compatible, counts.incompatible, counts.put.latency.count) == (1, 1, 1)
