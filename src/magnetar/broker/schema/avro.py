"""Avro definitions: the only file that uses the Avro library.

It takes longer to import than most brokers need it: ``definitions.avro_definition`` imports it when
the first definition comes.
"""

import warnings
from collections.abc import Iterator
from typing import Final, Self, cast

from avro.compatibility import (
    CompatibleResult,
    ReaderWriterCompatibilityChecker,
    SchemaCompatibilityResult,
    SchemaCompatibilityType,
    SchemaIncompatibilityType,
    incompatible,
    lookup_writer_field,
    schema_name_equals,
)
from avro.errors import AvroException
from avro.schema import Field, NamedSchema, RecordSchema, Schema, UnionSchema, parse

from magnetar.errors import InvalidSchema

CLASHES_NAMED_MAX: Final = 20
PAIRS_COMPARED_MAX: Final = 20_000
_FIELDS_PER_PAIR: Final = 200  # The library makes a table of a record's fields for each field.
_BRANCHES_PER_PAIR: Final = 20  # Looking at the names of so many takes as long as comparing two.
_SHOWN_MAX: Final = 200
_DEPTH_MAX: Final = 20  # Of records in records whose fields are named.


class AvroDefinition:
    """A definition that is known to be one."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Raises InvalidSchema, saying what is wrong."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Of logical types that it does not know.
                return cls(parse(data.decode()))
        except (AvroException, ValueError, TypeError, KeyError, AttributeError) as error:
            raise InvalidSchema(f"{type(error).__name__}: {str(error)[:500]}") from None
        except RecursionError:
            raise InvalidSchema("it is nested too deeply") from None

    def unreadable(self, writer: "AvroDefinition") -> list[str]:
        """What this definition, as a reader, cannot read of data written with another.

        Each is a sentence that names a field; [] where it can read all.
        """
        try:
            checker = _Checker()
            if checker.reads(self.schema, writer.schema):
                return []
            found = [*_unreadable(checker, self.schema, writer.schema, (), 0)]
        except RecursionError:
            raise InvalidSchema("it is nested too deeply to be compared") from None
        more = len(found) - CLASHES_NAMED_MAX
        return found[:CLASHES_NAMED_MAX] + ([f"and {more} more"] if more > 0 else [])


class _Checker(ReaderWriterCompatibilityChecker):
    """The library's, with an end: it compares every branch of a union with every other."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the library's
        self._left = PAIRS_COMPARED_MAX

    def reads(self, reader: Schema, writer: Schema) -> bool:
        found = self.get_compatibility(reader, writer).compatibility
        return found is not SchemaCompatibilityType.incompatible

    def get_compatibility(
        self,
        reader: Schema,
        writer: Schema,
        reference_token: str = "/",  # noqa: S107 - no password
        location: list[str] | None = None,
    ) -> SchemaCompatibilityResult:
        """Raises InvalidSchema when it would take too long."""
        self._left -= 1
        if isinstance(reader, UnionSchema) and isinstance(writer, NamedSchema):
            self._left -= len(reader.schemas) // _BRANCHES_PER_PAIR
            return self._branch_for(reader, writer)
        if isinstance(reader, RecordSchema) and isinstance(writer, RecordSchema):
            self._left -= len(reader.fields) * len(writer.fields) // _FIELDS_PER_PAIR
        if self._left < 0:
            raise InvalidSchema(
                f"it is too large to be compared: more than {PAIRS_COMPARED_MAX} pairs of types"
            )
        return super().get_compatibility(reader, writer, reference_token, location)

    def _branch_for(self, reader: UnionSchema, writer: NamedSchema) -> SchemaCompatibilityResult:
        """Whether a branch takes a named type: only one of that name can."""
        for branch in reader.schemas:
            named = isinstance(branch, NamedSchema) and schema_name_equals(branch, writer)
            if named and self.reads(branch, writer):
                return CompatibleResult
        kind = SchemaIncompatibilityType.missing_union_branch
        return incompatible(kind, f"reader union lacking writer type {writer.type}", [])


def _unreadable(
    checker: _Checker, reader: Schema, writer: Schema, path: tuple[str, ...], depth: int
) -> Iterator[str]:
    """Name the fields for which the library's verdict is no."""
    pair = _records(reader, writer)
    if pair is None or depth >= _DEPTH_MAX:
        yield f"{_place(path)}is {_shown(reader)} for the reader and {_shown(writer)} in the data"
        return
    reading, writing = pair
    before = len(path)
    named = False
    for each in reading.fields:
        field = cast(Field, each)
        there = lookup_writer_field(writing, field)
        here = (*path[:before], field.name)
        if there is None:
            if not field.has_default:
                named = True
                yield f"{_place(here)}has no default and is not in the data"
        elif not checker.reads(field.type, there.type):
            named = True
            yield from _unreadable(checker, field.type, there.type, here, depth + 1)
    if not named:
        yield f"{_place(path)}is {_shown(reader)} for the reader and {_shown(writer)} in the data"


def _records(reader: Schema, writer: Schema) -> tuple[RecordSchema, RecordSchema] | None:
    """The records to be compared, field by field: also the only ones in two unions."""
    found = [_record(each) for each in (reader, writer)]
    one, other = found
    if one is None or other is None or one.name != other.name:
        return None
    return one, other


def _record(schema: Schema) -> RecordSchema | None:
    if isinstance(schema, UnionSchema):
        records = [each for each in schema.schemas if isinstance(each, RecordSchema)]
        return records[0] if len(records) == 1 else None
    return schema if isinstance(schema, RecordSchema) else None


def _place(path: tuple[str, ...]) -> str:
    return f"field {'.'.join(path)} " if path else "it "


def _shown(schema: Schema) -> str:
    if isinstance(schema, UnionSchema):
        return f"[{', '.join(map(_shown, schema.schemas))}]"[:_SHOWN_MAX]
    name = getattr(schema, "fullname", schema.type)
    return str(schema.type) if name in (None, schema.type) else f"{schema.type} {name}"
