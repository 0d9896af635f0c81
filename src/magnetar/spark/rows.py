"""Messages to Arrow rows, and Arrow rows to messages: column by column, no object per row. Pure."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from magnetar.client.message import Message, OutgoingMessage
from magnetar.errors import InvalidValue
from magnetar.message.batch import Single, parse_single
from magnetar.message.metadata import Metadata

BATCH_BYTES_MAX = 32 * 1024 * 1024
"""The limit of values in one Arrow batch. Arrow's own is 2 GiB, but Spark copies a batch whole."""
TIME_MS_MAX = 253_402_300_799_999
"""The end of the year 9999. A sender may write any time; beyond this it is null in Spark."""


def parts(
    messages: Sequence[Message], bytes_max: int = BATCH_BYTES_MAX
) -> Iterator[Sequence[Message]]:
    """``messages`` in pieces of about ``bytes_max`` at most, in the same order."""
    start = size = 0
    for index, message in enumerate(messages):
        size += len(message.data)
        if size > bytes_max and index > start:
            yield messages[start:index]
            start, size = index, len(message.data)
    if start < len(messages):
        yield messages[start:]


def to_rows(messages: Sequence[Message], schema: pa.Schema) -> pa.RecordBatch:
    """The columns of ``schema``, as Spark's types are in Arrow; names as in ``schema.py``."""
    own = _own(messages) if any(name in _OWN_COLUMNS for name in schema.names) else []
    arrays = [
        _OWN_COLUMNS[field.name](own, field.type)
        if field.name in _OWN_COLUMNS
        else _COLUMNS[field.name](messages, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def to_messages(rows: pa.RecordBatch, topic: str | None) -> dict[str, list[OutgoingMessage]]:
    """The messages by topic, in the order of the rows; ``topic`` is for rows that name none.

    Raises InvalidValue for a row without a value, or without a topic.
    """
    count = rows.num_rows
    names = rows.schema.names

    def column(name: str) -> Iterable[Any]:
        return rows.column(name).to_pylist() if name in names else [None] * count

    by_topic: dict[str, list[OutgoingMessage]] = {}
    columns = (
        column("topic"),
        map(_bytes, column("value")),
        map(_key, column("key")),
        map(_bytes, column("ordering_key")),
        column("properties"),
        _times_ms(rows) if "event_time" in names else column("event_time"),
    )
    for name, value, key, ordering_key, properties, event_time_ms in zip(*columns, strict=True):
        target = topic if name is None else name
        if target is None:
            raise InvalidValue("a row has no topic: fill the column, or set the option topic")
        if value is None:
            raise InvalidValue(f"a row for {target} has no value: filter it out, or give it one")
        message = OutgoingMessage(
            value,
            key=key,
            ordering_key=ordering_key,
            properties=_properties(properties),
            event_time_ms=event_time_ms,
        )
        by_topic.setdefault(target, []).append(message)
    return by_topic


def _own(messages: Sequence[Message]) -> list[Single | Metadata]:
    """What each message says of itself, looked at once for all columns that need it."""
    return [
        parse_single(one.head) if one.batch_index >= 0 else one.delivery.metadata
        for one in messages
    ]


def _keys(own: Sequence[Single | Metadata], kind: pa.DataType) -> pa.Array:
    keys: list[bytes | None] = []
    for one in own:
        if one.key is None:
            keys.append(None)
        else:
            keys.append(b64decode(one.key) if one.key_b64 else one.key.encode())
    return pa.array(keys, kind)


def _message_ids(messages: Sequence[Message], kind: pa.DataType) -> pa.Array:
    positions = [one.delivery.position for one in messages]
    parts = (
        [one.ledger_id for one in positions],
        [one.entry_id for one in positions],
        [one.batch_index for one in messages],
        [one.delivery.partition for one in messages],
    )
    arrays = [pa.array(part, field.type) for part, field in zip(parts, kind, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _timestamps(times_ms: Iterable[int | None], kind: pa.DataType) -> pa.Array:
    microseconds = [
        time_ms * 1000 if time_ms is not None and time_ms <= TIME_MS_MAX else None
        for time_ms in times_ms
    ]
    return pa.array(microseconds, pa.int64()).cast(kind)


_COLUMNS: dict[str, Callable[[Sequence[Message], pa.DataType], pa.Array]] = {
    "value": lambda messages, kind: pa.array([one.data for one in messages], kind),
    "topic": lambda messages, kind: pa.array([one.topic for one in messages], kind),
    "partition": lambda messages, kind: pa.array([one.partition for one in messages], kind),
    "publish_time": lambda messages, kind: _timestamps(
        (one.publish_time_ms for one in messages), kind
    ),
    "message_id": _message_ids,
    "producer_name": lambda messages, kind: pa.array([one.producer_name for one in messages], kind),
    "sequence_id": lambda messages, kind: pa.array([one.sequence_id for one in messages], kind),
}

_OWN_COLUMNS: dict[str, Callable[[Sequence[Single | Metadata], pa.DataType], pa.Array]] = {
    "key": _keys,
    "properties": lambda own, kind: pa.array([list(one.properties.items()) for one in own], kind),
    "event_time": lambda own, kind: _timestamps((one.event_time_ms for one in own), kind),
    "ordering_key": lambda own, kind: pa.array([one.ordering_key for one in own], kind),
}


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _key(value: bytes | str | None) -> bytes | str | None:
    """Bytes that are text go as text, so that keys read from a topic are written as they were."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


def _properties(pairs: list[tuple[str, str | None]] | None) -> dict[str, str]:
    """A null value is left out: a property is text or it is not there."""
    return {name: value for name, value in pairs or () if value is not None}


def _times_ms(rows: pa.RecordBatch) -> Iterator[int | None]:
    column = rows.column("event_time").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    for microseconds in column.to_pylist():
        yield None if microseconds is None else microseconds // 1000
