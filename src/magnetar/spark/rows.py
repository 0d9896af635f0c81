"""Arrow rows to messages, for writing: column by column. Pure."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.schemas.primitives import StringSchema
from magnetar.client.schemas.schema import Schema
from magnetar.errors import InvalidValue

ROW_SHOWN_MAX: Final = 500
"""Characters of a row in an error."""


class TextSchema(Schema[bytes]):
    """Tells the topic that its values are text, which they are, encoded before."""

    info = StringSchema.info

    def encode(self, value: bytes) -> bytes:
        return value

    def decode(self, data: bytes) -> bytes:
        return data


def to_messages(rows: pa.RecordBatch, topic: str | None) -> dict[str, list[OutgoingMessage]]:
    """The messages by topic, in the order of the rows: all to ``topic``, or each to its own.

    Raises InvalidValue for a row without a value, or without a topic.
    """
    count = rows.num_rows
    names = rows.schema.names

    def column(name: str) -> Iterable[Any]:
        return rows.column(name).to_pylist() if name in names else [None] * count

    by_topic: dict[str, list[OutgoingMessage]] = {}
    columns = (
        column("topic") if topic is None else [topic] * count,
        map(_bytes, column("value")),
        map(_key, column("key")),
        map(_bytes, column("ordering_key")),
        column("properties"),
        _times_ms(rows) if "event_time" in names else column("event_time"),
    )
    for target, value, key, ordering_key, properties, event_time_ms in zip(*columns, strict=True):
        if target is None or value is None:
            raise _missing("topic" if target is None else "value", rows)
        message = OutgoingMessage(
            value,
            key=key,
            ordering_key=ordering_key,
            properties=_properties(properties),
            event_time_ms=event_time_ms,
        )
        by_topic.setdefault(target, []).append(message)
    return by_topic


def _missing(name: str, rows: pa.RecordBatch) -> InvalidValue:
    """Names the first row that lacks something, by all that it has."""
    first = rows.column(name).to_pylist().index(None) if name in rows.schema.names else 0
    row = {column: value for column, value in rows.slice(first, 1).to_pylist()[0].items() if value}
    return InvalidValue(
        f"a row has no {name}: {str(row)[:ROW_SHOWN_MAX]}. Filter such rows out, or fill the column"
    )


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
