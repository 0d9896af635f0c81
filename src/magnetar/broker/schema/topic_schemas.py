"""What producers and consumers may do with the schema they declare, by the policies of a topic."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from magnetar.broker.policies import PolicyService
from magnetar.broker.schema.compatibility import check_compatible
from magnetar.broker.schema.definitions import check_definition, same
from magnetar.broker.schema.refusals import SchemaRefusals
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.topics.topic import Topic
from magnetar.errors import IncompatibleSchema
from magnetar.model.names import TopicName
from magnetar.model.policies import schema_strategy
from magnetar.model.schemas import (
    SchemaCompatibilityStrategy,
    SchemaInfo,
    SchemaType,
)
from magnetar.model.system_topics import is_hidden

_ALL_VERSIONS: Final = frozenset(
    {
        SchemaCompatibilityStrategy.BACKWARD_TRANSITIVE,
        SchemaCompatibilityStrategy.FULL_TRANSITIVE,
        SchemaCompatibilityStrategy.ALWAYS_INCOMPATIBLE,
    }
)
"""The strategies that hold for consumers as they are; under the others one reads what is new."""


class TopicSchemas:
    """Checks and adds the schemas of clients."""

    def __init__(
        self,
        registry: SchemaRegistry,
        policies: PolicyService,
        *,
        system: SchemaCompatibilityStrategy = SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE,
    ) -> None:
        """``system``: the strategy of system topics."""
        self.refusals = SchemaRefusals()
        self._system = system
        self._registry = registry
        self._policies = policies

    async def strategy(self, topic: TopicName) -> SchemaCompatibilityStrategy:
        if is_hidden(topic):
            return self._system
        return schema_strategy(await self._policies.combined_of(topic))

    async def of_producer(self, topic: TopicName, schema: SchemaInfo | None) -> int | None:
        """The version that a producer's schema has, or gets; None for a producer without.

        Bytes that are declared, as by Go's client, are a schema like others, of type NONE. Raises
        IncompatibleSchema, also for a producer without a schema where one is enforced.
        """
        with self._noted(topic, "producer"):
            return await self._of_producer(topic, schema)

    async def _of_producer(self, topic: TopicName, schema: SchemaInfo | None) -> int | None:
        policies = await self._policies.of(topic)
        if schema is None:
            if policies.schema_validation_enforced and await self._registry.versions(topic):
                raise IncompatibleSchema(
                    "Producers cannot connect or send message without a schema to topics with a "
                    "schema when SchemaValidationEnforced is enabled"
                )
            return None
        return await self._registry.add(
            topic,
            schema,
            await self.strategy(topic),
            may_update=policies.schema_auto_update_allowed is not False,
        )

    async def check_consumer(self, topic: Topic, schema: SchemaInfo | None) -> None:
        """Check that a consumer can read; the first schema of an unused topic is kept.

        Raises IncompatibleSchema.
        """
        with self._noted(topic.name, "consumer"):
            await self._check_consumer(topic, schema)

    async def _check_consumer(self, topic: Topic, schema: SchemaInfo | None) -> None:
        if schema is None or schema.type is SchemaType.AUTO_CONSUME:
            return
        check_definition(schema)
        existing = await self._registry.versions(topic.name)
        if not existing and not topic.producers and not topic.storage_bytes:
            await self._of_producer(topic.name, schema)
            return
        strategy = await self.strategy(topic.name)
        if strategy is SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE:
            return
        if not existing:
            raise IncompatibleSchema(
                "Failed to add schema to an active topic with empty(BYTES) schema: new schema type "
                f"{schema.type.name}"
            )
        if same(existing[-1].schema, schema) and not strategy.transitive:
            return
        if strategy not in _ALL_VERSIONS:
            strategy = SchemaCompatibilityStrategy.BACKWARD
        check_compatible(schema, existing, strategy)

    @contextmanager
    def _noted(self, topic: TopicName, client: str) -> Iterator[None]:
        """Remember whom this refuses."""
        try:
            yield
        except IncompatibleSchema as error:
            self.refusals.note(topic, client, str(error), self._registry.clock.wall_ms())
            raise
