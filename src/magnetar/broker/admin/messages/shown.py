"""Messages as JSON: ids, what they say of themselves, and their values by the topic's schema."""

from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import Any, Final

from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.threads import imported, in_thread
from magnetar.errors import MagnetarError, SchemaNotFound, UndecodableValue
from magnetar.model.names import TopicName
from magnetar.wire.schemas import version_number

from .stored import StoredMessage, compression_name, id_json

PAYLOAD_BYTES_MAX: Final = 1024 * 1024
"""Of a message that is shown; of what is larger the beginning, and no value."""
INLINE_BYTES: Final = 16 * 1024
"""Larger payloads are decoded in a thread."""

Shower = Callable[[StoredMessage], Any]


class ShownMessages:
    """Shows messages of one topic. It keeps the schemas it met, and is for one request."""

    def __init__(self, topic: TopicName, registry: SchemaRegistry) -> None:
        self._topic = topic
        self._registry = registry
        self._showers: dict[bytes, Shower | MagnetarError] = {}

    async def all(self, messages: Iterable[StoredMessage]) -> list[dict[str, Any]]:
        return [await self.one(each) for each in messages]

    async def one(self, message: StoredMessage) -> dict[str, Any]:
        """A message; where its value cannot be read, ``valueError`` says why."""
        answer = self._said(message)
        value, problem = await self._value(message)
        answer["value"] = value
        if problem:
            answer["valueError"] = problem
        return answer

    def _said(self, message: StoredMessage) -> dict[str, Any]:
        payload = None if message.payload is None else message.payload[:PAYLOAD_BYTES_MAX]
        version = message.schema_version
        answer: dict[str, Any] = {
            "id": id_json(message, self._topic.partition_index),
            "publishTime": message.publish_time_ms,
            "eventTime": message.event_time_ms,
            "producer": message.producer,
            "sequenceId": message.sequence_id,
            "key": message.key,
            "orderingKey": _base64(message.ordering_key),
            "properties": message.properties,
            "schemaVersion": version_number(version) if version and len(version) == 8 else None,
            "size": message.size,
            "payload": _base64(payload),
        }
        chunk, transaction = message.chunk, message.transaction
        more = {
            "keyBase64": message.key_b64,
            "batchSize": message.batch_size,
            "nullValue": message.null_value,
            "payloadTruncated": len(message.data) > PAYLOAD_BYTES_MAX,
            "compression": message.compression and compression_name(message.compression),
            "encryptionKeys": list(message.encryption_keys),
            "chunk": chunk
            and {
                "uuid": chunk.uuid,
                "index": chunk.index,
                "count": chunk.count,
                "totalSize": chunk.total_size,
            },
            "chunks": [
                id_json(StoredMessage(each), self._topic.partition_index) for each in message.chunks
            ],
            "deliverAt": message.deliver_at_ms,
            "replicatedFrom": message.replicated_from,
            "transaction": transaction and f"({transaction[0]},{transaction[1]})",
            "marker": message.marker_type,
        }
        return answer | {name: value for name, value in more.items() if value}

    async def _value(self, message: StoredMessage) -> tuple[Any, str]:
        if message.unreadable or message.payload is None:
            return None, message.unreadable
        if message.null_value:
            return None, ""
        if len(message.payload) > PAYLOAD_BYTES_MAX:
            return None, f"{len(message.payload)} bytes are not decoded here"
        try:
            show = await self._shower(message.schema_version)
            if len(message.payload) > INLINE_BYTES:
                return await in_thread(show, message), ""
            return show(message), ""
        except MagnetarError as error:
            return None, str(error)

    async def _shower(self, version: bytes | None) -> Shower:
        """Raises UndecodableValue, SchemaNotFound."""
        known = self._showers.get(version or b"")
        if known is None:
            try:
                known = await self._made(version)
            except MagnetarError as error:
                known = error
            self._showers[version or b""] = known
        if isinstance(known, MagnetarError):
            raise known
        return known

    async def _made(self, version: bytes | None) -> Shower:
        if not version:
            return _text
        if len(version) != 8:
            raise SchemaNotFound(f"its schema's version is not Pulsar's: {version.hex()}")
        number = version_number(version)
        found = await self._registry.version(self._topic, number)
        # It brings the libraries of the schemas along.
        made: Callable[[Any], Shower] = (await imported("magnetar.schemas.plain")).shower_of
        return await in_thread(made, found.schema)


def _text(message: StoredMessage) -> str:
    try:
        return message.data.decode()
    except UnicodeDecodeError:
        raise UndecodableValue(
            "it was sent without a schema, and is no text: look at the payload"
        ) from None


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()
