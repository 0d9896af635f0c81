"""The messages of an entry, one by one: unpacked and decompressed, as far as anybody can. Pure."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

from magnetar.errors import CorruptEntry, MessageTooLarge
from magnetar.late_dataclass import dataclass
from magnetar.message import batch, compression, metadata
from magnetar.message.compression import CompressionType
from magnetar.message.keys import decoded_key
from magnetar.message.metadata import ChunkInfo, Metadata, Peek
from magnetar.model.position import Position, signed

UNPACKED_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of a payload; what is larger is shown without its content, or its batch as one message."""


@dataclass(slots=True)
class StoredMessage:
    """A message as it is stored. ``payload`` is None where ``unreadable`` says why."""

    position: Position
    batch_index: int = -1  # -1 outside a batch.
    batch_size: int = 0
    publish_time_ms: int = 0
    event_time_ms: int | None = None
    producer: str = ""
    sequence_id: int = 0
    key: str | None = None
    key_b64: bool = False  # The key is bytes, as base64.
    ordering_key: bytes | None = None
    properties: dict[str, str] = field(default_factory=dict)
    payload: bytes | None = None
    size: int = 0  # Of the payload, as it is stored where nobody can read it.
    null_value: bool = False
    schema_version: bytes | None = None
    compression: int = 0
    encryption_keys: tuple[str, ...] = ()
    chunk: ChunkInfo | None = None
    chunks: tuple[Position, ...] = ()  # Where all chunks are, of a message that was put together.
    uncompressed_size: int = 0  # As its metadata says.
    deliver_at_ms: int | None = None
    replicated_from: str | None = None
    transaction: tuple[int, int] | None = None
    marker_type: int | None = None
    unreadable: str = ""

    @property
    def data(self) -> bytes:
        return self.payload or b""

    @property
    def key_bytes(self) -> bytes | None:
        """The key as a schema of keys and values reads it."""
        if self.key is None:
            return None
        key = self.key.encode()
        return decoded_key(key) if self.key_b64 else key

    @property
    def id(self) -> tuple[int, int, int]:
        return *self.position, self.batch_index


def messages_in(position: Position, entry: bytes) -> Iterator[StoredMessage]:
    """The messages of an entry, in order; those that compaction took out are left out.

    What nobody can look into is one message that says why.
    """
    try:
        said, more = metadata.parse(entry), metadata.peek(entry)
    except CorruptEntry as error:
        yield StoredMessage(position, size=len(entry), unreadable=str(error))
        return
    whole = _whole(position, entry, said, more)
    if said.encryption is not None:
        whole.unreadable = f"encrypted for {', '.join(whole.encryption_keys)}"
    elif said.chunk is not None:
        whole.unreadable = (
            f"chunk {said.chunk.index + 1} of {said.chunk.count} of a message of "
            f"{said.chunk.total_size} bytes"
        )
        whole.payload = entry[said.payload_start :]
    else:
        try:
            payload = compression.decompress(
                said.compression,
                memoryview(entry)[said.payload_start :],
                said.uncompressed_size,
                size_max=UNPACKED_BYTES_MAX,
            )
            if said.is_batch:
                yield from _singles(whole, said, payload)
                return
            whole.payload, whole.size = payload, len(payload)
        except (CorruptEntry, MessageTooLarge) as error:
            whole.unreadable = str(error)
    if said.is_batch:
        whole.batch_size = said.message_count
    yield whole


def plain_batch(position: Position, entry: bytes) -> StoredMessage | None:
    """A batch whose messages lie there as they are, as if it were one of them; None for another."""
    try:
        said = metadata.parse(entry)
    except CorruptEntry:
        return None
    if not said.is_plain_batch:
        return None
    return StoredMessage(
        position, batch_size=said.message_count, publish_time_ms=said.publish_time_ms
    )


def _whole(position: Position, entry: bytes, said: Metadata, more: Peek) -> StoredMessage:
    encryption = said.encryption
    return StoredMessage(
        position,
        publish_time_ms=said.publish_time_ms,
        event_time_ms=said.event_time_ms or None,
        producer=said.producer_name,
        sequence_id=signed(said.sequence_id),
        key=said.key,
        key_b64=said.key_b64,
        ordering_key=said.ordering_key,
        properties=said.properties,
        size=len(entry) - said.payload_start,
        null_value=said.null_value,
        schema_version=said.schema_version,
        compression=said.compression,
        encryption_keys=tuple(key.name for key in encryption.keys) if encryption else (),
        chunk=said.chunk,
        uncompressed_size=said.uncompressed_size,
        deliver_at_ms=more.deliver_at_ms,
        replicated_from=more.replicated_from,
        transaction=more.transaction,
        marker_type=more.marker_type,
    )


def _singles(whole: StoredMessage, said: Metadata, payload: bytes) -> Iterator[StoredMessage]:
    heads, bodies = batch.unpack(payload, said.message_count)
    for index, (head, body) in enumerate(zip(heads, bodies, strict=True)):
        single = batch.parse_single(head)
        if single.compacted_out:
            continue
        yield StoredMessage(
            whole.position,
            index,
            said.message_count,
            whole.publish_time_ms,
            single.event_time_ms or None,
            whole.producer,
            signed(whole.sequence_id + index if single.sequence_id is None else single.sequence_id),
            single.key,
            single.key_b64,
            single.ordering_key,
            single.properties,
            body,
            len(body),
            single.null_value,
            whole.schema_version,
            whole.compression,
            deliver_at_ms=whole.deliver_at_ms,
            replicated_from=whole.replicated_from,
            transaction=whole.transaction,
        )


def compression_name(number: int) -> str:
    """How a payload was compressed."""
    return CompressionType(number).name if number in {*CompressionType} else str(number)


def id_json(message: StoredMessage, partition: int) -> dict[str, Any]:
    """A message's id, as the admin API writes those."""
    ledger_id, entry_id, batch_index = message.id
    return {
        "ledgerId": ledger_id,
        "entryId": entry_id,
        "partitionIndex": partition,
        "batchIndex": batch_index,
    }
