"""Avro definitions: the only file that uses the Avro library.

It takes longer to import than most brokers need it: ``definitions.avro_definition`` imports it when
the first definition comes.

Which definition reads the data of which is decided as Avro's resolver for Java does, by which
Apache Pulsar decides. Its rules are wider than the specification's: the names of two records are
not compared, and a symbol of an enum that the reader lacks is no clash.
"""

import warnings
from collections.abc import Iterator
from types import NoneType
from typing import Any, Final, Self, cast

from avro.errors import AvroException
from avro.name import Name
from avro.schema import (
    ArraySchema,
    EnumSchema,
    Field,
    FixedSchema,
    MapSchema,
    NamedSchema,
    RecordSchema,
    Schema,
    UnionSchema,
    parse,
)

from magnetar.errors import InvalidSchema

CLASHES_NAMED_MAX: Final = 20
PAIRS_COMPARED_MAX: Final = 20_000
_BRANCHES_PER_PAIR: Final = 50  # Looking at the names of so many takes as long as comparing two.
_SHOWN_MAX: Final = 200
_DEPTH_SHOWN_MAX: Final = 20  # Of records in records whose fields are named.
_PROMOTED: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
_NUMBERS: Final[dict[str, Any]] = dict.fromkeys(("int", "long", "float", "double"), (int, float))
_VALUES: Final[dict[str, Any]] = {
    "boolean": bool,
    "null": NoneType,
    **_NUMBERS,
}  # Of the others: text.


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
            resolver = _Resolver(self.schema)
            found = [*dict.fromkeys(resolver.clashes(self.schema, writer.schema, ()))]
        except RecursionError:
            raise InvalidSchema("it is nested too deeply to be compared") from None
        more = len(found) - CLASHES_NAMED_MAX
        return found[:CLASHES_NAMED_MAX] + ([f"and {more} more"] if more > 0 else [])


class _Resolver:
    """Compares types of a reader, by whose aliases it knows a writer's, with those of a writer."""

    def __init__(self, reader: Schema) -> None:
        self._aliases = _Aliases(reader)
        self._left = PAIRS_COMPARED_MAX
        self._walked: set[tuple[int, int]] = set()  # Pairs of records, by identity.
        self._fitting: dict[tuple[int, int], bool] = {}
        self._like: dict[tuple[int, int], bool] = {}

    def clashes(self, reader: Schema, writer: Schema, path: tuple[str, ...]) -> Iterator[str]:
        """Sentences on what clashes, also deep inside. Raises InvalidSchema for what is too large.

        A pair of records is walked once.
        """
        self._count()
        if isinstance(writer, UnionSchema):
            yield from self._clashes_of_branches(reader, writer, path)
        elif isinstance(reader, UnionSchema):
            branch = self._branch(reader, writer)
            if branch is None:
                yield _clash(path, reader, writer)
            else:
                yield from self.clashes(branch, writer, path)
        elif isinstance(reader, RecordSchema) and isinstance(writer, RecordSchema):
            yield from self._clashes_of_records(reader, writer, path)
        elif not self._begins(reader, writer):
            yield _clash(path, reader, writer)
        else:
            for ours, theirs in zip(_inside(reader), _inside(writer), strict=True):
                yield from self.clashes(ours, theirs, path)

    def _clashes_of_branches(
        self, reader: Schema, writer: UnionSchema, path: tuple[str, ...]
    ) -> Iterator[str]:
        pairs = [(reader, each) for each in writer.schemas]
        if isinstance(reader, UnionSchema) and self._alike(reader, writer):
            pairs = [*zip(reader.schemas, writer.schemas, strict=True)]
        begun = [pair for pair in pairs if self._begins(*pair)]
        if len(begun) < len(pairs):
            yield _clash(path, reader, writer)
        for ours, theirs in begun:
            yield from self.clashes(ours, theirs, path)

    def _clashes_of_records(
        self, reader: RecordSchema, writer: RecordSchema, path: tuple[str, ...]
    ) -> Iterator[str]:
        pair = id(reader), id(writer)
        if pair in self._walked:
            return
        self._walked.add(pair)
        there = self._fields(writer)
        if len(there) < len(writer.fields):
            yield f"{_place(path)}has two fields that are one by the aliases of the reader"
        for field in reader.fields:
            here = (*path, field.name)
            if field.name in there:
                yield from self.clashes(field.type, there[field.name].type, here)
            elif not field.has_default:
                yield f"{_place(here)}has no default and is not in the data"
            elif not self._is_value(field.type, field.default):
                yield f"{_place(here)}has a default that is none of its type"

    def _is_value(self, schema: Schema, value: Any) -> bool:
        """Whether a default can be written by its type; of a union, by the first of its types."""
        self._count()
        if isinstance(schema, UnionSchema):
            return self._is_value(schema.schemas[0], value)
        if isinstance(schema, RecordSchema):
            given = value if isinstance(value, dict) else {}
            return all(
                self._is_value(field.type, given[field.name])
                if field.name in given
                else field.has_default and self._is_value(field.type, field.default)
                for field in schema.fields
            )
        if isinstance(
            schema, ArraySchema | MapSchema
        ):  # What holds nothing is an empty one to Java.
            inside = value.values() if isinstance(value, dict) else value
            kind = _inside(schema)[0]
            return not isinstance(value, list | dict) or all(
                self._is_value(kind, one) for one in inside
            )
        if isinstance(schema, EnumSchema):
            return value in schema.symbols
        return isinstance(value, _VALUES.get(schema.type, str)) and (
            schema.type == "boolean" or not isinstance(value, bool)
        )

    def _begins(self, reader: Schema, writer: Schema) -> bool:
        """Whether a type can be read so far as is seen without looking into fields and items."""
        self._count()
        if isinstance(writer, UnionSchema):
            return True
        if isinstance(reader, UnionSchema):
            return self._branch(reader, writer) is not None
        if isinstance(reader, RecordSchema) and isinstance(writer, RecordSchema):
            there = self._fields(writer)
            return all(field.has_default or field.name in there for field in reader.fields)
        if reader.type != writer.type:
            return reader.type in _PROMOTED.get(writer.type, ())
        if isinstance(reader, FixedSchema | EnumSchema):
            same = reader.props.get("size") == writer.props.get("size")
            return same and self._same_name(reader, writer)
        return True

    def _branch(self, reader: UnionSchema, writer: Schema) -> Schema | None:
        """The branch that takes a type: the same, a record that is like it, or a wider number."""
        self._count(len(reader.schemas) // _BRANCHES_PER_PAIR)
        same: list[Any] = [each for each in reader.schemas if each.type == writer.type]
        if isinstance(writer, NamedSchema):
            name = self._aliases.name(writer)
            exact = [each for each in same if each.fullname == name]
            if exact or not isinstance(writer, RecordSchema):
                return _first(exact)
            like = [each for each in same if self._fits(each, writer)]
            called = [each for each in like if self._same_name(each, writer)]
            return _first(called[-1:] or like)
        wider = _PROMOTED.get(writer.type, ())
        return _first(same or [each for each in reader.schemas if each.type in wider])

    def _fits(self, reader: RecordSchema, writer: RecordSchema) -> bool:
        """Whether each field of a record begins to be read."""
        pair = id(reader), id(writer)
        if pair not in self._fitting:
            self._fitting[pair] = True  # A record within itself depends on its other fields.
            there = self._fields(writer)
            self._fitting[pair] = all(
                self._begins(field.type, there[field.name].type)
                if field.name in there
                else field.has_default
                for field in reader.fields
            )
        return self._fitting[pair]

    def _alike(self, reader: Schema, writer: Schema) -> bool:
        """Whether two types differ in nothing but namespaces and defaults."""
        self._count()
        if reader.type != writer.type:
            return False
        if not isinstance(reader, NamedSchema):
            ours, theirs = _inside(reader), _inside(writer)
            return len(ours) == len(theirs) and all(map(self._alike, ours, theirs))
        pair = id(reader), id(writer)
        if pair not in self._like:
            self._like[pair] = True  # A record within itself depends on its other fields.
            self._like[pair] = self._same_name(reader, writer) and (
                self._alike_fields(reader, writer)
                if isinstance(reader, RecordSchema) and isinstance(writer, RecordSchema)
                else all(
                    reader.props.get(key) == writer.props.get(key) for key in ("size", "symbols")
                )
            )
        return self._like[pair]

    def _alike_fields(self, reader: RecordSchema, writer: RecordSchema) -> bool:
        there = self._fields(writer)
        return [field.name for field in reader.fields] == [*there] and all(
            self._alike(field.type, there[field.name].type) for field in reader.fields
        )

    def _same_name(self, reader: Schema, writer: Schema) -> bool:
        """Whether two types are called the same; in which namespaces does not matter."""
        ours = cast(NamedSchema, reader).name
        return bool(ours == self._aliases.name(cast(NamedSchema, writer)).rpartition(".")[2])

    def _fields(self, writer: RecordSchema) -> dict[str, Field]:
        """The fields of a writer's record by the names that the reader has for them."""
        self._count(len(writer.fields))
        return self._aliases.fields(writer)

    def _count(self, pairs: int = 1) -> None:
        self._left -= pairs
        if self._left < 0:
            raise InvalidSchema(
                f"it is too large to be compared: more than {PAIRS_COMPARED_MAX} pairs of types"
            )


class _Aliases:
    """The names that a reader has for a writer's types and fields."""

    def __init__(self, reader: Schema) -> None:
        self._types: dict[str, str] = {}
        self._fields: dict[str, dict[str, str]] = {}  # Of a record of the reader, by its full name.
        self._seen: set[str] = set()
        self._collect(reader)

    def name(self, writer: NamedSchema) -> str:
        """The full name of a writer's type."""
        name = str(writer.fullname)
        return self._types.get(name, name)

    def fields(self, writer: RecordSchema) -> dict[str, Field]:
        renamed = self._fields.get(self.name(writer), {})
        return {renamed.get(field.name, field.name): field for field in writer.fields}

    def _collect(self, reader: Schema) -> None:
        if isinstance(reader, NamedSchema):
            name = str(reader.fullname)
            if name in self._seen:
                return
            self._seen.add(name)
            for alias in _aliases(reader):
                self._types[str(Name(alias, None, reader.namespace).fullname)] = name
        if isinstance(reader, RecordSchema):
            renamed = {alias: field.name for field in reader.fields for alias in _aliases(field)}
            if renamed:
                self._fields[name] = renamed
        for each in _inside(reader):
            self._collect(each)


def _aliases(named: NamedSchema | Field) -> list[str]:
    found = named.props.get("aliases")
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _inside(schema: Schema) -> list[Schema]:
    if isinstance(schema, RecordSchema):
        return [field.type for field in schema.fields]
    if isinstance(schema, UnionSchema):
        return list(schema.schemas)
    if isinstance(schema, ArraySchema):
        return [schema.items]
    return [schema.values] if isinstance(schema, MapSchema) else []


def _clash(path: tuple[str, ...], reader: Schema, writer: Schema) -> str:
    return f"{_place(path)}is {_shown(reader)} for the reader and {_shown(writer)} in the data"


def _place(path: tuple[str, ...]) -> str:
    shown = ".".join(path[:_DEPTH_SHOWN_MAX]) + ("..." if len(path) > _DEPTH_SHOWN_MAX else "")
    return f"field {shown} " if path else "it "


def _shown(schema: Schema) -> str:
    if isinstance(schema, UnionSchema):
        return f"[{', '.join(map(_shown, schema.schemas))}]"[:_SHOWN_MAX]
    name = getattr(schema, "fullname", schema.type)
    return str(schema.type) if name in (None, schema.type) else f"{schema.type} {name}"


def _first(found: list[Any]) -> Schema | None:
    return found[0] if found else None
