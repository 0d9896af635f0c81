from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from support.clock import ManualClock
from unit.broker.schema.samples import A_TEXT, AB, AC, A

from magnetar.broker.policies import PolicyService
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.errors import IncompatibleSchema
from magnetar.model.names import TopicName
from magnetar.model.policies import Policies
from magnetar.model.schemas import (
    SchemaAutoUpdate,
    SchemaCompatibilityStrategy,
    SchemaInfo,
    SchemaType,
)
from magnetar.storage.schemas.in_records import SchemasInRecords
from magnetar.tasks import Tasks

TOPIC = TopicName.parse("persistent://public/default/x")
Strategy = SchemaCompatibilityStrategy
NONE = SchemaInfo(SchemaType.NONE)
TEXT = SchemaInfo(SchemaType.STRING)
AUTO_CONSUME = SchemaInfo(SchemaType.AUTO_CONSUME)


class Rules:
    """The schemas of a broker, with the policies of public/default."""

    def __init__(self, schemas, registry, policies):
        self.schemas = schemas
        self.registry = registry
        self._policies = policies

    async def set(self, **changed):
        await self._policies.change(TOPIC.namespace, **changed)

    async def set_for_topic(self, **changed):
        await self._policies.change_topic(TOPIC, **changed)

    async def produce(self, schema):
        return await self.schemas.of_producer(TOPIC, schema)

    async def consume(self, schema, *, producers=(), storage_bytes=0):
        topic = SimpleNamespace(name=TOPIC, producers=producers, storage_bytes=storage_bytes)
        await self.schemas.check_consumer(topic, schema)

    async def numbers(self):
        return [each.number for each in await self.registry.versions(TOPIC)]


@asynccontextmanager
async def rules_with(resources, metadata, broker):
    tasks = Tasks("test")
    policies = PolicyService(resources, metadata, broker=broker, tasks=tasks)
    registry = SchemaRegistry(SchemasInRecords(metadata), ManualClock())
    yield Rules(TopicSchemas(registry, policies), registry, policies)
    registry.close()
    policies.close()
    await tasks.close()


@pytest.fixture
async def rules(resources, metadata):
    async with rules_with(resources, metadata, Policies()) as made:
        yield made


async def test_without_a_schema_nothing_is_asked(rules):
    assert await rules.produce(None) is None
    for schema in (None, AUTO_CONSUME):
        await rules.consume(schema)
    assert await rules.numbers() == []


async def test_bytes_that_are_declared_are_a_schema(rules):
    assert await rules.produce(NONE) == 0
    assert await rules.produce(SchemaInfo(SchemaType.NONE, b"some text")) == 0
    assert await rules.produce(None) is None
    for schema in (None, NONE, AUTO_CONSUME):
        await rules.consume(schema)
    for ask in (rules.produce, rules.consume):
        with pytest.raises(IncompatibleSchema, match="type NONE, new schema type STRING"):
            await ask(TEXT)
    await rules.set(schema_validation_enforced=True)
    assert await rules.produce(NONE) == 0
    with pytest.raises(IncompatibleSchema, match="SchemaValidationEnforced"):
        await rules.produce(None)


async def test_the_first_consumer_that_declares_bytes_brings_them(rules):
    await rules.consume(NONE)
    assert await rules.numbers() == [0]


async def test_a_producer_has_a_schema_of_its_own(rules):
    with pytest.raises(IncompatibleSchema, match="AUTO_CONSUME is a client-side schema type"):
        await rules.produce(AUTO_CONSUME)


async def test_producers_bring_versions(rules):
    assert await rules.produce(A) == 0
    assert await rules.produce(AB) == 1
    assert await rules.produce(A) == 0
    assert await rules.produce(None) is None
    with pytest.raises(IncompatibleSchema, match="new schema type NONE"):
        await rules.produce(NONE)


async def test_a_namespace_may_forbid_new_versions(rules):
    await rules.produce(A)
    await rules.set(schema_auto_update_allowed=False)
    assert await rules.produce(A) == 0
    with pytest.raises(IncompatibleSchema, match="auto updating is disabled"):
        await rules.produce(AB)
    await rules.set(schema_auto_update_allowed=None)
    assert await rules.produce(AB) == 1


async def test_a_namespace_may_ask_every_producer_for_a_schema(rules):
    await rules.set(schema_validation_enforced=True)
    assert await rules.produce(None) is None, "the topic has no schema"
    await rules.produce(A)
    with pytest.raises(IncompatibleSchema, match="SchemaValidationEnforced"):
        await rules.produce(None)


async def test_the_strategy_is_the_namespaces_then_its_older_word_then_the_brokers(
    resources, metadata
):
    broker = Policies(schema_compatibility=Strategy.BACKWARD)
    async with rules_with(resources, metadata, broker) as rules:
        assert await rules.schemas.strategy(TOPIC) is Strategy.BACKWARD
        await rules.set(schema_auto_update=SchemaAutoUpdate.FORWARD)
        assert await rules.schemas.strategy(TOPIC) is Strategy.FORWARD
        await rules.set(schema_compatibility=Strategy.ALWAYS_COMPATIBLE)
        assert await rules.schemas.strategy(TOPIC) is Strategy.ALWAYS_COMPATIBLE
        await rules.produce(A)
        assert await rules.produce(A_TEXT) == 1


async def test_a_topics_own_strategy_is_stronger_and_system_topics_have_theirs(rules):
    await rules.set(schema_compatibility=Strategy.FORWARD)
    await rules.set_for_topic(schema_compatibility=Strategy.BACKWARD)
    assert await rules.schemas.strategy(TOPIC) is Strategy.BACKWARD
    assert await rules.schemas.strategy(TOPIC.partition(0)) is Strategy.BACKWARD
    system = TopicName.parse("persistent://public/default/__change_events")
    assert await rules.schemas.strategy(system) is Strategy.ALWAYS_COMPATIBLE


async def test_full_is_the_default(rules):
    assert await rules.schemas.strategy(TOPIC) is Strategy.FULL


async def test_the_first_consumer_of_an_unused_topic_brings_its_schema(rules):
    await rules.consume(TEXT)
    assert await rules.numbers() == [0]


async def test_a_consumer_brings_none_where_bytes_are_in_use(rules):
    for used in ({"producers": ("p",)}, {"storage_bytes": 1}):
        for schema in (TEXT, NONE):
            with pytest.raises(IncompatibleSchema, match=r"topic with empty\(BYTES\) schema"):
                await rules.consume(schema, **used)
    await rules.set(schema_compatibility=Strategy.ALWAYS_COMPATIBLE)
    await rules.consume(TEXT, storage_bytes=1)
    assert await rules.numbers() == []


async def test_a_consumer_must_read_the_latest_data(rules):
    await rules.produce(A)
    await rules.consume(AB)
    await rules.consume(A)
    with pytest.raises(IncompatibleSchema, match=r"strategy BACKWARD.*field c has no default"):
        await rules.consume(AC)
    with pytest.raises(IncompatibleSchema, match="exists schema type AVRO"):
        await rules.consume(TEXT)
    await rules.consume(AUTO_CONSUME)
    assert await rules.numbers() == [0], "consumers add nothing to a topic that has a schema"


async def test_a_transitive_strategy_holds_for_consumers_too(rules):
    await rules.set(schema_compatibility=Strategy.BACKWARD)
    await rules.produce(AC)
    await rules.produce(A)
    await rules.produce(AB)
    await rules.consume(A)
    await rules.set(schema_compatibility=Strategy.FULL_TRANSITIVE)
    with pytest.raises(IncompatibleSchema, match=r"strategy FULL_TRANSITIVE.*version 0"):
        await rules.consume(A)


async def test_where_no_other_schema_is_taken_the_same_one_still_reads(rules):
    await rules.set(schema_compatibility=Strategy.ALWAYS_INCOMPATIBLE)
    await rules.produce(A)
    await rules.consume(A)
    with pytest.raises(IncompatibleSchema):
        await rules.consume(AB)
