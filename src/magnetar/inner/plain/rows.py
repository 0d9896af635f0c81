"""Rows of Arrow's columns to batches: the inverse of ``columns``. Pure.

Columns are ``(value, key, ordering_key, event_time, properties)``, each None or a tuple:

    value, key, ordering_key   (first, bits, places, bytes)
    event_time                 (first, bits, int64s: microseconds since 1970)
    properties                 (first, bits, places, names, texts): these are as ``key``

The buffers are Arrow's, whose row 0 is at ``first``; bits of None say that every row is there. A
property whose text is not there is left out. Rows are picked by an int32 each, in a buffer, or are
the first so many. All raise ValueError for what has another shape, or ends too soon.
"""

from array import array
from base64 import b64encode
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from magnetar.model.hashing import java_string_hash

from .batches import HEAD_TAGS
from .fields import write_fields

Buffer: TypeAlias = bytes | memoryview
Strings: TypeAlias = tuple[int, Buffer | None, Buffer, Buffer]
Numbers: TypeAlias = tuple[int, Buffer | None, Buffer]
Maps: TypeAlias = tuple[int, Buffer | None, Buffer, Strings, Strings]
Columns: TypeAlias = tuple[
    Strings | None, Strings | None, Strings | None, Numbers | None, Maps | None
]
Rows: TypeAlias = Buffer | int


class _Message(NamedTuple):
    value: bytes | None  # None: a null, which a message says of itself.
    key: bytes | None
    ordering_key: bytes | None
    event_time_ms: int | None
    properties: list[tuple[bytes, bytes]]


def cut_rows(
    columns: Columns, rows: Rows, messages_max: int, size_max: int
) -> list[tuple[int, int]]:
    """Where each batch of the rows ends, and how many bytes its messages count.

    A batch ends with the message that makes it full, or before one that is too much for it: one
    that counts more than ``size_max`` is alone. Raises ValueError for an event time before 1970,
    and a property that is no text in UTF-8.
    """
    if messages_max <= 0 or size_max <= 0:
        raise ValueError("a batch without room")
    batches: list[tuple[int, int]] = []
    start = size = 0
    for at, message in enumerate(_messages(columns, rows)):
        more = _size(message)
        full = at - start == messages_max or size >= size_max
        if full or (at > start and size + more > size_max):
            batches.append((at, size))
            start, size = at, 0
        size += more
    count = len(_indexes(rows))
    return [*batches, (count, size)] if count else []


def pack_rows(columns: Columns, rows: Rows, start: int, stop: int, first_sequence_id: int) -> bytes:
    """The messages of the rows from one to before another, numbered from this id on.

    A key is written as text where it is text in UTF-8, and else as base64.
    """
    indexes = _indexes(rows)
    if not 0 <= start <= stop <= len(indexes):
        raise ValueError("a row behind the last")
    picked = array("i", indexes[start:stop]).tobytes()
    pieces = []
    for sequence_id, message in enumerate(_messages(columns, picked), first_sequence_id):
        head = _head(message, sequence_id)
        pieces += [len(head).to_bytes(4), head, message.value or b""]
    return b"".join(pieces)


def share_rows(
    keys: Strings | None, rows: Rows, partitions: int, place: int, run: int
) -> list[bytes]:
    """The rows of each partition: by the hash of its key, as Java's, or else some by some.

    The first row has this place among all that are shared out, and so many without a key go to one
    partition, the next to the next. An empty key is none.
    """
    if not 0 < partitions < 1 << 31 or run <= 0 or place < 0:
        raise ValueError("no partition to go to")
    shared = [array("i") for _ in range(partitions)]
    for at, row in enumerate(_indexes(rows), place):
        key = _string(keys, row)
        number = java_string_hash(_key_text(key)[0]) if key else at // run
        shared[number % partitions].append(row)
    return [each.tobytes() for each in shared]


def _messages(columns: Columns, rows: Rows) -> Iterator[_Message]:
    value, key, ordering_key, event_time, properties = columns
    for row in _indexes(rows):
        yield _Message(
            b"" if value is None else _string(value, row),
            _string(key, row),
            _string(ordering_key, row),
            _event_time_ms(event_time, row),
            _properties(properties, row),
        )


def _indexes(rows: Rows) -> list[int]:
    if isinstance(rows, int):
        if rows < 0:
            raise ValueError("a size or position below 0")
        return list(range(rows))
    view = memoryview(rows).cast("B")
    indexes = array("i", bytes(view[: len(view) // 4 * 4])).tolist()
    if indexes and min(indexes) < 0:
        raise _shape()
    return indexes


def _there(first: int, bits: Buffer | None, row: int) -> bool:
    if bits is None:
        return True
    index = first + row
    view = memoryview(bits).cast("B")
    if index // 8 >= len(view):
        raise _shape()
    return bool(view[index // 8] >> index % 8 & 1)


def _number(buffer: Buffer, index: int, size: int) -> int:
    view = memoryview(buffer).cast("B")[index * size : (index + 1) * size]
    if len(view) < size:
        raise _shape()
    return int.from_bytes(view, "little", signed=True)


def _places(first: int, bits: Buffer | None, places: Buffer, row: int) -> tuple[int, int] | None:
    if first < 0:
        raise ValueError("a size or position below 0")
    if not _there(first, bits, row):
        return None
    start, stop = (_number(places, first + index, 4) for index in (row, row + 1))
    if not 0 <= start <= stop:
        raise _shape()
    return start, stop


def _string(column: Strings | None, row: int) -> bytes | None:
    if column is None:
        return None
    first, bits, places, data = column
    found = _places(first, bits, places, row)
    if found is None:
        return None
    view = memoryview(data).cast("B")
    if found[0] < found[1] > len(view):
        raise _shape()
    return bytes(view[found[0] : found[1]])


def _event_time_ms(column: Numbers | None, row: int) -> int | None:
    if column is None or not _there(column[0], column[1], row):
        return None
    microseconds = _number(column[2], column[0] + row, 8)
    if microseconds < 0:
        raise ValueError("an event time before 1970")
    return microseconds // 1000


def _properties(column: Maps | None, row: int) -> list[tuple[bytes, bytes]]:
    found = None if column is None else _places(*column[:3], row)
    if column is None or found is None:
        return []
    pairs = []
    for index in range(*found):
        name, text = _string(column[3], index), _string(column[4], index)
        if text is not None:
            pairs.append((name or b"", text))
    return pairs


def _shape() -> ValueError:
    return ValueError("a column has another shape, or ends too soon")


def _size(message: _Message) -> int:
    size = len(message.value or b"") + len(message.key or b"") + len(message.ordering_key or b"")
    for pair in message.properties:
        if not all(map(_is_text, pair)):
            raise ValueError("a property that is no text")
        size += sum(map(len, pair))
    return size


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _key_text(key: bytes) -> tuple[str, bool]:
    """The key as it is written, and whether that is base64."""
    return (key.decode(), False) if _is_text(key) else (b64encode(key).decode(), True)


def _head(message: _Message, sequence_id: int) -> bytes:
    key, base64 = (None, False) if message.key is None else _key_text(message.key)
    return write_fields(
        HEAD_TAGS,
        [
            [write_fields([0x0A, 0x12], list(pair)) for pair in message.properties],
            None if key is None else key.encode(),
            len(message.value or b""),
            None,
            message.event_time_ms,
            base64 or None,
            message.ordering_key,
            sequence_id,
            (message.value is None) or None,
        ],
    )
