"""Entries to Arrow rows, column by column: no object per message. Pure.

Columns are made of buffers alone. ``pa.array`` of numbers and ``cast`` would import pandas and
``pyarrow.compute`` first: half a second in each of Spark's workers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from magnetar import inner
from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Message
from magnetar.history.arrays import TIME_MS_MAX, Numbers, RowBuffers, number_array, text_array
from magnetar.inner.plain.batches import Single
from magnetar.inner.plain.columns import (
    EVENT_TIME,
    KEY,
    ORDERING_KEY,
    PROPERTIES,
    SEQUENCE_ID,
    VALUE,
)
from magnetar.message.batch import columns, parse_single
from magnetar.model.names import TopicName

BATCH_BYTES_MAX: Final = 16 * 1024 * 1024
"""What the entries of one Arrow batch hold. Arrow's limit is 2 GiB; Spark copies it whole."""
_ENTRY_BITS: Final = 20
_INDEX_BITS: Final = 12
"""The bits of a number for a message's position, behind 31 of its ledger."""

_OWN: Final = {
    "value": VALUE,
    "key": KEY,
    "ordering_key": ORDERING_KEY,
    "event_time": EVENT_TIME,
    "timestamp": EVENT_TIME,
    "sequence_id": SEQUENCE_ID,
    "properties": PROPERTIES,
    "headers": PROPERTIES,
}
"""The columns that each message says for itself; the others are its entry's."""


def parts(
    entries: Iterable[Entry], rows_max: int, bytes_max: int = BATCH_BYTES_MAX
) -> Iterator[list[Entry]]:
    """``entries`` in the same order, in lists of ``rows_max`` and ``bytes_max`` at most.

    An entry that has more by itself is a list of its own.
    """
    part: list[Entry] = []
    rows = size = 0
    for entry in entries:
        rows += entry.count
        size += len(entry.data)
        if part and (rows > rows_max or size > bytes_max):
            yield part
            part, rows, size = [], entry.count, len(entry.data)
        part.append(entry)
    if part:
        yield part


def to_rows(entries: Sequence[Entry], schema: pa.Schema) -> pa.RecordBatch:
    """The columns of ``schema``, as Spark's types are in Arrow; names as in ``schema.py``.

    Raises CorruptEntry for a batch that cannot be taken apart.
    """
    rows = _Rows(entries, sum(number for name, number in _OWN.items() if name in schema.names))
    # Those of messages first, in the order of their buffers.
    arrays = {
        name: make(rows, schema.field(name).type)
        for name, make in _COLUMNS.items()
        if name in schema.names
    }
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


class _Packed(NamedTuple):
    """An entry as a batch, and which of the messages in that are rows."""

    data: bytes
    start: int  # Where in ``data`` the messages begin.
    size: int
    first: int
    stop: int
    indexes: Sequence[int]  # Of the rows, in the entry as it was sent; -1 outside a batch.


class _Rows(RowBuffers):
    """The rows of some entries, and the buffers of those columns that are wanted."""

    def __init__(self, entries: Sequence[Entry], wanted: int) -> None:
        self.deliveries = [entry.delivery for entry in entries]
        self.packed = list(map(_packed, entries))
        count, buffers = columns(
            [each.data for each in self.packed],
            [each.start for each in self.packed],
            [each.size for each in self.packed],
            [each.first for each in self.packed],
            [each.stop for each in self.packed],
            wanted,
        )
        super().__init__(count, buffers)
        self._counts = np.array([len(each.indexes) for each in self.packed], np.int64)

    def of_entries(self, values: Iterable[int]) -> Numbers:
        """A number of each entry, for each of its rows."""
        return np.repeat(np.array(list(values), np.int64), self._counts)

    def texts_of_entries(self, values: Iterable[str], kind: pa.DataType) -> pa.Array:
        """A column of texts, which mostly repeat."""
        data, sizes = [], []
        each = zip(values, self._counts.tolist(), strict=True)
        for text, run in groupby(each, key=itemgetter(0)):
            count = sum(count for _, count in run)
            data.append(text.encode() * count)
            sizes.append(np.full(count, len(text.encode()), np.int32))
        places = np.zeros(self.count + 1, np.int32)
        np.cumsum(np.concatenate(sizes or [places[1:]]), out=places[1:])
        buffers = [None, pa.py_buffer(places), pa.py_buffer(b"".join(data))]
        return pa.Array.from_buffers(kind, self.count, buffers)

    @property
    def indexes(self) -> Numbers:
        """Each row's index in its batch, -1 outside one."""
        ranges = all(isinstance(each.indexes, range) for each in self.packed)
        if not ranges:
            return np.array([index for each in self.packed for index in each.indexes], np.int64)
        starts = np.cumsum(self._counts) - self._counts
        firsts = np.array([each.indexes[0] for each in self.packed], np.int64)
        counted = np.arange(self.count, dtype=np.int64)
        indexes: Numbers = counted + np.repeat(firsts - starts, self._counts)
        return indexes


def _packed(entry: Entry) -> _Packed:
    size = entry.delivery.batch_size
    if not size:
        said = entry.delivery.metadata
        own = Single(
            said.key,
            said.key_b64,
            said.ordering_key,
            said.properties,
            said.event_time_ms,
            said.sequence_id,
        )
        return _Packed(inner.pack([entry.payload], None, [own]), 0, 1, 0, 1, range(-1, 0))
    indexes = entry.indexes
    if isinstance(indexes, range):
        return _Packed(entry.data, entry.start, size, indexes[0], indexes[-1] + 1, indexes)
    messages = entry.messages()
    bodies = [one.data for one in messages]
    singles: list[Single | None] = [parse_single(one.head) for one in messages]
    return _Packed(inner.pack(bodies, None, singles), 0, len(messages), 0, len(messages), indexes)


def _values(rows: _Rows, kind: pa.DataType) -> pa.Array:
    return rows.binary(kind, rows.count)


def _ordering_keys(rows: _Rows, kind: pa.DataType) -> pa.Array:
    valid = rows.bits()
    return rows.binary(kind, rows.count, valid)


def _timestamps_of_kafka(rows: _Rows, kind: pa.DataType) -> pa.Array:
    """The time of the event where there is one, else that of its publishing."""
    valid, times_ms = rows.bits(), rows.numbers()
    published_ms = rows.of_entries(one.metadata.publish_time_ms for one in rows.deliveries)
    found = np.where(valid, times_ms, published_ms.astype(np.uint64))
    valid = found <= TIME_MS_MAX
    return _timestamps(np.where(valid, found, 0).astype(np.int64), kind, valid)


def _offsets_of_kafka(rows: _Rows, kind: pa.DataType) -> pa.Array:
    """A number that rises with the places of messages; null for the few places that have none."""
    ledgers = rows.of_entries(one.position.ledger_id for one in rows.deliveries)
    entries = rows.of_entries(one.position.entry_id for one in rows.deliveries)
    indexes = np.maximum(rows.indexes, 0)
    valid = (ledgers < 1 << 31) & (entries < 1 << _ENTRY_BITS) & (indexes < 1 << _INDEX_BITS)
    found = (ledgers << _ENTRY_BITS + _INDEX_BITS) + (entries << _INDEX_BITS) + indexes
    return number_array(np.where(valid, found, 0), kind, valid)


def _whole_topics(rows: _Rows, kind: pa.DataType) -> pa.Array:
    names = cache(lambda name: str(TopicName.parse(name).partitioned_name))
    return rows.texts_of_entries((names(one.topic) for one in rows.deliveries), kind)


def _headers(rows: _Rows, kind: pa.DataType) -> pa.Array:
    places = rows.places()
    count = int(np.frombuffer(places, np.int32)[-1])
    names, texts = rows.binary(pa.binary(), count), rows.binary(pa.binary(), count)
    pairs = pa.StructArray.from_arrays([text_array(names), texts], fields=list(kind.value_type))
    return pa.Array.from_buffers(kind, rows.count, [None, places], children=[pairs])


def _sequence_ids(rows: _Rows, kind: pa.DataType) -> pa.Array:
    told, own = rows.bits(), rows.numbers()
    counted = rows.of_entries(one.metadata.sequence_id for one in rows.deliveries) + rows.indexes
    return number_array(np.where(told, own.astype(np.int64), counted), kind)


def _message_ids(rows: _Rows, kind: pa.DataType) -> pa.Array:
    parts = (
        rows.of_entries(one.position.ledger_id for one in rows.deliveries),
        rows.of_entries(one.position.entry_id for one in rows.deliveries),
        rows.indexes,
        rows.of_entries(one.partition for one in rows.deliveries),
    )
    arrays = [number_array(part, field.type) for part, field in zip(parts, kind, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _serialized_message_ids(rows: _Rows, kind: pa.DataType) -> pa.Array:
    """As other clients read them: an object per message, only where the column is asked for."""
    return pa.array(
        [
            Message(delivery, index, b"", b"").message_id.to_bytes()
            for delivery, packed in zip(rows.deliveries, rows.packed, strict=True)
            for index in packed.indexes
        ],
        kind,
    )


def _publish_times(rows: _Rows, kind: pa.DataType) -> pa.Array:
    times_ms = rows.of_entries(
        min(one.metadata.publish_time_ms, TIME_MS_MAX + 1) for one in rows.deliveries
    )
    return _timestamps(times_ms, kind, times_ms <= TIME_MS_MAX)


def _timestamps(times_ms: Numbers, kind: pa.DataType, valid: Numbers) -> pa.Array:
    return number_array(times_ms * 1000, kind, valid)


_COLUMNS: Final[dict[str, Callable[[_Rows, pa.DataType], pa.Array]]] = {
    "value": _values,
    "key": _Rows.keys,
    "ordering_key": _ordering_keys,
    "event_time": _Rows.event_times,
    "timestamp": _timestamps_of_kafka,
    "sequence_id": _sequence_ids,
    "properties": _Rows.properties,
    "headers": _headers,
    "topic": lambda rows, kind: rows.texts_of_entries((one.topic for one in rows.deliveries), kind),
    "partition": lambda rows, kind: number_array(
        rows.of_entries(one.partition for one in rows.deliveries), kind
    ),
    "whole_topic": _whole_topics,
    "partition_from_0": lambda rows, kind: number_array(
        rows.of_entries(max(one.partition, 0) for one in rows.deliveries), kind
    ),
    "offset": _offsets_of_kafka,
    "timestampType": lambda rows, kind: number_array(np.zeros(rows.count, np.int64), kind),
    "publish_time": _publish_times,
    "message_id": _message_ids,
    "serialized_message_id": _serialized_message_ids,
    "producer_name": lambda rows, kind: rows.texts_of_entries(
        (one.metadata.producer_name for one in rows.deliveries), kind
    ),
}
