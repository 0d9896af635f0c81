"""What a class of records is in Avro's words, and its values as dicts and back. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin
from uuid import UUID

from magnetar.errors import InvalidValue, UndecodableValue

from . import kinds
from .kinds import Convert, Kind, ValueMismatch, default_of
from .record_fields import NOT_FOUND, Field, fields_of, hints_of, is_model, is_record, plainly_made
from .schema import T

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COLLECTIONS: Final[Mapping[Any, Callable[[list[Any]], Any]]] = {
    list: list,
    Sequence: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
}
_EMPTY: Final = (list, dict, set, frozenset, tuple)


@dataclass(frozen=True, slots=True)
class AvroType:
    """In ``Annotated``: what a field is in Avro's words, where that is not as usual."""

    definition: Any


Int32 = Annotated[int, AvroType("int")]
"""A whole number of 32 bits: Java's ``int``. ``int`` alone has 64, as Java's ``long``."""

Float32 = Annotated[float, AvroType("float")]
"""A number of single precision: Java's ``float``. ``float`` alone is Java's ``double``."""


def plain_of(kind: Kind, record: type, value: Any) -> Any:
    """A record as a plain value. Raises InvalidValue, which names the field."""
    try:
        return kind.to_plain(value)
    except ValueMismatch as misfit:
        raise InvalidValue(f"{record.__name__}: {misfit}") from None
    except RecursionError:
        raise InvalidValue(f"{record.__name__}: the value is nested too deeply") from None


def value_of(kind: Kind, record: type[T], plain: Any) -> T:
    """A plain value as a record. Raises UndecodableValue."""
    try:
        found: T = kind.of_plain(plain)
    except ValueMismatch as misfit:
        raise UndecodableValue(f"{record.__name__}: {misfit}") from None
    except RecursionError:
        raise UndecodableValue(f"{record.__name__}: the value is nested too deeply") from None
    return found


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
        described: list[dict[str, Any]] = []
        if namespace:
            definition["namespace"] = namespace
        written: list[tuple[Field, Kind]] = []
        to_plain, of_plain = _to_plain(record, written), _of_plain(record, written)
        # A record may hold itself: where it comes again, its name is its definition.
        again = Kind(definition["name"], to_plain, of_plain, records=True)
        self._records[record] = again
        hints = hints_of(record)
        for field in found:
            kind = self._field(record, field, hints[field.name])
            written.append((field, kind))
            described.append(_described(field, kind, record))
        definition["fields"] = described
        again.same_in_json = plainly_made(record) and all(
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
            return self.kind(hint)
        except InvalidValue as error:
            raise InvalidValue(f"{record.__name__}.{field.name}: {error}") from None

    def _name(self, name: str, kind: type) -> str:
        if not _NAME.fullmatch(name):
            raise InvalidValue(f"{name!r} is no name of Avro's: give the schema a name=")
        if self._named.setdefault(name, kind) is not kind:
            raise InvalidValue(f"two types are called {name} in one schema: rename one of them")
        return name


def _described(field: Field, kind: Kind, record: type) -> dict[str, Any]:
    """A field in the definition."""
    described: dict[str, Any] = {"name": field.written, "type": kind.definition}
    default = field.default
    if field.factory in _EMPTY:
        default = field.factory()  # Others may make another value each time.
    if default is NOT_FOUND:
        if _nullable(kind) and not field.optional:
            described["default"] = None
        return described
    if default is not None and _nullable(kind):  # A default is of the first type of its union.
        described["type"] = sorted(kind.definition, key=lambda one: one == "null")
    try:
        described["default"] = default_of(kind, default)
    except ValueMismatch as misfit:
        raise InvalidValue(f"the default of {record.__name__}.{field.name}: {misfit}") from None
    return described


def _to_plain(record: type, written: list[tuple[Field, Kind]]) -> Convert:
    """``written`` may be filled later."""

    def to_plain(value: Any) -> dict[str, Any]:
        if not isinstance(value, record):
            raise ValueMismatch(
                f"must be {record.__name__}, not {type(value).__name__}: make one of it"
            )
        found, name = {}, ""
        try:
            for field, kind in written:
                name = field.name
                found[field.written] = kind.to_plain(getattr(value, name))
        except ValueMismatch as misfit:
            raise misfit.inside(f".{name}") from None
        return found

    return to_plain


def _of_plain(record: type, written: list[tuple[Field, Kind]]) -> Convert:
    """``written`` may be filled later."""
    make: Callable[..., Any] = record
    model = is_model(record)

    def of_plain(plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise ValueMismatch(f"must be a record, not {type(plain).__name__}")
        found, name = {}, ""
        try:
            for field, kind in written:
                name = field.written
                value = plain.get(name, NOT_FOUND)
                if value is not NOT_FOUND:
                    found[field.given] = kind.of_plain(value)
                elif not field.optional:
                    _may_be_missing(kind)
                    found[field.given] = None
        except ValueMismatch as misfit:
            raise misfit.inside(f".{name}") from None
        try:
            return record.model_validate(found) if model else make(**found)  # type: ignore[attr-defined]  # A model has it.
        except (TypeError, ValueError) as error:
            raise ValueMismatch(f"is no {record.__name__}: {error}") from error

    return of_plain


def _may_be_missing(kind: Kind) -> None:
    if not _nullable(kind):
        raise ValueMismatch("is missing, and has no default")


def _nullable(kind: Kind) -> bool:
    return isinstance(kind.definition, list) and "null" in kind.definition
