"""Arrow rows to batches of messages: by their buffers, without an object for each row. Pure.

``inner.cut_rows`` and ``inner.pack_rows`` do it; a message too large for a batch goes alone.
"""

from array import array
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from magnetar import inner
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import PackedBatch
from magnetar.errors import InvalidValue

BATCH_MESSAGES_MAX: Final = 1000
BATCH_BYTES_MAX: Final = 128 * 1024
"""The bytes of a batch, as producers make them. A message of so many bytes goes alone."""
ROW_SHOWN_MAX: Final = 500
"""Characters of a row in an error."""

Picked = int | bytes
"""Rows, in their order: the first so many, or by an int32 each."""


def count_of(picked: Picked) -> int:
    return picked if isinstance(picked, int) else len(picked) // 4


class Rows:
    """The rows of one Arrow batch."""

    def __init__(self, batch: pa.RecordBatch, *, nulls: bool = False) -> None:
        """With ``nulls`` a row without a value is a message without one."""
        self._batch = batch
        self._nulls = nulls
        self._keys = self._strings("key")
        self._columns = (
            self._strings("value"),
            self._keys,
            self._strings("ordering_key"),
            self._event_times(),
            self._properties(),
        )

    def by_topic(self, topic: str | None) -> dict[str, Picked]:
        """Which rows go where: all to ``topic``, or each to its own.

        Raises InvalidValue for a row without a value, or without a topic.
        """
        if not self._batch.num_rows:
            return {}
        if not self._nulls:
            self._check_there("value")
        if topic is not None:
            return {topic: self._batch.num_rows}
        self._check_there("topic")
        by_topic: dict[str, array[int]] = {}
        for row, name in enumerate(self._batch.column("topic").to_pylist()):
            if name not in by_topic:
                by_topic[name] = array("i")
            by_topic[name].append(row)
        return {name: rows.tobytes() for name, rows in by_topic.items()}

    def share(self, picked: Picked, partitions: int, place: int, run: int) -> list[Picked]:
        """The rows of each partition, as ``inner.share_rows`` says."""
        if partitions == 1:
            return [picked]
        return list(inner.share_rows(self._keys, picked, partitions, place, run))

    def batches(
        self, picked: Picked, first_sequence_id: int, done: int, messages_max: int | None = None
    ) -> Iterator[PackedBatch | OutgoingMessage]:
        """The rows as they are sent, but for the first ``done``, numbered from the first on.

        However many are done, batches end with the same rows, unless ``messages_max`` of a batch
        changes. Raises InvalidValue for a row that says what no message can.
        """
        count_max = messages_max or BATCH_MESSAGES_MAX
        try:
            cuts = inner.cut_rows(self._columns, picked, count_max, BATCH_BYTES_MAX)
        except ValueError as error:
            raise InvalidValue(f"a row cannot be sent: {error}: {self._culprit(picked)}") from error
        start = 0
        for stop, size in cuts:
            if stop > done:
                at = max(start, done)
                first = _row(picked, at)
                if size >= BATCH_BYTES_MAX and stop == start + 1:
                    yield self._message(first, first_sequence_id + at)
                else:
                    payload = inner.pack_rows(
                        self._columns, picked, at, stop, first_sequence_id + at
                    )
                    yield PackedBatch(
                        payload,
                        stop - at,
                        first_sequence_id + at,
                        size,
                        self._key(first),
                        self._bytes("ordering_key", first),
                    )
            start = stop

    def larger_than(self, picked: Picked, size_max: int) -> str | None:
        """The first row that is larger by itself, as an error shows it."""
        start = 0
        for stop, size in inner.cut_rows(self._columns, picked, BATCH_MESSAGES_MAX, size_max):
            if size > size_max:
                return self._shown(_row(picked, start))
            start = stop
        return None

    def _message(self, row: int, sequence_id: int) -> OutgoingMessage:
        value = self._bytes("value", row)
        assert value is not None, "held by by_topic"
        headers = self._of("headers", row) or ()
        pairs = self._of("properties", row) or [(h["key"], _text(h["value"])) for h in headers]
        microseconds = self._of("event_time", row)
        return OutgoingMessage(
            value,
            key=self._key(row),
            ordering_key=self._bytes("ordering_key", row),
            properties={name: text for name, text in pairs if text is not None},
            event_time_ms=None if microseconds is None else microseconds // 1000,
            sequence_id=sequence_id,
        )

    def _key(self, row: int) -> str | bytes | None:
        """Bytes that are text go as text, so that keys read from a topic are written as before."""
        key = self._bytes("key", row)
        try:
            return None if key is None else key.decode()
        except UnicodeDecodeError:
            return key

    def _bytes(self, name: str, row: int) -> bytes | None:
        value = self._of(name, row)
        return value.encode() if isinstance(value, str) else value

    def _of(self, name: str, row: int) -> Any:
        if name not in self._batch.schema.names:
            return None
        column = self._batch.column(name)
        return column[row].value if name == "event_time" else column[row].as_py()

    def _strings(self, name: str) -> Any:
        if name not in self._batch.schema.names:
            return None
        column = self._batch.column(name)
        return _strings(column)

    def _event_times(self) -> Any:
        if "event_time" not in self._batch.schema.names:
            return None
        column = self._batch.column("event_time")
        bits, microseconds = column.buffers()
        return column.offset, bits, microseconds or b""

    def _properties(self) -> Any:
        names = self._batch.schema.names
        if "headers" in names:
            column = self._batch.column("headers")
            keys, items = (column.values.field(name) for name in ("key", "value"))
        elif "properties" in names:
            column = self._batch.column("properties")
            keys, items = column.keys, column.items
        else:
            return None
        bits, places, *_ = column.buffers()
        return column.offset, bits, places or b"", _strings(keys), _strings(items)

    def _check_there(self, name: str) -> None:
        """Raises InvalidValue that names the first row that lacks it, by all that the row has."""
        row = 0
        if name in self._batch.schema.names:
            column = self._batch.column(name)
            if not column.null_count:
                return
            row = next(at for at, value in enumerate(column) if not value.is_valid)
        raise InvalidValue(
            f"a row has no {name}: {self._shown(row)}. Filter such rows out, or fill the column"
            + (", or set nullValue=tombstone" if name == "value" else "")
        )

    def _culprit(self, picked: Picked) -> str:
        """The first row that cannot be sent."""
        for at in range(count_of(picked)):
            try:
                inner.cut_rows(self._columns, _row_alone(picked, at), 1, 1)
            except ValueError:
                return self._shown(_row(picked, at))
        return "which one is unknown"

    def _shown(self, row: int) -> str:
        (said,) = self._batch.slice(row, 1).to_pylist()
        return str({name: value for name, value in said.items() if value})[:ROW_SHOWN_MAX]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()  # What is no text was refused before.


def _row(picked: Picked, at: int) -> int:
    return at if isinstance(picked, int) else memoryview(picked).cast("i")[at]


def _row_alone(picked: Picked, at: int) -> bytes:
    return array("i", [_row(picked, at)]).tobytes()


def _strings(column: pa.Array) -> Any:
    """A column of text or bytes for the inner loops."""
    if column.type not in (pa.string(), pa.binary()):
        column = column.cast(pa.binary())
    bits, places, data = column.buffers()
    return column.offset, bits if column.null_count else None, places or b"", data or b""
