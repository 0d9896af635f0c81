"""Messages as ``pulsar-client`` hands them out: every property is a method."""

from dataclasses import dataclass, field
from typing import Any

from magnetar.client.message import Message as OurMessage
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import CorruptEntry
from magnetar.message.batch import parse_single, unpack

from .crypto import EncryptionContext
from .enums import Result
from .errors import exception
from .message_id import MessageId
from .schema.schema import BytesSchema, Schema


class Message:
    """A received message. ``value()`` is what the consumer's schema makes of its bytes."""

    _message: "OurMessage | Unreceived"
    _schema: Schema

    def data(self) -> bytes:
        """The payload."""
        return self._message.data

    def value(self) -> Any:
        """The payload as the schema decodes it."""
        return self._schema.decode_message(self)

    def decoded(self) -> Any:
        """The value as our client decodes it: by the schema that the message was written with."""
        message = self._message
        return (
            self._schema.decode(message.data) if isinstance(message, Unreceived) else message.value
        )

    def properties(self) -> dict[str, str]:
        return self._message.properties

    def partition_key(self) -> str:
        """The key; "" when it has none."""
        return self._message.key or ""

    def ordering_key(self) -> str:
        """The ordering key; "" when it has none."""
        return (self._message.ordering_key or b"").decode(errors="surrogateescape")

    def publish_timestamp(self) -> int:
        """When it was sent, milliseconds since the epoch."""
        return self._message.publish_time_ms

    def event_timestamp(self) -> int:
        """The application's own time, milliseconds since the epoch; 0 when not set."""
        return self._message.event_time_ms or 0

    def message_id(self) -> MessageId:
        if isinstance(self._message, Unreceived):
            return self._message.message_id
        return MessageId._of(self._message.message_id, self._message)

    def topic_name(self) -> str:
        """The full name of its topic, or of the partition."""
        return self._message.topic

    def redelivery_count(self) -> int:
        return self._message.redelivery_count

    def producer_name(self) -> str:
        return self._message.producer_name

    def schema_version(self) -> str:
        """The version of its schema, eight bytes as text; "" when it has none."""
        version = self._message.schema_version
        return "" if version is None else version.to_bytes(8).decode(errors="surrogateescape")

    def int_schema_version(self) -> int:
        """The version of its schema as a number; -1 when it has none."""
        version = self._message.schema_version
        return -1 if version is None else version

    def has_null_value(self) -> bool:
        """Whether it has no value: what deletes its key where a topic is compacted."""
        return self._message.null_value

    def encryption_context(self) -> EncryptionContext | None:
        """How it was encrypted; None when it was not."""
        context = self._message.encryption_context
        return None if context is None else EncryptionContext(context)

    @staticmethod
    def _wrap(_message: "OurMessage | Unreceived") -> "Message":
        return wrapped(_message, BytesSchema())


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreceived:
    """The content of a Message that no consumer received: one to send, or one of a batch."""

    data: bytes
    message_id: MessageId = MessageId.earliest
    key: str | None = None
    ordering_key: bytes | None = None
    properties: dict[str, str] = field(default_factory=dict)
    event_time_ms: int | None = None
    publish_time_ms: int = 0
    topic: str = ""
    redelivery_count: int = 0
    producer_name: str = ""
    null_value: bool = False
    schema_version: None = None
    encryption_context: None = None


def sent(message: OutgoingMessage) -> Message:
    """The message that a router is asked about."""
    key = message.key
    return wrapped(
        Unreceived(
            data=bytes(message.value),
            key=key.decode() if isinstance(key, bytes) else key,
            ordering_key=message.ordering_key,
            properties=dict(message.properties or {}),
            event_time_ms=message.event_time_ms,  # type: ignore[arg-type]  # It was checked.
            null_value=message.null_value,
        ),
        BytesSchema(),
    )


def wrapped(message: OurMessage | Unreceived, schema: Schema) -> Message:
    """The message for the application."""
    made = Message()
    made._message, made._schema = message, schema
    return made


class MessageBatch:
    """Takes the payload of a batch apart that was not received by a consumer."""

    def __init__(self) -> None:
        self._id = MessageId()

    def with_message_id(self, msg_id: MessageId) -> "MessageBatch":
        """Say which entry it is. Raises TypeError for anything but an id."""
        if not isinstance(msg_id, MessageId):
            raise TypeError("unknown message id type")
        self._id = msg_id
        return self

    def parse_from(self, data: bytes, size: int) -> list[Message]:
        """The messages of a batch of ``size``. Raises a PulsarException for what is none."""
        try:
            heads, bodies = unpack(data, size)
            singles = [parse_single(head) for head in heads]
        except CorruptEntry as error:
            raise exception(Result.InvalidMessage, error) from error
        ledger_id, entry_id, partition, _, _ = self._id._id
        return [
            wrapped(
                Unreceived(
                    data=body,
                    message_id=MessageId(partition, ledger_id, entry_id, index),
                    key=single.key,
                    ordering_key=single.ordering_key,
                    properties=dict(single.properties),
                    event_time_ms=single.event_time_ms,
                    null_value=single.null_value,
                ),
                BytesSchema(),
            )
            for index, (single, body) in enumerate(zip(singles, bodies, strict=True))
        ]
