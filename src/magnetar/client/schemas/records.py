"""What a class of records is in Avro's words, and its values as dicts and back. Pure.

A record is a dataclass, a pydantic model or a msgspec struct. None of their libraries is imported:
who has such a class has imported it.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from magnetar.errors import InvalidValue

from . import kinds
from .kinds import Convert, Kind, Misfit, default_of

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COLLECTIONS: Final[Mapping[Any, Callable[[list[Any]], Any]]] = {
    list: list,
    Sequence: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
}
_NOT_FOUND: Final = object()


@dataclass(frozen=True, slots=True)
class AvroType:
    """In ``Annotated``: what a field is in Avro's words, where that is not as usual."""

    definition: Any


Int32 = Annotated[int, AvroType("int")]
"""A whole number of 32 bits: Java's ``int``. ``int`` alone has 64, as Java's ``long``."""

Float32 = Annotated[float, AvroType("float")]
"""A number of single precision: Java's ``float``. ``float`` alone is Java's ``double``."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field as the class has it."""

    name: str  # The attribute.
    written: str  # In the definition and the data.
    given: str  # The keyword that makes a record.
    default: Any = _NOT_FOUND
    factory: Callable[[], Any] | None = None

    @property
    def optional(self) -> bool:
        return self.default is not _NOT_FOUND or self.factory is not None


def fields_of(record: type) -> list[Field] | None:
    """The fields of a class of records; None when it is none."""
    if is_dataclass(record):
        return [
            Field(
                one.name,
                one.name,
                one.name,
                _NOT_FOUND if one.default is MISSING else one.default,
                None if one.default_factory is MISSING else one.default_factory,
            )
            for one in fields(record)
            if one.init
        ]
    if _is_model(record):
        return [
            _model_field(name, info) for name, info in vars(record)["__pydantic_fields__"].items()
        ]
    if "msgspec" in sys.modules and issubclass(record, sys.modules["msgspec"].Struct):
        inspected = sys.modules["msgspec"].structs.fields(record)
        nothing = sys.modules["msgspec"].NODEFAULT
        return [
            Field(
                one.name,
                one.encode_name,
                one.name,
                _NOT_FOUND if one.default is nothing else one.default,
                None if one.default_factory is nothing else one.default_factory,
            )
            for one in inspected
        ]
    return None


def is_record(kind: Any) -> bool:
    """Whether it is a class that a schema can be made from."""
    return isinstance(kind, type) and fields_of(kind) is not None


class Deriving:
    """Derives the kinds of one definition, in which a name is defined once."""

    def __init__(self, *, in_json: bool) -> None:
        self._in_json = in_json
        self._records: dict[type, Kind] = {}
        self._named: dict[str, type] = {}

    def record(self, record: type, name: str | None = None) -> Kind:
        """Raises InvalidValue for a class or a field that no record has."""
        found = fields_of(record)
        if found is None:
            raise InvalidValue(
                f"{record!r} is no record: give a dataclass, a pydantic model or a msgspec struct"
            )
        namespace, _, own = (name or record.__name__).rpartition(".")
        definition: dict[str, Any] = {"type": "record", "name": self._name(own, record)}
        if namespace:
            definition["namespace"] = namespace
        written: list[tuple[Field, Kind]] = []
        to_plain, of_plain = _to_plain(record, written), _of_plain(record, written)
        # A record may hold itself: where it comes again, its name is its definition.
        again = Kind(definition["name"], to_plain, of_plain, records=True)
        self._records[record] = again
        hints = get_type_hints(record, include_extras=True)
        written += [(field, self._field(record, field, hints[field.name])) for field in found]
        definition["fields"] = [_definition(field, one, record) for field, one in written]
        again.same_in_json = not _is_model(record) and all(
            one.same_in_json and (field.optional or not _nullable(one)) for field, one in written
        )
        return Kind(definition, to_plain, of_plain, None, again.same_in_json, records=True)

    def kind(self, hint: Any) -> Kind:
        """The kind of a type. Raises InvalidValue."""
        origin = get_origin(hint)
        if origin is Annotated:
            return self._annotated(hint)
        if hasattr(hint, "__supertype__"):
            return self.kind(hint.__supertype__)
        if origin in (Union, UnionType):
            return kinds.union([self.kind(each) for each in get_args(hint)])
        if origin in _COLLECTIONS or hint in _COLLECTIONS:
            return self._collection(origin or hint, get_args(hint))
        if origin in (dict, Mapping) and get_args(hint)[0] is str:
            return kinds.mapping(self.kind(get_args(hint)[1]))
        if isinstance(hint, type):
            return self._plain(hint)
        raise InvalidValue(f"a field of type {hint!r} has no place in a schema: see AvroType")

    def _plain(self, hint: type) -> Kind:
        in_json = self._in_json
        if hint in self._records:
            return self._records[hint]
        if issubclass(hint, Enum):
            return self._enum(hint)
        if is_record(hint):
            return self.record(hint)
        simple: dict[type, Callable[[], Kind]] = {
            NoneType: kinds.null,
            bool: kinds.boolean,
            int: lambda: kinds.whole("long"),
            float: lambda: kinds.real("double", in_json=in_json),
            str: kinds.text,
            bytes: lambda: kinds.binary(in_json=in_json),
            datetime: lambda: kinds.point_in_time(in_json=in_json),
            date: lambda: kinds.day(in_json=in_json),
            time: lambda: kinds.time_of_day(in_json=in_json),
            Decimal: kinds.decimal,
            UUID: kinds.uuid,
        }
        if hint not in simple:
            raise InvalidValue(
                f"a field of type {hint.__qualname__} has no place in a schema: make it a "
                "dataclass, or say by Annotated[..., AvroType(...)] what it is"
            )
        return simple[hint]()

    def _annotated(self, hint: Any) -> Kind:
        plain = hint.__origin__
        given = [one.definition for one in hint.__metadata__ if isinstance(one, AvroType)]
        if not given:
            return self.kind(plain)
        if plain is int and given[0] in ("int", "long"):
            return kinds.whole(given[0])
        if plain is float and given[0] in ("float", "double"):
            return kinds.real(given[0], in_json=self._in_json)
        return kinds.as_defined(given[0])

    def _collection(self, origin: Any, args: tuple[Any, ...]) -> Kind:
        if not args or (origin is tuple and args[1:] != (Ellipsis,)):
            raise InvalidValue(
                "a list, set or tuple needs the type of its items: list[str], tuple[str, ...]"
            )
        return kinds.array(self.kind(args[0]), _COLLECTIONS[origin])

    def _enum(self, members: type[Enum]) -> Kind:
        kind = kinds.symbol(members, self._name(members.__name__, members))
        again = Kind(members.__name__, kind.to_plain, kind.of_plain, None, kind.same_in_json)
        self._records[members] = again
        return kind

    def _field(self, record: type, field: Field, hint: Any) -> Kind:
        if not _NAME.fullmatch(field.written):
            raise InvalidValue(
                f"{record.__name__}.{field.written}: Avro's names are of a-z, 0-9, _"
            )
        try:
            kind = self.kind(hint)
        except InvalidValue as error:
            raise InvalidValue(f"{record.__name__}.{field.name}: {error}") from None
        if field.default is not _NOT_FOUND and field.default is not None and _nullable(kind):
            kind.definition = sorted(kind.definition, key="null".__eq__)  # It is of the first type.
        return kind

    def _name(self, name: str, kind: type) -> str:
        if not _NAME.fullmatch(name):
            raise InvalidValue(f"{name!r} is no name of Avro's: give the schema a name=")
        if self._named.setdefault(name, kind) is not kind:
            raise InvalidValue(f"two types are called {name} in one schema: rename one of them")
        return name


def _definition(field: Field, kind: Kind, record: type) -> dict[str, Any]:
    definition = {"name": field.written, "type": kind.definition}
    default = field.default
    if field.factory in (list, dict, set, frozenset, tuple):
        default = field.factory()  # Others may make another value each time.
    if default is not _NOT_FOUND:
        try:
            definition["default"] = default_of(kind, default)
        except Misfit as misfit:
            raise InvalidValue(f"the default of {record.__name__}.{field.name}: {misfit}") from None
    elif _nullable(kind) and kind.definition[0] == "null" and not field.optional:
        definition["default"] = None
    return definition


def _to_plain(record: type, written: list[tuple[Field, Kind]]) -> Convert:
    """``written`` may be filled later."""

    def to_plain(value: Any) -> dict[str, Any]:
        if not isinstance(value, record):
            raise Misfit(f"must be {record.__name__}, not {type(value).__name__}: make one of it")
        found, name = {}, ""
        try:
            for field, kind in written:
                name = field.name
                found[field.written] = kind.to_plain(getattr(value, name))
        except Misfit as misfit:
            raise misfit.inside(f".{name}") from None
        return found

    return to_plain


def _of_plain(record: type, written: list[tuple[Field, Kind]]) -> Convert:
    make: Callable[..., Any] = record
    """``written`` may be filled later."""
    model = _is_model(record)

    def of_plain(plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise Misfit(f"must be a record, not {type(plain).__name__}")
        found, name = {}, ""
        try:
            for field, kind in written:
                name = field.written
                value = plain.get(name, _NOT_FOUND)
                if value is not _NOT_FOUND:
                    found[field.given] = kind.of_plain(value)
                elif not field.optional:
                    _may_be_missing(kind)
                    found[field.given] = None
        except Misfit as misfit:
            raise misfit.inside(f".{name}") from None
        try:
            return record.model_validate(found) if model else make(**found)  # type: ignore[attr-defined]  # A model has it.
        except (TypeError, ValueError) as error:
            raise Misfit(f"is no {record.__name__}: {error}") from error

    return of_plain


def _is_model(record: type) -> bool:
    return "__pydantic_fields__" in vars(record) and hasattr(record, "model_validate")


def _model_field(name: str, info: Any) -> Field:
    """A field of a pydantic model; with aliases it is written and given under them."""
    given = info.validation_alias if isinstance(info.validation_alias, str) else name
    return Field(
        name,
        info.serialization_alias or name,
        given,
        _NOT_FOUND if info.is_required() or info.default_factory else info.default,
        info.default_factory,
    )


def _may_be_missing(kind: Kind) -> None:
    if not _nullable(kind):
        raise Misfit("is missing, and has no default")


def _nullable(kind: Kind) -> bool:
    return isinstance(kind.definition, list) and "null" in kind.definition
