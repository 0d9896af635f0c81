"""Avro definitions: the only file that uses the Avro library.

It takes longer to import than most brokers need it: ``definitions.avro_definition`` imports it when
the first definition comes.
"""

import warnings
from collections.abc import Iterator
from typing import Final, Self, cast

from avro.compatibility import (
    ReaderWriterCompatibilityChecker,
    SchemaCompatibilityType,
    lookup_writer_field,
)
from avro.errors import AvroException
from avro.schema import Field, RecordSchema, Schema, UnionSchema, parse

from magnetar.errors import InvalidSchema

CLASHES_NAMED_MAX: Final = 20
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
            if _reads(self.schema, writer.schema):
                return []
            found = [*_unreadable(self.schema, writer.schema, (), 0)]
        except RecursionError:
            raise InvalidSchema("it is nested too deeply to be compared") from None
        more = len(found) - CLASHES_NAMED_MAX
        return found[:CLASHES_NAMED_MAX] + ([f"and {more} more"] if more > 0 else [])


def _reads(reader: Schema, writer: Schema) -> bool:
    checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]  # the library's
    found = checker.get_compatibility(reader, writer).compatibility
    return found is not SchemaCompatibilityType.incompatible


def _unreadable(reader: Schema, writer: Schema, path: tuple[str, ...], depth: int) -> Iterator[str]:
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
        elif not _reads(field.type, there.type):
            named = True
            yield from _unreadable(field.type, there.type, here, depth + 1)
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
        return f"[{', '.join(_shown(each) for each in schema.schemas)}]"
    name = getattr(schema, "fullname", schema.type)
    return str(schema.type) if name in (None, schema.type) else f"{schema.type} {name}"
