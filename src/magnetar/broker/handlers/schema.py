"""GET_SCHEMA, GET_OR_CREATE_SCHEMA."""

from dataclasses import KW_ONLY

from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.session import Session
from magnetar.errors import SchemaNotFound, TopicNotFound
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaType, SchemaVersion
from magnetar.wire import replies
from magnetar.wire.commands import CommandGetOrCreateSchema, CommandGetSchema
from magnetar.wire.schemas import declared, version_bytes, version_number

from .client_authorization import OFF, ClientAuthorization
from .names import topic_name


@dataclass(slots=True, eq=False)
class SchemaHandler:
    """Tells clients the schemas of topics, and adds theirs."""

    topics: TopicRegistry
    registry: SchemaRegistry
    schemas: TopicSchemas
    _: KW_ONLY
    authorization: ClientAuthorization = OFF

    async def on_get_schema(self, session: Session, command: CommandGetSchema) -> None:
        """Answer with one version, or the latest, which may say that there is none any more."""
        name = TopicName.parse(command.topic)
        await self.authorization.lookup(session, name, "GetSchema")
        try:
            found = await self._find(name, command)
        except SchemaNotFound:
            raise TopicNotFound(f"Topic not found or no-schema {command.topic}") from None
        schema = found.schema
        session.reply(
            replies.get_schema(
                command.request_id,
                name=f"{name.namespace}/{name.partitioned_name.local}",
                data=b"" if schema.deleted else schema.data,
                kind=schema.type,
                properties=schema.properties,
                version=version_bytes(found.number),
            )
        )

    async def on_get_or_create_schema(
        self, session: Session, command: CommandGetOrCreateSchema
    ) -> None:
        """Answer with the version of a producer's schema. The topic must exist.

        Bytes are asked about as if there was no schema, and b"" is the answer: only PRODUCER and
        SUBSCRIBE make a schema of them.
        """
        name = topic_name(command.topic)
        await self.authorization.add_schema(session, name)
        schema = declared(command.schema)
        try:
            await self.topics.get(name, create=False)
        except TopicNotFound:
            raise TopicNotFound(f"Topic not found {command.topic}") from None
        sent = None if schema.type is SchemaType.NONE else schema
        number = await self.schemas.of_producer(name, sent)
        session.reply(replies.get_or_create_schema(command.request_id, version_bytes(number)))

    async def _find(self, name: TopicName, command: CommandGetSchema) -> SchemaVersion:
        if command.HasField("schema_version"):
            return await self.registry.version(name, version_number(command.schema_version))
        found = await self.registry.latest(name)
        if found is None:
            raise SchemaNotFound(f"{name} has no schema")
        return found
