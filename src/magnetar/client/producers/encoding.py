"""Turns messages into frames: packs, compresses, splits, encrypts them, and adds the metadata.

A message that does not fit into one entry, and may not be split, is refused here: a broker closes
the connection on a frame that is too large.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final, TypeVar, cast

from magnetar.client.encryption.data_keys import Encryptor
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import MessageTooLarge
from magnetar.inner.plain.batches import Single
from magnetar.message import batch as batches
from magnetar.message import chunk, entry, metadata
from magnetar.message.compression import CompressionType, compress
from magnetar.wire import requests
from magnetar.wire.schemas import version_bytes

from .batching import Batch, PackedBatch
from .pending import ChunkedSend, PendingSend

W = TypeVar("W")

FRAME_PADDING: Final = 10 * 1024  # Bytes a frame may have beyond the maximum message size.
FRAME_HEAD: Final = 96  # Sizes, command and checksum of a SEND, generously.
NO_CLUSTER: Final = "__local__"  # In place of the names of clusters: no other is to get it.
METADATA_RESERVE: Final = 256  # What a chunk adds to the metadata of its message.


class Encoder:
    """Makes the frames of one producer."""

    def __init__(
        self,
        producer_id: int,
        compression: CompressionType,
        *,
        chunking: bool,
        encryptor: Encryptor | None = None,
    ) -> None:
        self.producer_name = ""  # Known once the broker has answered; part of every entry.
        self.schema_version: bytes | None = None  # Likewise; None without a schema.
        self._producer_id = producer_id
        self._compression = compression
        self._chunking = chunking
        self._encryptor = encryptor

    def batch(self, batch: Batch[W], size_max: int, now_ms: int) -> PendingSend[W]:
        """Encode a batch as one entry of at most ``size_max`` bytes. Raises MessageTooLarge."""
        first = batch.packed or batch.details.get(0)
        packed = _packed(batch)
        payload, secret = compress(self._compression, packed), b""
        if self._encryptor is not None:
            payload, secret = self._encryptor.encrypt(payload)
        if len(payload) > size_max:
            raise MessageTooLarge(
                f"a batch of {len(batch)} messages takes {len(payload)} bytes, the broker takes "
                f"{size_max}: lower batch_bytes_max"
            )
        key, key_b64 = _wire_key(first)
        head = metadata.build(
            self.producer_name,
            batch.sequence_id,
            now_ms,
            highest_sequence_id=batch.last_sequence_id,
            message_count=len(batch),
            key=key,
            key_b64=key_b64,
            ordering_key=first.ordering_key if first else None,
            compression=self._compression,
            uncompressed_size=self._original_size(packed),
            schema_version=self.schema_version,
        )
        if batch.txn is not None:
            head += metadata.build_transaction(batch.txn)
        data = entry.join(head + secret, payload)
        self._check_frame(data, size_max)
        pieces = requests.send(
            self._producer_id,
            batch.sequence_id,
            data,
            entry.checksum(data),
            num_messages=len(batch),
            highest_sequence_id=batch.last_sequence_id,
            txn=batch.txn,
        )
        return PendingSend(
            batch.sequence_id,
            batch.last_sequence_id,
            pieces,
            len(batch),
            len(batch),
            batch.size_bytes,
            batch.deadline,
            batch.waiters,
        )

    def single(self, batch: Batch[W], size_max: int, now_ms: int) -> list[PendingSend[W]]:
        """Encode a single message as an entry, or as several when it has to be split.

        Raises MessageTooLarge.
        """
        message = batch.details.get(0)
        payload = compress(self._compression, batch.payloads[0])
        overhead = self._encryptor.tag_size if self._encryptor else 0
        if len(payload) + overhead > size_max:
            if not self._chunking:
                raise MessageTooLarge(
                    f"a message of {len(payload)} bytes, the broker takes {size_max}: "
                    "create the producer with chunking=True"
                )
            return self._chunks(batch, payload, size_max, now_ms)
        sequence_id = batch.first_sequence_id
        if message is None and self._compression is CompressionType.NONE and batch.txn is None:
            head = metadata.build(
                self.producer_name, sequence_id, now_ms, schema_version=self.schema_version
            )
        else:
            head = self._head(batch, now_ms, None)
        if self._encryptor is not None:
            payload, secret = self._encryptor.encrypt(payload)
            head += secret
        data = entry.join(head, payload)
        self._check_frame(data, size_max)
        pieces = requests.send(
            self._producer_id, sequence_id, data, entry.checksum(data), txn=batch.txn
        )
        return [
            PendingSend(
                sequence_id,
                sequence_id,
                pieces,
                1,
                0,
                batch.size_bytes,
                batch.deadline,
                batch.waiters,
            )
        ]

    def _chunks(
        self, batch: Batch[W], payload: bytes, size_max: int, now_ms: int
    ) -> list[PendingSend[W]]:
        sequence_id = batch.first_sequence_id
        uuid = f"{self.producer_name}-{sequence_id}"
        room = size_max - METADATA_RESERVE - (batch.size_bytes - len(batch.payloads[0]))
        if self._encryptor is not None:
            room -= self._encryptor.overhead
        if room <= 0:
            raise MessageTooLarge(
                f"the key and properties of a message leave no room in {size_max} bytes"
            )
        parts = chunk.split(payload, room)
        shared = ChunkedSend()
        sends: list[PendingSend[W]] = []
        for index, part in enumerate(parts):
            place = metadata.ChunkInfo(uuid, index, len(parts), len(payload))
            body, secret = part, b""
            if self._encryptor is not None:
                body, secret = self._encryptor.encrypt(part)
            data = entry.join(self._head(batch, now_ms, place) + secret, body)
            pieces = requests.send(
                self._producer_id,
                sequence_id,
                data,
                entry.checksum(data),
                is_chunk=True,
                txn=batch.txn,
            )
            sends.append(
                PendingSend(
                    sequence_id, sequence_id, pieces, 0, 0, 0, batch.deadline, chunked=shared
                )
            )
        last = sends[-1]
        last.message_count, last.size_bytes, last.waiters = 1, batch.size_bytes, batch.waiters
        return sends

    def _head(self, batch: Batch[W], now_ms: int, place: metadata.ChunkInfo | None) -> bytes:
        """Build the metadata of a message outside a batch, or of a chunk."""
        message = batch.details.get(0)
        key, key_b64 = _wire_key(message)
        version = self.schema_version
        if message is not None and message.schema_version is not None:
            version = version_bytes(message.schema_version)
        head = metadata.build(
            self.producer_name,
            batch.first_sequence_id,
            now_ms,
            key=key,
            key_b64=key_b64,
            ordering_key=message.ordering_key if message else None,
            properties=message.properties if message else None,
            event_time_ms=message.event_time_ms if message else None,  # type: ignore[arg-type]
            null_value=message.null_value if message else False,
            replicate_to=_clusters(message),
            deliver_at_ms=message.due_ms(now_ms) if message else None,
            compression=self._compression,
            uncompressed_size=self._original_size(batch.payloads[0]),
            chunk=place,
            schema_version=version,
        )
        return head if batch.txn is None else head + metadata.build_transaction(batch.txn)

    def _original_size(self, payload: bytes) -> int | None:
        # An empty message removes its key in a topic that Pulsar compacts only if it says so.
        told = self._compression is not CompressionType.NONE or not payload
        return len(payload) if told else None

    @staticmethod
    def _check_frame(data: bytes, size_max: int) -> None:
        if len(data) > size_max + FRAME_PADDING - FRAME_HEAD:
            raise MessageTooLarge(
                f"an entry of {len(data)} bytes with its keys and properties, the broker takes "
                f"{size_max + FRAME_PADDING - FRAME_HEAD}"
            )


def key_text(key: str | bytes | None) -> str | None:
    """Return the key as it is written and hashed: bytes as base64."""
    return b64encode(key).decode() if isinstance(key, bytes) else key


def _packed(batch: Batch[W]) -> bytes:
    if batch.packed is not None:
        return batch.packed.payload
    return batches.pack(
        batch.payloads, first_sequence_id=batch.first_sequence_id, details=_singles(batch)
    )


def _wire_key(message: OutgoingMessage | PackedBatch | None) -> tuple[str | None, bool]:
    key = message.key if message else None
    return key_text(key), isinstance(key, bytes)


def _clusters(message: OutgoingMessage | None) -> Sequence[str] | None:
    """What the metadata says of clusters: to say that there are none, it must name one."""
    if message is None or message.replication_clusters is None:
        return None
    return message.replication_clusters or [NO_CLUSTER]


def _singles(batch: Batch[W]) -> dict[int, Single]:
    singles = {}
    for index, message in batch.details.items():
        key, key_b64 = _wire_key(message)
        singles[index] = Single(
            key,
            key_b64,
            message.ordering_key,
            cast("dict[str, str]", message.properties or {}),  # As ``checked`` copied them.
            message.event_time_ms,  # type: ignore[arg-type]  # The same.
            message.sequence_id,
            message.null_value,
        )
    return singles
