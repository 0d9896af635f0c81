"""Messages as the application sends and receives them. Pure."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypedDict, cast

from magnetar.errors import InvalidValue
from magnetar.message.batch import Single, parse_single
from magnetar.message.metadata import EncryptedKey, Metadata
from magnetar.model.position import MessageId, Position

from .checks import (
    check_bytes,
    check_flag,
    check_key,
    check_number,
    check_text,
    copy_properties,
    whole_number,
)
from .schemas.schema import Schema, T, T_co

Buffer: TypeAlias = bytearray | memoryview
"""It is taken for bytes too: copied once, by the call that sends it."""

DELAY_S_MAX: Final = 3_153_600_000
"""No message is delayed for longer than a century."""


Settled = Callable[[MessageId | None, Exception | None], None]
"""Gets a message's id once it is stored, or why it failed."""


class MessageDetails(TypedDict, total=False):
    """What a message may have beside its payload: the keyword arguments of every call that sends.

    A key in bytes is written as base64, as Pulsar's other clients do. ``ordering_key`` takes the
    key's place where a Key_Shared subscription shares messages out. ``event_time_ms`` is the
    application's own time, milliseconds since the epoch. ``sequence_id`` must rise from message
    to message; leave it out to have the producer count. Shared and Key_Shared subscriptions deliver
    a message with ``deliver_after_s``, or ``deliver_at_ms`` since the epoch, when that is over.
    With ``null_value`` it has no value: where its topic is compacted, that removes its key.
    ``replication_clusters`` names those that shall get it, () none but this one; None leaves that
    to the namespace's policy.
    ``schema_version`` says that the value is a payload in bytes that was encoded before, by a
    schema that the topic has under this number: see ``Producer.register_schema``.
    """

    key: str | bytes | None
    ordering_key: bytes | None
    properties: Mapping[str, str] | None
    event_time_ms: int | None
    sequence_id: int | None
    deliver_after_s: float | None
    deliver_at_ms: int | None
    null_value: bool
    replication_clusters: Sequence[str] | None
    schema_version: int | None


@dataclass(slots=True)
class OutgoingMessage(Generic[T]):
    """A message to send that is more than its value. ``MessageDetails`` explains the fields."""

    value: T | Buffer  # The payload in bytes; what the producer's schema takes, when it has one.
    key: str | bytes | None = None
    ordering_key: bytes | None = None
    properties: Mapping[str, str] | None = None
    event_time_ms: int | None = None
    sequence_id: int | None = None
    deliver_after_s: float | None = None
    deliver_at_ms: int | None = None
    null_value: bool = False
    replication_clusters: Sequence[str] | None = None
    schema_version: int | None = None
    on_settled: Settled | None = None  # Called once it is stored or has failed; of interceptors.

    @property
    def alone(self) -> bool:
        """It says of itself what only a message outside a batch can.

        That is a delay, its clusters, or a schema that is not its producer's.
        """
        return (
            self.deliver_after_s is not None
            or self.deliver_at_ms is not None
            or self.replication_clusters is not None
            or self.schema_version is not None
        )

    def due_ms(self, now_ms: int) -> int | None:
        """When it is to be delivered if it is sent now; None: at once."""
        if self.deliver_after_s is None:
            return self.deliver_at_ms
        return now_ms + round(self.deliver_after_s * 1000)

    @property
    def more_size(self) -> int:
        """The bytes it counts beside its payload: its keys and properties."""
        size = len(self.key or "") + len(self.ordering_key or b"")
        if self.properties:
            size += sum(len(name) + len(value) for name, value in self.properties.items())
        return size

    def checked(self, data: bytes) -> "OutgoingMessage | None":
        """Check and copy it, so that the application cannot change it; None for just a payload.

        ``data`` is the payload, which is left to the queue. Raises InvalidValue.
        """
        key, properties = self.key, self.properties
        event_time_ms, sequence_id = self.event_time_ms, self.sequence_id
        if (
            key is None
            and properties is None
            and self.ordering_key is None
            and event_time_ms is None
            and sequence_id is None
            and not self.null_value
            and not self.alone
            and self.on_settled is None
        ):
            return None
        if type(key) is not str or not key.isascii():
            check_key(key)
        if self.ordering_key is not None:
            check_bytes("ordering_key", self.ordering_key)
        if properties is not None:
            properties = copy_properties("properties", properties)
        if event_time_ms is not None:
            event_time_ms = whole_number("event_time_ms", event_time_ms)
        if sequence_id is not None:
            sequence_id = whole_number("sequence_id", sequence_id)
        if self.schema_version is not None:
            whole_number("schema_version", self.schema_version)
        return OutgoingMessage(
            data,
            key,
            self.ordering_key,
            properties,
            event_time_ms,
            sequence_id,
            *self._checked_delay(),
            self._checked_null_value(data),
            self._checked_clusters(),
            self.schema_version,
            self.on_settled,
        )

    def _checked_null_value(self, data: bytes) -> bool:
        check_flag("null_value", self.null_value)
        if self.null_value and data:
            raise InvalidValue("null_value is set, and there is a value: send b'' with it")
        return self.null_value

    def _checked_clusters(self) -> Sequence[str] | None:
        given = self.replication_clusters
        if given is None:
            return None
        if isinstance(given, str):
            raise InvalidValue("replication_clusters are several names: put the one into a list")
        for name in given:
            check_text("a name in replication_clusters", name)
        return tuple(given)

    def _checked_delay(self) -> tuple[float | None, int | None]:
        after_s, at_ms = self.deliver_after_s, self.deliver_at_ms
        if after_s is not None:
            check_number("deliver_after_s", after_s, most=DELAY_S_MAX)
            if at_ms is not None:
                raise InvalidValue("deliver_after_s and deliver_at_ms are both set: leave one out")
        if at_ms is not None:
            at_ms = whole_number("deliver_at_ms", at_ms)
        return after_s, at_ms


_NO_DETAILS: Final[MessageDetails] = {}

BeforeSend = Callable[[OutgoingMessage[Any]], OutgoingMessage[Any]]


def outgoing(
    value: T | Buffer | OutgoingMessage[T], details: MessageDetails
) -> T | Buffer | OutgoingMessage[T]:
    """Join the arguments of a call that sends into one value. Raises InvalidValue."""
    if not details:
        return value
    if isinstance(value, OutgoingMessage):
        raise InvalidValue(f"{', '.join(details)}: an OutgoingMessage has its own; set them there")
    return OutgoingMessage(value, **details)


def prepare(
    value: T | Buffer | OutgoingMessage[T],
    details: MessageDetails = _NO_DETAILS,
    schema: Schema[T] | None = None,
    before_send: BeforeSend | None = None,
) -> tuple[bytes, OutgoingMessage | None]:
    """Return the payload, and the message if it has more than that. Raises InvalidValue.

    Every message that is sent comes through here, whatever call sends it: this is where a schema
    encodes its value, and before that ``before_send`` may change it, which gives a message that is
    told how it ends. Without a schema values are bytes.
    """
    value = outgoing(value, details)
    if before_send is not None:
        value = before_send(value if isinstance(value, OutgoingMessage) else OutgoingMessage(value))
        try:
            return prepare(value, schema=schema)
        except Exception as error:
            not_sent(value, error)
            raise
    if isinstance(value, OutgoingMessage) and value.schema_version is not None:
        schema = None
    plain = value.value if isinstance(value, OutgoingMessage) else value
    if isinstance(value, OutgoingMessage) and value.null_value and not plain:
        return b"", value.checked(b"")  # Its key, if any, is the application's.
    data = _data(plain, schema)
    message = value.checked(data) if isinstance(value, OutgoingMessage) else None
    if schema is not None:
        key = schema.encode_key(cast("T", plain))
        if key is not None:
            message = message or OutgoingMessage(data)
            if message.key is not None:
                raise InvalidValue("key: the schema takes it from the value; leave it out")
            message.key = key
    return data, message


def not_sent(message: bytes | Buffer | OutgoingMessage[Any] | None, error: Exception) -> None:
    """Tell who wants to know how this message ends that it was refused."""
    if isinstance(message, OutgoingMessage) and message.on_settled is not None:
        message.on_settled(None, error)


def prepare_many(
    values: Iterable[T | Buffer | OutgoingMessage[T]],
    schema: Schema[T] | None = None,
    before_send: BeforeSend | None = None,
) -> Sequence[bytes | Buffer | OutgoingMessage]:
    """Return the messages, their values encoded. Raises InvalidValue, also as ``many``."""
    values = many(values)
    if schema is None and before_send is None:
        given = values if isinstance(values, list | tuple) else list(values)
        return cast("Sequence[bytes | Buffer | OutgoingMessage]", given)
    found = []
    try:
        for value in values:
            data, message = prepare(value, _NO_DETAILS, schema, before_send)
            found.append(message or data)
    except Exception as error:
        for refused in found:
            not_sent(refused, error)
        raise
    return found


def many(
    values: Iterable[T | Buffer | OutgoingMessage[T]],
) -> Iterable[T | Buffer | OutgoingMessage[T]]:
    """Return ``values``. Raises InvalidValue for a single message, and what is not iterable."""
    kind = type(values).__name__
    if isinstance(values, bytes | bytearray | memoryview | str | OutgoingMessage):
        raise InvalidValue(f"many messages are wanted, not one: put the {kind} into a list")
    if not isinstance(values, Iterable):
        raise InvalidValue(
            f"many messages are wanted, as a list or another iterable, not {kind}; of an "
            "asynchronous one, send a list of what has come, again and again"
        )
    return values


def _data(value: T | Buffer, schema: Schema[T] | None) -> bytes:
    """The payload; the queue refuses what is none."""
    if schema is not None:
        return schema.encode(cast("T", value))
    if type(value) is not bytes and isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return cast("bytes", value)


class ChunkedMessageId(MessageId):
    """The id of a message that was split: the id of its last entry, and the place of the first.

    It equals, sorts and prints as the plain id of the last entry.
    """

    first_chunk: Position
    chunks: tuple[Position, ...]  # All entries of a received message; () for one that was sent.

    @classmethod
    def of(
        cls,
        ledger_id: int,
        entry_id: int,
        partition: int,
        *,
        first_chunk: Position,
        chunks: tuple[Position, ...] = (),
    ) -> "ChunkedMessageId":
        made = cls(ledger_id, entry_id, partition)
        made.first_chunk, made.chunks = first_chunk, chunks
        return made


class TopicMessageId(MessageId):
    """The id of a message with the name of its topic: for a consumer that has several."""

    topic: str

    @classmethod
    def of(cls, message_id: MessageId, topic: str) -> "TopicMessageId":
        """``topic`` is the full name, of a partition that of the partition."""
        made = cls(*message_id)
        made.topic = topic
        return made


@dataclass(frozen=True, slots=True)
class EncryptionContext:
    """How a message was encrypted: what it takes to decrypt it.

    When it could not be decrypted (``decrypted`` is False), ``Message.data`` is the payload of its
    whole entry: to be decrypted with one of the keys, then decompressed, then taken apart into
    ``batch_size`` messages if it is a batch.
    """

    keys: tuple[EncryptedKey, ...]
    param: bytes  # The initialisation vector of AES-GCM.
    algorithm: str
    compression: int  # A CompressionType.
    uncompressed_size: int
    batch_size: int  # 0 when the entry is no batch.
    decrypted: bool


@dataclass(slots=True, eq=False)
class Delivery:
    """One entry as it reached a consumer. The messages in it share it."""

    topic: str
    position: Position
    partition: int  # -1 on a topic without partitions.
    batch_size: int  # 0 when the entry is no batch.
    metadata: Metadata
    redelivery_count: int
    redelivered: bool
    chunks: tuple[Position, ...] = ()  # All entries of a message that was split.
    decode: "Decode | None" = None  # To the value; None: it is ``data``.
    decrypted: bool = True  # False: the payload is that of the entry, as it came.


Decode = Callable[["Message[Any]"], object]


class Message(NamedTuple, Generic[T_co]):
    """A received message. ``value`` is what was sent, ``data`` the bytes of it.

    It is a tuple, because making one must cost next to nothing.
    """

    delivery: Delivery
    batch_index: int  # 0-based; -1 outside a batch.
    head: bytes  # The metadata of this message in its batch; b"" outside a batch.
    data: bytes

    @property
    def value(self) -> T_co:
        """What was sent: ``data``, decoded by the schema with each access. Keep what you get.

        None when there is none (``null_value``). Raises UndecodableValue.
        """
        decode = self.delivery.decode
        if not self.data and self.null_value:
            return cast("T_co", None)
        return cast("T_co", self.data if decode is None else decode(self))

    @property
    def schema_version(self) -> int | None:
        """The version of the topic's schema that it was sent with; None if it names none."""
        version = self.delivery.metadata.schema_version
        return int.from_bytes(version) if version else None

    @property
    def message_id(self) -> MessageId:
        delivery = self.delivery
        ledger_id, entry_id = delivery.position
        if delivery.chunks:
            return ChunkedMessageId.of(
                ledger_id,
                entry_id,
                delivery.partition,
                first_chunk=delivery.chunks[0],
                chunks=delivery.chunks,
            )
        return MessageId(
            ledger_id, entry_id, delivery.partition, self.batch_index, delivery.batch_size
        )

    @property
    def topic(self) -> str:
        """The topic's full name; of a partition, the partition's."""
        return self.delivery.topic

    @property
    def partition(self) -> int:
        """The partition's index, -1 on a topic without partitions."""
        return self.delivery.partition

    @property
    def key(self) -> str | None:
        """The key as text; base64 when it was sent as bytes (see ``key_bytes``)."""
        return self._own().key

    @property
    def key_bytes(self) -> bytes | None:
        """The key as bytes: as they were sent, or the text in UTF-8."""
        own = self._own()
        if own.key is None:
            return None
        return b64decode(own.key) if own.key_b64 else own.key.encode()

    @property
    def key_as_sent(self) -> str | bytes | None:
        """The key, as text or as bytes, whichever it was sent as."""
        own = self._own()
        return self.key_bytes if own.key_b64 else own.key

    @property
    def ordering_key(self) -> bytes | None:
        return self._own().ordering_key

    @property
    def null_value(self) -> bool:
        """It has no value: where its topic is compacted, that removes its key."""
        return self._own().null_value

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._own().properties)

    @property
    def event_time_ms(self) -> int | None:
        """The application's own time, milliseconds since the epoch; None when not set."""
        return self._own().event_time_ms

    @property
    def publish_time_ms(self) -> int:
        """When the producer sent it, milliseconds since the epoch by the producer's clock."""
        return self.delivery.metadata.publish_time_ms

    @property
    def producer_name(self) -> str:
        return self.delivery.metadata.producer_name

    @property
    def sequence_id(self) -> int:
        """The number that its producer gave it."""
        own = self._own().sequence_id
        return self.delivery.metadata.sequence_id + self.batch_index if own is None else own

    @property
    def encryption_context(self) -> EncryptionContext | None:
        """How it was encrypted; None when it was not."""
        metadata = self.delivery.metadata
        if metadata.encryption is None:
            return None
        return EncryptionContext(
            metadata.encryption.keys,
            metadata.encryption.param,
            metadata.encryption.algorithm,
            metadata.compression,
            metadata.uncompressed_size,
            metadata.message_count if metadata.is_batch else 0,
            decrypted=self.delivery.decrypted,
        )

    @property
    def redelivery_count(self) -> int:
        """How often a Shared or Key_Shared subscription had delivered it before."""
        return self.delivery.redelivery_count

    @property
    def redelivered(self) -> bool:
        """Whether the application may have received it before, without acknowledging it."""
        return self.delivery.redelivered

    def __repr__(self) -> str:
        return f"Message({self.topic} {self.message_id}, {len(self.data)} bytes)"

    def _own(self) -> "Single | Metadata":
        return parse_single(self.head) if self.batch_index >= 0 else self.delivery.metadata


def entries_of(message: Message[Any] | MessageId) -> tuple[Position, ...]:
    """The entries that a message lies in: one, or one for each of its chunks."""
    if isinstance(message, Message):
        return message.delivery.chunks or (message.delivery.position,)
    if isinstance(message, ChunkedMessageId) and message.chunks:
        return message.chunks
    return (message.position,)
