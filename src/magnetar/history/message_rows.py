"""Entries to the rows of their messages, and to what is needed to make them again. Pure.

The rows are those of ``format("pulsar")`` in Spark: ``SCHEMA`` is its schema, and a message's row
is equal to the one that a read through the broker has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from magnetar import inner
from magnetar.errors import CorruptEntry, MessageTooLarge
from magnetar.inner.plain.batches import Single
from magnetar.inner.plain.columns import (
    EVENT_TIME,
    KEY,
    ORDERING_KEY,
    PROPERTIES,
    SEQUENCE_ID,
    VALUE,
)
from magnetar.message.batch import columns, unpack
from magnetar.message.chunk import Reassembly
from magnetar.message.compression import decompress
from magnetar.message.entry_traits import traits_of
from magnetar.message.metadata import Metadata, Peek, parse
from magnetar.model.position import Position

from .arrays import TIME_MS_MAX, Numbers, RowBuffers, number_array
from .envelopes import EntryRecipe, Envelopes

GROUP_ROWS_MAX: Final = 100_000
GROUP_BYTES_MAX: Final = 16 * 1024 * 1024
"""A row group ends at these: to read one entry, a row group is fetched and decoded."""
PAYLOAD_SIZE_MAX: Final = 128 * 1024 * 1024
"""A larger payload, uncompressed, is kept as it came and is no row: only the broker gives it."""
RECOMPRESSED_SIZE_MAX: Final = 1024 * 1024
"""A larger entry, compressed, is kept as it came: made again it might be too large to send."""
CHUNKED_MESSAGES_MAX: Final = 4
"""Messages in chunks that are being put together at the same time."""

_TIME: Final = pa.timestamp("us", "UTC")
SCHEMA: Final = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("publish_time", _TIME),
        ("event_time", _TIME),
        (
            "message_id",
            pa.struct(
                [
                    ("ledger_id", pa.int64()),
                    ("entry_id", pa.int64()),
                    ("batch_index", pa.int32()),
                    ("partition", pa.int32()),
                ]
            ),
        ),
        ("ordering_key", pa.binary()),
        ("producer_name", pa.string()),
        ("sequence_id", pa.int64()),
    ]
)


class RowGroup(NamedTuple):
    """Rows to be written."""

    rows: pa.RecordBatch
    envelopes: Envelopes


@dataclass(slots=True)
class _Group:
    """Entries of which a row group is to be made."""

    first_entry_id: int
    envelopes: Envelopes = field(default_factory=Envelopes)
    # Of each entry that has rows, in parallel.
    entry_ids: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    said: list[Metadata] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)  # All as batches.
    rows: int = 0
    size: int = 0  # Bytes of the entries, or of their payloads where those are more.


class MessageRows:
    """The entries of one ledger, taken in order, and given back as row groups."""

    def __init__(self, topic: str, partition: int, ledger_id: int) -> None:
        self.missing = 0
        self.schema_versions: set[int] = set()
        self.first_publish_ms = 0
        self.last_publish_ms = 0
        self._topic = topic
        self._partition = partition
        self._ledger_id = ledger_id
        self._group = _Group(0)
        self._chunks = Reassembly(
            messages_max=CHUNKED_MESSAGES_MAX,
            age_max_s=float("inf"),
            size_max=PAYLOAD_SIZE_MAX,
            drop_oldest=True,
        )

    def add(self, data: list[bytes], checksums: list[int]) -> Iterator[RowGroup]:
        """Take the next entries, and give the row groups that are full then."""
        unusual = traits_of(data).unusual
        for index, (entry, checksum) in enumerate(zip(data, checksums, strict=True)):
            self._add(entry, checksum, unusual.get(index))
            if self._group.rows >= GROUP_ROWS_MAX or self._group.size >= GROUP_BYTES_MAX:
                yield self._take()

    def rest(self) -> Iterator[RowGroup]:
        """Give the last row group, if there is something in it."""
        if len(self._group.envelopes):
            yield self._take()

    def _take(self) -> RowGroup:
        group = self._group
        self._group = _Group(group.first_entry_id + len(group.envelopes))
        rows = _Columns(group, self._topic, self._partition, self._ledger_id).batch()
        return RowGroup(rows, group.envelopes)

    def _add(self, entry: bytes, checksum: int, unusual: Peek | None) -> None:
        if unusual is not None and unusual.marker_type is not None:
            self._whole(entry, checksum)  # It is for brokers, and no message.
            return
        try:
            self._add_messages(entry, checksum)
        except (CorruptEntry, MessageTooLarge):
            self.missing += 1
            self._whole(entry, checksum)

    def _add_messages(self, entry: bytes, checksum: int) -> None:
        """Raises CorruptEntry and MessageTooLarge for an entry that makes no rows."""
        said = parse(entry)
        self._published(said.publish_time_ms)
        if said.schema_version:
            self.schema_versions.add(int.from_bytes(said.schema_version))
        if said.encryption is not None:
            raise CorruptEntry("only who has its key can read it")
        if said.in_transaction:
            raise CorruptEntry("only the broker knows whether it counts")
        body = entry[said.payload_start :]
        if said.chunk is not None:
            self._add_chunk(entry, checksum, said, body)
            return
        payload = _decompressed(said, body)
        heads: list[bytes] = []
        if said.is_batch:
            heads = _heads(payload, said.message_count)
        if said.compression and len(entry) > RECOMPRESSED_SIZE_MAX:
            self._whole(entry, checksum, rows=len(heads) or 1)
        else:
            self._group.envelopes.add(
                EntryRecipe.BATCH if said.is_batch else EntryRecipe.ONE,
                entry[4 : said.payload_start],
                checksum=checksum,
                rows=len(heads) or 1,
                compression=said.compression,
                heads=heads,
            )
        self._rows(said, payload)

    def _add_chunk(self, entry: bytes, checksum: int, said: Metadata, body: bytes) -> None:
        """Take a chunk. The message is a row where its last chunk is, as a consumer has it."""
        assert said.chunk is not None, "it is one"
        position = Position(self._ledger_id, self._entry_id)
        whole = self._chunks.add(said.chunk, body, position, now=0.0)
        self.missing += 1
        if whole is None:
            self._whole(entry, checksum)
            return
        joined, positions = whole
        payload = _decompressed(said, joined)
        self.missing -= len(positions)
        self._whole(entry, checksum, rows=1)
        self._rows(said, payload)

    @property
    def _entry_id(self) -> int:
        """The id of the entry that is being added."""
        return self._group.first_entry_id + len(self._group.envelopes)

    def _published(self, publish_time_ms: int) -> None:
        if publish_time_ms:
            first = self.first_publish_ms
            self.first_publish_ms = min(first or publish_time_ms, publish_time_ms)
            self.last_publish_ms = max(self.last_publish_ms, publish_time_ms)

    def _whole(self, entry: bytes, checksum: int, rows: int = 0) -> None:
        self._group.size += len(entry)
        self._group.envelopes.add(EntryRecipe.WHOLE, entry, checksum=checksum, rows=rows)

    def _rows(self, said: Metadata, payload: bytes) -> None:
        """Add the rows of the entry whose envelope was added last."""
        group = self._group
        if not said.is_batch:
            payload = inner.pack([payload], None, [_single(said)])
        group.entry_ids.append(self._entry_id - 1)
        group.counts.append(said.message_count if said.is_batch else 1)
        group.said.append(said)
        group.payloads.append(payload)
        group.rows += group.counts[-1]
        group.size += len(payload)


def _decompressed(said: Metadata, body: bytes) -> bytes:
    return decompress(said.compression, body, said.uncompressed_size, size_max=PAYLOAD_SIZE_MAX)


def _heads(payload: bytes, count: int) -> list[bytes]:
    """The heads of a batch that heads and bodies are all of. Raises CorruptEntry."""
    if count < 1:
        raise CorruptEntry(f"a batch of {count} messages")
    heads, bodies = unpack(payload, count)
    if 4 * count + sum(map(len, heads)) + sum(map(len, bodies)) != len(payload):
        raise CorruptEntry("a batch with more in it than its messages")
    return heads


def _single(said: Metadata) -> Single:
    return Single(
        said.key,
        said.key_b64,
        said.ordering_key,
        said.properties,
        said.event_time_ms,
        said.sequence_id,
    )


class _Columns:
    """The rows of a group, column by column, made of buffers alone."""

    def __init__(self, group: _Group, topic: str, partition: int, ledger_id: int) -> None:
        self._group = group
        self._topic = topic
        self._partition = partition
        self._ledger_id = ledger_id
        self._counts = np.array(group.counts, np.int64)
        zeros = [0] * len(group.counts)
        wanted = VALUE | KEY | ORDERING_KEY | EVENT_TIME | SEQUENCE_ID | PROPERTIES
        found = columns(group.payloads, zeros, group.counts, zeros, group.counts, wanted)
        self._rows = RowBuffers(*found)
        self._count = self._rows.count

    def batch(self) -> pa.RecordBatch:
        # The buffers come in this order.
        rows = self._rows
        value = rows.binary(pa.binary(), self._count)
        key = rows.keys(pa.binary())
        ordering_key = rows.binary(pa.binary(), self._count, rows.bits())
        event_time = rows.event_times(_TIME)
        told, own_ids = rows.bits(), rows.numbers()
        properties = rows.properties(SCHEMA.field("properties").type)
        indexes = self._indexes()
        said = self._group.said
        counted = self._of_entries([each.sequence_id for each in said]) + indexes
        publish_ms = self._of_entries([min(each.publish_time_ms, TIME_MS_MAX + 1) for each in said])
        places = (
            np.full(self._count, self._ledger_id),
            self._of_entries(self._group.entry_ids),
            indexes,
            np.full(self._count, self._partition),
        )
        id_type = SCHEMA.field("message_id").type
        ids = [number_array(part, each.type) for part, each in zip(places, id_type, strict=True)]
        arrays = {
            "key": key,
            "value": value,
            "topic": _texts([self._topic], [self._count]),
            "partition": number_array(np.full(self._count, self._partition), pa.int32()),
            "properties": properties,
            "publish_time": number_array(publish_ms * 1000, _TIME, publish_ms <= TIME_MS_MAX),
            "event_time": event_time,
            "message_id": pa.StructArray.from_arrays(ids, fields=list(id_type)),
            "ordering_key": ordering_key,
            "producer_name": _texts([each.producer_name for each in said], self._group.counts),
            "sequence_id": number_array(
                np.where(told, own_ids.astype(np.int64), counted), pa.int64()
            ),
        }
        return pa.RecordBatch.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)

    def _indexes(self) -> Numbers:
        """Each row's index in its batch; -1 outside one."""
        starts = np.cumsum(self._counts) - self._counts
        single = self._of_entries([not each.is_batch for each in self._group.said])
        indexes: Numbers = np.arange(self._count) - np.repeat(starts, self._counts) - single
        return indexes

    def _of_entries(self, values: Sequence[int]) -> Numbers:
        """A number of each entry, for each of its rows."""
        return np.repeat(np.array(values, np.uint64).astype(np.int64), self._counts)


def _texts(texts: Sequence[str], counts: Sequence[int]) -> pa.Array:
    """Each text so many times."""
    data = [text.encode() for text in texts]
    sizes = np.repeat(np.array(list(map(len, data)), np.int32), counts)
    places = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=places[1:])
    joined = b"".join(each * count for each, count in zip(data, counts, strict=True))
    buffers = [None, pa.py_buffer(places), pa.py_buffer(joined)]
    return pa.Array.from_buffers(pa.string(), len(sizes), buffers)
