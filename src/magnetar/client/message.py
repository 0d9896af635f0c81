"""Messages as the application receives them. Pure."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, cast

from magnetar.errors import AlreadyClosed, NotAllowed
from magnetar.inner.plain.batches import Single
from magnetar.message.batch import parse_single
from magnetar.message.keys import decoded_key
from magnetar.message.metadata import EncryptedKey, Metadata
from magnetar.model.position import ChunkedMessageId, MessageId, Position
from magnetar.schemas.schema import T_co


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
    """One entry as it reached a consumer. The messages in it share it.

    It holds nothing that messages are held by: the collector of garbage does not know of these.
    """

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
    holder: "Callable[[], Any] | None" = None  # Returns the consumer or reader, or None any more.


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

    def ack(self) -> Awaitable[None]:
        """Acknowledge it, as ``acknowledge`` of the consumer that it came from.

        What it returns need not be awaited, and is None in the blocking client. Raises NotAllowed
        for what a reader received, and as ``Consumer.acknowledge``.
        """
        acknowledged: Awaitable[None] = self._consumer().acknowledge(self)
        return acknowledged

    def nack(self) -> None:
        """Have it come again, as ``negative_acknowledge`` of its consumer. Raises as ``ack``."""
        self._consumer().negative_acknowledge(self)

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
        """The key as bytes: as they were sent, or the text in UTF-8.

        A key that claims to be base64 and is not comes as it is.
        """
        own = self._own()
        if own.key is None:
            return None
        return decoded_key(own.key.encode()) if own.key_b64 else own.key.encode()

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
        """Whether it has no value, which removes its key where its topic is compacted."""
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

    def _consumer(self) -> Any:
        holder = self.delivery.holder
        consumer = None if holder is None else holder()
        if holder is not None and consumer is None:
            raise AlreadyClosed(f"the consumer of {self.topic} is closed")
        if not hasattr(consumer, "acknowledge"):
            raise NotAllowed(f"{self} is not of a consumer: what readers get needs no ack")
        return consumer

    def _own(self) -> "Single | Metadata":
        return parse_single(self.head) if self.batch_index >= 0 else self.delivery.metadata


def entries_of(message: Message[Any] | MessageId) -> tuple[Position, ...]:
    """The entries that a message lies in: one, or one for each of its chunks."""
    if isinstance(message, Message):
        return message.delivery.chunks or (message.delivery.position,)
    if isinstance(message, ChunkedMessageId) and message.chunks:
        return message.chunks
    return (message.position,)
