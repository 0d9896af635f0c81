"""Publishing over HTTP: ours, and Pulsar's REST producer (PIP-64), which is told apart by its path.

What is published goes the way of every producer: schema, deduplication, limits, quotas.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.messages.outgoing import Outgoing, Reading
from magnetar.broker.admin.messages.publishing import Outcome, Publisher
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import InvalidValue, MagnetarError, MessageTooLarge, NotAllowed
from magnetar.model.hashing import java_string_hash
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection, status_of
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import Route
from magnetar.wire.schemas import version_bytes

_FIELDS: Final = frozenset({"messages", "producerName"})
_PULSAR_FIELDS: Final = _FIELDS | {"valueSchema", "keySchema", "schemaVersion"}


async def publish(admin: AdminServices, request: Request) -> Reply:
    """Publish messages; their ids when they are durable, in their order."""
    topic, sent = arguments.topic(request), _sent(request, _FIELDS)
    schema, version = await _schema(admin, topic)
    messages = await _read(schema, sent.get("messages"))
    results = await _published(admin, topic, messages, version, sent.get("producerName"))
    errors = [each for _, each in results if isinstance(each, MagnetarError)]
    if len(errors) == len(results):
        raise errors[0]
    return shown({"results": [_shown(name, each) for name, each in results]})


async def publish_as_pulsar(admin: AdminServices, request: Request) -> Reply:
    """The same in the words of Pulsar's REST producer: payloads are text, or JSON in a text."""
    topic, sent = arguments.topic(request, "persistent"), _sent(request, _PULSAR_FIELDS)
    schema, version = await _schema(admin, topic, sent.get("valueSchema"))
    found = sent.get("messages")
    messages = [_of_pulsar(each, schema) for each in found] if isinstance(found, list) else found
    outgoing = await _read(schema, messages)
    results = await _published(admin, topic, outgoing, version, sent.get("producerName"))
    number = 0 if version is None else version
    return shown(
        {
            "messagePublishResults": [
                {
                    "messageId": f"{each.ledger_id}:{each.entry_id}:{name.partition_index}",
                    "errorCode": 0,
                    "schemaVersion": number,
                }
                if not isinstance(each, MagnetarError | None)
                else {
                    "errorCode": 0 if each is None else status_of(each),
                    "error": str(each or "It was stored before"),
                    "schemaVersion": number,
                }
                for name, each in results
            ],
            "schemaVersion": number,
        }
    )


def _sent(request: Request, known: frozenset[str]) -> dict[str, Any]:
    sent = arguments.json_object(request) or {}
    unknown = sorted(sent.keys() - known)
    if unknown:
        raise Rejection(400, f"{', '.join(unknown)} is none of {', '.join(sorted(known))}")
    name = sent.get("producerName")
    if name is not None and not (isinstance(name, str) and name):
        raise Rejection(400, "producerName is not a text")
    return sent


def _of_pulsar(message: Any, schema: SchemaInfo | None) -> Any:
    """A message of Pulsar's REST producer, as ours."""
    if not isinstance(message, dict) or not isinstance(message.get("payload"), str):
        return message
    value = message["payload"]
    if schema is not None and schema.type not in (SchemaType.NONE, SchemaType.STRING):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"the payload {value!r:.60} is not JSON: {error}") from None
    return {**{key: each for key, each in message.items() if key != "payload"}, "value": value}


async def _schema(
    admin: AdminServices, topic: TopicName, declared: Any = None
) -> tuple[SchemaInfo | None, int | None]:
    """The topic's schema, or the one that the request declares, with its version.

    Raises IncompatibleSchema, InvalidSchema.
    """
    versions = await admin.schema_registry.versions(topic)
    schema = versions[-1].schema if versions else None
    if declared:
        schema = _declared(declared)
    return schema, await admin.schemas.of_producer(topic, schema)


def _declared(text: Any) -> SchemaInfo:
    try:
        said = json.loads(text)
        name = str(said["type"])
        kind = SchemaType["NONE" if name == "BYTES" else name]
        properties = arguments.string_map(said.get("properties"), "properties") or {}
        return SchemaInfo(kind, str(said.get("schema") or "").encode(), properties)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise Rejection(
            400,
            'valueSchema is a text with JSON, as {"type": "STRING", "schema": ""}',
        ) from None


async def _read(schema: SchemaInfo | None, messages: Any) -> list[Outgoing]:
    """Messages as they will be sent; in a thread, as values are encoded. Raises Rejection."""

    @cache
    def parts() -> tuple[Callable[[Any], Any], Callable[[bytes], object]]:
        # They bring the libraries of the schemas along.
        plain, auto = map(import_module, ("magnetar.schemas.plain", "magnetar.schemas.auto"))
        return plain.writer_of(schema), auto.AutoProduceSchema(schema).encode

    def write(value: Any) -> Any:
        return parts()[0](value)

    def check(payload: bytes) -> None:
        if schema is not None and schema.type is not SchemaType.PROTOBUF:
            parts()[1](payload)

    reading = Reading(write, check)
    try:
        return await asyncio.to_thread(reading.all, messages)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None


async def _published(
    admin: AdminServices,
    topic: TopicName,
    messages: Sequence[Outgoing],
    version: int | None,
    producer: str | None,
) -> list[tuple[TopicName, Outcome]]:
    """Where each message went, and what became of it there."""
    count = await admin.creation.partitions(topic, create=True)
    if count and any(each.sequence_id is not None for each in messages):
        raise NotAllowed(f"{topic} is partitioned: send sequence ids to one of its partitions")
    for index, message in enumerate(messages):
        if (size := len(message.entry("", 0, 0, None))) > admin.message_size_max:
            raise MessageTooLarge(
                f"messages[{index}] has {size} bytes: at most {admin.message_size_max} are taken "
                "(maxMessageSize)"
            )
    names = [_partition_of(topic, each, index, count) for index, each in enumerate(messages)]
    outcomes: dict[int, Outcome] = {}
    for name in dict.fromkeys(names):
        chosen = [index for index, each in enumerate(names) if each == name]
        try:
            found = await _publish_to(
                admin, name, [messages[index] for index in chosen], version, producer
            )
        except MagnetarError as error:
            found = [error] * len(chosen)
        outcomes.update(zip(chosen, found, strict=True))
    return [(name, outcomes[index]) for index, name in enumerate(names)]


async def _publish_to(
    admin: AdminServices,
    name: TopicName,
    messages: Sequence[Outgoing],
    version: int | None,
    producer: str | None,
) -> list[Outcome]:
    await admin.topics.serve(name)
    topic = await admin.topics.get(name, create=True)
    publisher = await Publisher.attach(topic, admin.clock, name=producer)
    try:
        now_ms, version_sent = admin.clock.wall_ms(), version_bytes(version) or None
        sequences = [publisher.next_sequence_id(each.sequence_id) for each in messages]
        entries = [
            each.entry(publisher.name, sequence, now_ms, version_sent)
            for each, sequence in zip(messages, sequences, strict=True)
        ]
        return await publisher.publish(sequences, entries)
    finally:
        await publisher.close()


def _partition_of(topic: TopicName, message: Outgoing, index: int, count: int) -> TopicName:
    """Where a client in Java sends it: by its key; without one, to each partition in turn."""
    if not count:
        return topic
    return topic.partition((java_string_hash(message.key) if message.key else index) % count)


def _shown(name: TopicName, outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, MagnetarError):
        return {"reason": str(outcome), "status": status_of(outcome)}
    if outcome is None:
        return {"id": None, "duplicate": name.persistent}
    return {
        "id": {
            "ledgerId": outcome.ledger_id,
            "entryId": outcome.entry_id,
            "partitionIndex": name.partition_index,
            "batchIndex": -1,
        }
    }


_ONE: Final = "{tenant}/{namespace}/{topic}"
ROUTES: Final = (
    Route(
        "POST",
        f"/admin/v2/persistent/{_ONE}/messages",
        publish,
        takes=(JSON,),
        access=Access.PRODUCE,
    ),
    Route(
        "POST",
        f"/admin/v2/non-persistent/{_ONE}/messages",
        publish,
        takes=(JSON,),
        access=Access.PRODUCE,
    ),
    Route(
        "POST",
        f"/topics/persistent/{_ONE}",
        publish_as_pulsar,
        takes=(JSON,),
        access=Access.PRODUCE,
    ),
)
