"""Publishing over HTTP: ours, and Pulsar's REST producer (PIP-64), which is told apart by its path.

What is published goes the way of every producer: schema, deduplication, limits, quotas.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.messages.outgoing import Outgoing, Reading
from magnetar.broker.admin.owners import AtOwner, of_partition, reason_of
from magnetar.broker.admin.services import MessageServices
from magnetar.broker.cluster.publishing import Outcome
from magnetar.broker.cluster.publishing import publish as publish_here
from magnetar.broker.threads import in_thread
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


async def publish(admin: MessageServices, request: Request) -> Reply:
    """Publish messages; their ids when they are durable, in their order."""
    topic, sent = arguments.topic(request), _sent(request, _FIELDS)
    schema, version = await _schema(admin, topic)
    messages = await _read(admin, schema, sent.get("messages"))
    count = await admin.creation.partitions(topic, create=True)
    if count:
        found = await _by_partitions(admin, request, sent, messages, count=count, results="results")
        results = [_refused(each) if isinstance(each, Reply) else each for each in found]
        if all(isinstance(each, Reply) for each in found):
            raise Rejection(results[0]["status"], results[0]["reason"])
        return shown({"results": results})
    outcomes = await _published(admin, topic, messages, version, sent.get("producerName"))
    errors = [each for each in outcomes if isinstance(each, MagnetarError)]
    if len(errors) == len(outcomes):
        raise errors[0]
    return shown({"results": [_shown(topic, each) for each in outcomes]})


async def publish_as_pulsar(admin: MessageServices, request: Request) -> Reply:
    """The same in the words of Pulsar's REST producer: payloads are text, or JSON in a text."""
    topic, sent = arguments.topic(request), _sent(request, _PULSAR_FIELDS)
    schema, version = await _schema(admin, topic, sent.get("valueSchema"))
    found = sent.get("messages")
    messages = [_of_pulsar(each, schema) for each in found] if isinstance(found, list) else found
    outgoing = await _read(admin, schema, messages)
    number = 0 if version is None else version
    count = await admin.creation.partitions(topic, create=True)
    if count:
        results = [
            _pulsar_error(reason_of(each), each.status, number) if isinstance(each, Reply) else each
            for each in await _by_partitions(
                admin, request, sent, outgoing, count=count, results="messagePublishResults"
            )
        ]
    else:
        outcomes = await _published(admin, topic, outgoing, version, sent.get("producerName"))
        results = [_shown_to_pulsar(topic, each, number) for each in outcomes]
    return shown({"messagePublishResults": results, "schemaVersion": number})


async def _by_partitions(
    admin: MessageServices,
    request: Request,
    sent: dict[str, Any],
    messages: Sequence[Outgoing],
    *,
    count: int,
    results: str,
) -> list[Any]:
    """What the brokers of the partitions said of each message, or their refusal to all of them."""
    topic = arguments.topic(request)
    if any(each.sequence_id is not None for each in messages):
        raise NotAllowed(f"{topic} is partitioned: send sequence ids to one of its partitions")
    names = [_partition_of(topic, each, index, count) for index, each in enumerate(messages)]
    found: list[Any] = [None] * len(names)
    for name in dict.fromkeys(names):
        chosen = [index for index, each in enumerate(names) if each == name]
        part = {**sent, "messages": [sent["messages"][index] for index in chosen]}
        asked = replace(of_partition(request, name), body=json.dumps(part).encode())
        reply = await admin.owners.ask(name, asked)
        refused = reply.status >= 400
        said = [reply] * len(chosen) if refused else json.loads(reply.body)[results]
        for index, each in zip(chosen, said, strict=True):
            found[index] = each
    return found


def _refused(reply: Reply) -> dict[str, Any]:
    return {"reason": reason_of(reply), "status": reply.status}


def _shown_to_pulsar(topic: TopicName, outcome: Outcome, version: int) -> dict[str, Any]:
    if isinstance(outcome, MagnetarError):
        return _pulsar_error(str(outcome), status_of(outcome), version)
    if outcome is None:
        return _pulsar_error("It was stored before", 0, version)
    place = f"{outcome.ledger_id}:{outcome.entry_id}:{topic.partition_index}"
    return {"messageId": place, "errorCode": 0, "schemaVersion": version}


def _pulsar_error(text: str, code: int, version: int) -> dict[str, Any]:
    return {"errorCode": code, "error": text, "schemaVersion": version}


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
    admin: MessageServices, topic: TopicName, declared: Any = None
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
            400, 'valueSchema is a text with JSON, as {"type": "STRING", "schema": ""}'
        ) from None


async def _read(admin: MessageServices, schema: SchemaInfo | None, messages: Any) -> list[Outgoing]:
    """Messages as they will be sent; in a thread, as values are encoded.

    Raises Rejection, MessageTooLarge.
    """

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
        found = await in_thread(reading.all, messages)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    for index, message in enumerate(found):
        if (size := len(message.entry("", 0, 0, None))) > admin.message_size_max:
            raise MessageTooLarge(
                f"messages[{index}] has {size} bytes: at most {admin.message_size_max} are taken "
                "(maxMessageSize)"
            )
    return found


async def _published(
    admin: MessageServices,
    name: TopicName,
    messages: Sequence[Outgoing],
    version: int | None,
    producer: str | None,
) -> list[Outcome]:
    """What became of each message of one topic, or partition."""
    sent = [(each, version_bytes(version) or None) for each in messages]
    return await publish_here(admin.topics, admin.clock, name, sent, name=producer)


def _partition_of(topic: TopicName, message: Outgoing, index: int, count: int) -> TopicName:
    """Where a client in Java sends it: by its key; without one, to each partition in turn."""
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
SERVICES: Final = MessageServices
ROUTES: Final = tuple(
    Route("POST", path, handler, Access.PRODUCE, AtOwner(), takes=(JSON,))
    for path, handler in (
        (f"/admin/v2/persistent/{_ONE}/messages", publish),
        (f"/admin/v2/non-persistent/{_ONE}/messages", publish),
        (f"/topics/persistent/{_ONE}", publish_as_pulsar),
    )
)
