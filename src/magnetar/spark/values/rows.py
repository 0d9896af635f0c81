"""Entries to Arrow rows with typed values: what is no such value is bad, and goes where it is told.

A message is decoded by the version of the schema that it was written with, and read as the one
that the query was planned with.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from magnetar.client.consumers.entry import Entry
from magnetar.client.message import Message
from magnetar.errors import InvalidValue, SchemaNotFound, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.key_value import parts_of, separated
from magnetar.spark.columns import to_rows
from magnetar.spark.values.arrays import binary_array
from magnetar.spark.values.decoding import Decode, decoder
from magnetar.spark.values.options import ValueOptions
from magnetar.spark.values.plan import ValuePlan
from magnetar.spark.values.types import pruned

FetchSchema = Callable[[str, int], SchemaInfo]
"""A version of a topic's schema. Raises SchemaNotFound."""
SendDead = Callable[[Sequence[Message[Any]]], None]
"""Returns when the messages are stored where bad ones go."""


@dataclass(slots=True)
class _Piece:
    """Rows from one to before another: their values; None for null, and for one that is bad."""

    start: int
    stop: int
    values: pa.Array | None
    error: str | None = None


class ValueRows:
    """Makes the rows of one task, which asks for each version of a schema once."""

    def __init__(
        self,
        plan: ValuePlan,
        options: ValueOptions,
        schema: StructType,
        arrow: pa.Schema,
        *,
        fetch: FetchSchema,
        send_dead: SendDead,
    ) -> None:
        """``schema`` are the columns that are wanted, ``arrow`` the same as Arrow has them."""
        self._plan = plan
        self._options = options
        self._arrow = arrow
        self._fetch = fetch
        self._send_dead = send_dead
        self._decoders: dict[tuple[str, bytes | None], Decode] = {}
        known = ["value"]
        if plan.top_level:
            assert isinstance(plan.kind.spark, StructType)
            known = plan.kind.spark.names
        wanted = [field for field in schema if field.name in known]
        self._values = [field.name for field in wanted]
        if plan.top_level:
            self._kind = pruned(plan.kind, StructType(wanted))
            self._type = pa.struct([arrow.field(name) for name in self._values])
        elif wanted:
            self._kind = pruned(plan.kind, wanted[0].dataType)
            self._type = arrow.field("value").type
        own = [field for field in arrow if field.name not in (*known, options.corrupt_column)]
        self._own = {field.name: plan.own_names.get(field.name, field.name) for field in own}
        made = {self._own[field.name]: field.type for field in own}
        self._pairs = plan.schema.type is SchemaType.KEY_VALUE
        if self._pairs:  # Their keys may travel apart, and do so without a value, too.
            made["key"] = pa.binary()
        self._made = pa.schema({**made, "value": pa.binary()})
        self._empty_is_null = _empty_is_null(plan.schema)

    def rows(self, entries: Sequence[Entry]) -> Iterator[pa.RecordBatch]:
        """The messages of ``entries``; bad ones among them only where they have a column.

        Raises UndecodableValue for a bad one that has neither that nor a topic to go to.
        """
        made = to_rows(entries, self._made)
        pieces = list(self._pieces(entries, made))
        if self._options.corrupt_column is None:
            bad = [piece for piece in pieces if piece.error is not None]
            if bad:
                self._put_away(entries, bad)
            blocks = groupby(pieces, lambda piece: piece.error is None)
            kept = [list(block) for good, block in blocks if good]
        else:
            kept = [pieces]
        for block in filter(None, kept):
            yield self._batch(made, block)

    def _pieces(self, entries: Sequence[Entry], made: pa.RecordBatch) -> Iterator[_Piece]:
        """All rows, in order."""
        if not self._values and self._options == ValueOptions(registry=True):
            yield _Piece(0, made.num_rows, None)  # Nobody looks at values, or will be told.
            return
        payloads = made.column("value")
        keys = made.column("key") if self._pairs else None
        start = 0
        for (topic, version), run in groupby(entries, _written_as):
            run_entries = list(run)
            decode = self._decoder(topic, version)
            for first, stop, null in _nulls(run_entries, payloads, start, self._empty_is_null):
                if null and keys is None:
                    yield _Piece(first, stop, None)
                else:
                    values = pa.nulls(made.num_rows, pa.binary()) if null else payloads
                    yield from _decoded(decode, values, keys, first, stop)
            start += sum(entry.count for entry in run_entries)

    def _decoder(self, topic: str, version: bytes | None) -> Decode:
        if self._plan.schema.type is SchemaType.NONE:
            version = None  # Bytes remain bytes, whatever schema came later.
        key = topic, version
        if key not in self._decoders:
            plan = self._plan
            try:
                writer = plan.schema
                if version is not None:
                    writer = self._fetch(topic, int.from_bytes(version))
                self._decoders[key] = decoder(plan.schema, self._kind, self._type, writer)
            except (UndecodableValue, SchemaNotFound, InvalidValue) as error:
                self._decoders[key] = _failing(str(error))
        return self._decoders[key]

    def _put_away(self, entries: Sequence[Entry], bad: Sequence[_Piece]) -> None:
        messages = [_message(entries, row) for each in bad for row in range(each.start, each.stop)]
        if self._options.dead_letter_topic is None:
            raise UndecodableValue(
                f"{messages[0].topic}: message {messages[0].message_id} is no value of the topic's "
                f"schema: {bad[0].error}. Set mode=PERMISSIVE for null instead, or deadLetterTopic "
                "for a topic that gets such messages"
            )
        self._send_dead(messages)

    def _batch(self, made: pa.RecordBatch, block: Sequence[_Piece]) -> pa.RecordBatch:
        """The rows of some pieces that follow each other."""
        start, stop = block[0].start, block[-1].stop
        made = made.slice(start, stop - start)
        arrays = {name: made.column(own) for name, own in self._own.items()}
        corrupt = self._options.corrupt_column
        if corrupt is not None and corrupt in self._arrow.names:
            arrays[corrupt] = _corrupt(made.column("value"), block)
        if self._values:
            values = pa.concat_arrays(
                pa.nulls(piece.stop - piece.start, self._type)
                if piece.values is None
                else piece.values
                for piece in block
            )
            columns = values.flatten() if self._plan.top_level else [values]
            arrays.update(zip(self._values, columns, strict=True))
        return pa.RecordBatch.from_arrays(
            [arrays[name] for name in self._arrow.names], schema=self._arrow
        )


def _written_as(entry: Entry) -> tuple[str, bytes | None]:
    return entry.delivery.topic, entry.delivery.metadata.schema_version or None


def _empty_is_null(schema: SchemaInfo) -> bool:
    """Whether no value has an empty payload: one that is empty removes its key, and says no more.

    A compaction takes it so whatever the schema is, and not each client says that it is null.
    """
    if schema.type is SchemaType.KEY_VALUE and separated(schema):
        return _empty_is_null(parts_of(schema)[1])
    return schema.type not in (SchemaType.NONE, SchemaType.STRING)


def _nulls(
    entries: Sequence[Entry],
    payloads: pa.Array,
    start: int,
    empty_is_null: bool,  # noqa: FBT001 - of the topic's schema
) -> Iterator[tuple[int, int, bool]]:
    """The rows of ``entries``, the first of which is ``start``, in runs: are their values null?"""
    stop = start + sum(entry.count for entry in entries)
    places = np.frombuffer(payloads.buffers()[1], np.int32)[start : stop + 1]
    empty = set((np.flatnonzero(np.diff(places) == 0) + start).tolist())
    if not empty:
        yield start, stop, False
        return
    nulls = sorted(empty) if empty_is_null else []
    row = start
    for entry in () if empty_is_null else entries:
        if not empty.isdisjoint(range(row, row + entry.count)):
            nulls += [at for at, one in enumerate(entry.messages(), row) if one.null_value]
        row += entry.count
    marked = [False] * (stop - start)
    for at in nulls:
        marked[at - start] = True
    first = start
    for null, run in groupby(marked):
        count = len(list(run))
        yield first, first + count, null
        first += count


def _decoded(
    decode: Decode, payloads: pa.Array, keys: pa.Array | None, first: int, stop: int
) -> Iterator[_Piece]:
    """The rows from one to before another. Where one is bad, either half is tried by itself."""
    count = stop - first
    try:
        part = None if keys is None else keys.slice(first, count)
        yield _Piece(first, stop, decode(payloads.slice(first, count), part))
    except UndecodableValue as error:
        if count == 1:
            yield _Piece(first, stop, None, str(error))
            return
        middle = first + count // 2
        yield from _decoded(decode, payloads, keys, first, middle)
        yield from _decoded(decode, payloads, keys, middle, stop)


def _failing(text: str) -> Decode:
    def fail(_payloads: pa.Array, _keys: pa.Array | None) -> pa.Array:
        raise UndecodableValue(text)

    return fail


def _corrupt(payloads: pa.Array, block: Sequence[_Piece]) -> pa.Array:
    """The payloads of those that are bad, null for the others."""
    found: list[bytes | None] = [None] * len(payloads)
    for piece in block:
        if piece.error is not None:
            for row in range(piece.start - block[0].start, piece.stop - block[0].start):
                found[row] = payloads[row].as_py()
    return binary_array(found)


def _message(entries: Sequence[Entry], row: int) -> Message[Any]:
    for entry in entries:
        if row < entry.count:
            return entry.messages()[row]
        row -= entry.count
    raise AssertionError("a row of no entry")
