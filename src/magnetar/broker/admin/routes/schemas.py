"""Schemas of topics, which need not exist: shown, added, compared, deleted."""

import json
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.schema.compatibility import check_compatible
from magnetar.broker.schema.definitions import check_definition
from magnetar.errors import InvalidSchema, NamespaceNotFound, SchemaNotFound
from magnetar.model import jackson
from magnetar.model.key_value_schemas import halves, joined
from magnetar.model.schemas import AVRO_DEFINED, SchemaInfo, SchemaType, SchemaVersion
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import FORCE, Route, reads

_CLIENTS_OWN: Final = ("AUTO", "AUTO_CONSUME", "AUTO_PUBLISH")
_WRITTEN_AS_JSON: Final = AVRO_DEFINED | {SchemaType.PROTOBUF_NATIVE}


async def get(admin: TopicServices, request: Request) -> Reply:
    found = await admin.schema_registry.versions(arguments.topic(request))
    if not found:
        raise SchemaNotFound("Schema not found")
    return shown(_shown(found[-1]))


async def get_version(admin: TopicServices, request: Request) -> Reply:
    topic, number = arguments.topic(request), arguments.integer(request, "version")
    try:
        return shown(_shown(await admin.schema_registry.version(topic, number)))
    except SchemaNotFound:
        raise SchemaNotFound("Schema not found") from None


async def get_all(admin: TopicServices, request: Request) -> Reply:
    found = await admin.schema_registry.versions(arguments.topic(request))
    return shown({"getSchemaResponses": [_shown(each) for each in found]})


async def places(admin: TopicServices, request: Request) -> Reply:
    """The versions there are. Each is a record, in no ledger."""
    found = await admin.schema_registry.versions(arguments.topic(request))
    index = [{"ledgerId": -1, "entryId": 0, "version": each.number} for each in found]
    return shown({"info": index[-1], "index": index}) if index else Reply(200)


async def add(admin: TopicServices, request: Request) -> Reply:
    """A version, the next one if need be, whatever the policy says of clients that bring one."""
    topic, schema = arguments.topic(request), _sent(request)
    if await admin.resources.namespace(topic.namespace) is None:
        raise NamespaceNotFound("Namespace does not exist")
    strategy = await admin.schemas.strategy(topic)
    number = await admin.schema_registry.add(topic, schema, strategy)
    return shown({"version": {"version": number}})


@reads(FORCE)
async def delete(admin: TopicServices, request: Request) -> Reply:
    """Note that there is no schema any more; with ``force`` forget that there ever was one."""
    topic = arguments.topic(request)
    if request.flag("force"):
        await admin.schema_registry.forget(topic)
        return shown({"version": -1})
    return shown({"version": await admin.schema_registry.delete(topic)})


async def compatible(admin: TopicServices, request: Request) -> Reply:
    """Whether a schema would be taken. One that would not is refused with what clashes."""
    topic, schema = arguments.topic(request), _sent(request)
    strategy = await admin.schemas.strategy(topic)
    check_definition(schema)
    check_compatible(schema, await admin.schema_registry.versions(topic), strategy)
    answer = shown({"schemaCompatibilityStrategy": strategy, "compatibility": True})
    return Reply(202, answer.body, answer.content_type)


async def find(admin: TopicServices, request: Request) -> Reply:
    """The version that is the same as the schema in the body, -1 where none is."""
    number = await admin.schema_registry.find(arguments.topic(request), _sent(request))
    return shown({"version": -1 if number is None else number})


def _sent(request: Request) -> SchemaInfo:
    """The schema in a body."""
    sent = arguments.json_object(request)
    if sent is None:
        raise Rejection(400, 'Send a schema: {"type": "...", "schema": "...", "properties": {}}')
    name = sent.get("type")
    text = arguments.read(jackson.text, sent.get("schema"), "schema")
    if text is None:
        raise Rejection(400, "schema is a definition as a text: there is none")
    if name in _CLIENTS_OWN:
        raise InvalidSchema(f"Schema {name} is a client-side schema type")
    name = "NONE" if name == "BYTES" else name
    if not isinstance(name, str) or name not in SchemaType.__members__:
        raise Rejection(
            400, f"There is no schema type {name!r:.50}: use one of {', '.join(_TYPES)}"
        )
    kind = SchemaType[name]
    properties = arguments.string_map(sent.get("properties"), "properties") or {}
    data = _key_and_value(text) if kind is SchemaType.KEY_VALUE else text.encode()
    return SchemaInfo(kind, data, properties)


_TYPES: Final = ("BYTES", *(each for each in SchemaType.__members__ if each != "AUTO_CONSUME"))


def _key_and_value(text: str) -> bytes:
    """The definition of a KEY_VALUE schema, written as ``{"key": ..., "value": ...}``."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, dict) or not {"key", "value"} <= parts.keys():
        raise InvalidSchema(
            'Invalid schema definition data for KEY_VALUE schema: write {"key": ..., "value": ...}'
        )
    key, value = (_part(parts[name]) for name in ("key", "value"))
    return joined(key, value)


def _part(value: Any) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return text.encode()


def _shown(found: SchemaVersion) -> dict[str, Any]:
    schema = found.schema
    return {
        "version": found.number,
        "type": schema.type.name,
        "timestamp": schema.timestamp_ms,
        "data": _data(schema),
        "properties": dict(schema.properties),
    }


def _data(schema: SchemaInfo) -> str:
    if schema.type is not SchemaType.KEY_VALUE:
        return schema.data.decode(errors="replace")
    key, value = halves(schema)
    parts = {"key": _shown_part(key), "value": _shown_part(value)}
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def _shown_part(part: SchemaInfo) -> Any:
    if part.type in _WRITTEN_AS_JSON:
        return json.loads(part.data)
    return part.data.decode(errors="replace")


_ONE = "/admin/v2/schemas/{tenant}/{namespace}/{topic}"
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", f"{_ONE}/schema", get, Access.LOOKUP),
    Route("GET", f"{_ONE}/schema/{{version}}", get_version, Access.LOOKUP),
    Route("GET", f"{_ONE}/schemas", get_all, Access.LOOKUP),
    Route("GET", f"{_ONE}/metadata", places, Access.LOOKUP),
    Route("POST", f"{_ONE}/schema", add, Access.PRODUCE, takes=(JSON,)),
    Route("DELETE", f"{_ONE}/schema", delete, Access.TENANT_ADMIN),
    Route("POST", f"{_ONE}/compatibility", compatible, Access.TENANT_ADMIN, takes=(JSON,)),
    Route("POST", f"{_ONE}/version", find, Access.LOOKUP, takes=(JSON,)),
)
