"""Kinds of values: each in Avro's words, and how its values become plain ones and back. Pure.

Plain values are those that JSON has, or that Avro's library writes: a record is a dict. Types of
Python that JSON lacks are texts in JSON, and logical types of Avro.
"""

import math
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Final
from uuid import UUID

from magnetar.errors import InvalidValue

from .primitives import of_day, since_epoch

Convert = Callable[[Any], Any]

_INT_BITS: Final = {"int": 31, "long": 63}


class ValueMismatch(Exception):
    """A value that does not fit. ``path`` leads to it, innermost name first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.path: list[str] = []

    def __str__(self) -> str:
        place = "".join(reversed(self.path)).lstrip(".")
        return f"{place}: {self.args[0]}" if place else str(self.args[0])

    def inside(self, name: str) -> "ValueMismatch":
        self.path.append(name)
        return self


@dataclass(slots=True, eq=False)
class Kind:
    """One type, in JSON or in Avro. ``to_plain`` and ``of_plain`` raise Misfit.

    ``same_in_json``: a library that encodes Python's types as JSON by itself writes the same.
    """

    definition: Any
    to_plain: Convert
    of_plain: Convert
    to_default: Convert | None = None  # As a default in the definition; None: as a plain value.
    same_in_json: bool = True
    records: bool = False  # Its plain values are dicts.


def null() -> Kind:
    def check(value: Any) -> None:
        if value is not None:
            raise ValueMismatch(f"must be None, not {_named(value)}: leave it out")

    return Kind("null", check, check)


def boolean() -> Kind:
    check = _checked(bool)
    return Kind("boolean", check, check)


def whole(definition: str) -> Kind:
    """Numbers of type int or long."""
    most = 1 << _INT_BITS[definition]

    def check(value: Any) -> int:
        if type(value) is not int:
            if not isinstance(value, int) or isinstance(value, bool):
                raise ValueMismatch(f"must be int, not {_named(value)}: convert it")
            value = int(value)
        number: int = value
        if not -most <= number < most:
            raise ValueMismatch(
                f"{number} is out of range for {definition}: declare it as another type"
            )
        return number

    return Kind(definition, check, check)


def real(definition: str, *, in_json: bool) -> Kind:
    """Numbers of type float or double."""

    def check(value: Any) -> float:
        if type(value) is not float:
            if not isinstance(value, float | int) or isinstance(value, bool):
                raise ValueMismatch(f"must be float, not {_named(value)}: convert it")
            value = float(value)
        number: float = value
        if in_json and not math.isfinite(number):
            raise ValueMismatch(f"JSON has no {number}: leave it out, or use AvroSchema")
        return number

    return Kind(definition, check, check)


def text() -> Kind:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueMismatch(f"must be str, not {_named(value)}: convert it")
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueMismatch("has a lone surrogate, which UTF-8 cannot write") from None
        return value

    return Kind("string", check, check)


def binary(*, in_json: bool) -> Kind:
    """Bytes; in JSON as base64, as Java's client has it."""

    def check(value: Any) -> bytes:
        if not isinstance(value, bytes):
            raise ValueMismatch(f"must be bytes, not {_named(value)}: encode it")
        return value

    def decode(plain: Any) -> bytes:
        try:
            return b64decode(_text(plain), validate=True)
        except (NotBase64, ValueError):
            raise ValueMismatch("is not base64") from None

    if not in_json:
        return Kind("bytes", check, check, to_default=lambda value: value.decode("latin-1"))
    return Kind(
        "bytes",
        lambda value: b64encode(check(value)).decode(),
        decode,
        to_default=lambda value: value.decode("latin-1"),
    )


def point_in_time(*, in_json: bool) -> Kind:
    """A datetime with a zone: to the microsecond, and back in UTC."""
    if in_json:
        return _written(datetime, _utc_text, datetime.fromisoformat)
    return Kind(
        {"type": "long", "logicalType": "timestamp-micros"},
        _in_utc,
        _checked(datetime),
        to_default=lambda value: _micros(since_epoch(value)),
    )


def day(*, in_json: bool) -> Kind:
    if in_json:
        return _written(date, date.isoformat, date.fromisoformat)
    return Kind(
        {"type": "int", "logicalType": "date"},
        _checked(date),
        _checked(date),
        to_default=lambda value: value.toordinal() - date(1970, 1, 1).toordinal(),
    )


def time_of_day(*, in_json: bool) -> Kind:
    if in_json:
        return _written(time, time.isoformat, time.fromisoformat)
    return Kind(
        {"type": "long", "logicalType": "time-micros"},
        _without_zone,
        _checked(time),
        to_default=lambda value: _micros(of_day(value)),
    )


def decimal() -> Kind:
    """A decimal number as text, as Java's clients have it: of any precision."""
    return _written(Decimal, str, Decimal)


def uuid() -> Kind:
    kind = _written(UUID, str, UUID)
    kind.definition = {"type": "string", "logicalType": "uuid"}
    kind.of_plain = _either(UUID, kind.of_plain)  # Avro's library makes one by itself.
    return kind


def symbol(members: type[Enum], name: str) -> Kind:
    """A member of an enumeration, by its name; clients that write values are understood, too."""
    by_name: dict[str, Enum] = dict(members.__members__)
    by_value = {each.value: each for each in members if isinstance(each.value, str | int)}

    def to_plain(value: Any) -> str:
        if isinstance(value, members):
            return value.name
        raise ValueMismatch(f"must be one of {', '.join(by_name)} of {name}, not {_named(value)}")

    def of_plain(plain: Any) -> Enum:
        found = by_name.get(plain) if isinstance(plain, str) else None
        if found is None and type(plain) in (str, int):
            found = by_value.get(plain)
        if found is None:
            raise ValueMismatch(f"{plain!r:.50} is none of {', '.join(by_name)} of {name}")
        return found

    definition = {"type": "enum", "name": name, "symbols": [each.name for each in members]}
    same = all(key == each.value for key, each in by_name.items())
    return Kind(definition, to_plain, of_plain, same_in_json=same)


def array(items: Kind, make: Callable[[list[Any]], Any]) -> Kind:
    def to_plain(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple | set | frozenset):
            raise ValueMismatch(f"must be a list, not {_named(value)}: make one of it")
        return _each(items.to_plain, value)

    def of_plain(plain: Any) -> Any:
        if not isinstance(plain, list):
            raise ValueMismatch(f"must be a list, not {_named(plain)}")
        return make(_each(items.of_plain, plain))

    definition = {"type": "array", "items": items.definition}
    return Kind(definition, to_plain, of_plain, same_in_json=items.same_in_json)


def mapping(values: Kind) -> Kind:
    def convert(value: Any, one: Convert) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueMismatch(f"must be a dict, not {_named(value)}: make one of it")
        found = {}
        for key, each in value.items():
            if not isinstance(key, str):
                raise ValueMismatch(f"has a key of type {_named(key)}: keys are str")
            try:
                found[key] = one(each)
            except ValueMismatch as misfit:
                raise misfit.inside(f"[{key!r}]") from None
        return found

    return Kind(
        {"type": "map", "values": values.definition},
        lambda value: convert(value, values.to_plain),
        lambda plain: convert(plain, values.of_plain),
        same_in_json=values.same_in_json,
        records=True,
    )


def union(kinds: list[Kind]) -> Kind:
    """One of several; the first that a value fits. Raises InvalidValue for two of dicts."""
    if sum(kind.records for kind in kinds) > 1:
        raise InvalidValue("a union of several records or dicts: their values look the same")
    others = [kind for kind in kinds if kind.definition != "null"]
    nullable = len(others) < len(kinds)

    def convert(converts: list[Convert]) -> Convert:
        def one(value: Any) -> Any:
            if value is None and nullable:
                return None
            first: ValueMismatch | None = None
            for each in converts:
                try:
                    return each(value)
                except ValueMismatch as misfit:
                    first = first or misfit
            raise first or ValueMismatch("must be None")

        return one

    def to_default(value: Any) -> Any:
        return None if value is None else default_of(others[0], value)

    return Kind(
        ["null"] * nullable + [kind.definition for kind in others],
        convert([kind.to_plain for kind in others]),
        convert([kind.of_plain for kind in others]),
        to_default,
        same_in_json=all(kind.same_in_json for kind in kinds) and len(others) == 1,
        records=any(kind.records for kind in kinds),
    )


def as_defined(definition: Any) -> Kind:
    """A kind that the application defines by itself: the library checks its values."""
    return Kind(definition, _unchanged, _unchanged, same_in_json=False)


def default_of(kind: Kind, value: Any) -> Any:
    """A value as a default in a definition. Raises Misfit."""
    plain = kind.to_plain(value)
    return plain if kind.to_default is None else kind.to_default(value)


def _unchanged(value: Any) -> Any:
    return value


def _written(kind: type, to_text: Callable[[Any], str], of_text: Callable[[str], Any]) -> Kind:
    """A type that is written as text."""
    check = _checked(kind)

    def of_plain(plain: Any) -> Any:
        try:
            return of_text(_text(plain))
        except (ValueError, InvalidOperation):
            raise ValueMismatch(f"{plain!r:.50} is no {kind.__name__}") from None

    return Kind("string", lambda value: to_text(check(value)), of_plain)


def _checked(kind: type) -> Convert:
    def check(value: Any) -> Any:
        if not isinstance(value, kind) or (kind is date and isinstance(value, datetime)):
            raise ValueMismatch(f"must be {kind.__name__}, not {_named(value)}: convert it")
        return value

    return check


def _either(kind: type, convert: Convert) -> Convert:
    return lambda plain: plain if isinstance(plain, kind) else convert(plain)


def _each(convert: Convert, values: Any) -> list[Any]:
    found: list[Any] = []
    try:
        for value in values:
            found.append(convert(value))  # noqa: PERF401 - its length says where it stopped
    except ValueMismatch as misfit:
        raise misfit.inside(f"[{len(found)}]") from None
    return found


def _text(plain: Any) -> str:
    if not isinstance(plain, str):
        raise ValueMismatch(f"must be text, not {_named(plain)}")
    return plain


def _in_utc(value: Any) -> datetime:
    found: datetime = _checked(datetime)(value)
    if found.tzinfo is None:
        raise ValueMismatch(f"{found!r} has no time zone: give it one, as by astimezone()")
    try:
        return found.astimezone(UTC)
    except OverflowError:
        raise ValueMismatch(f"{found!r} is out of range: Python has no such time in UTC") from None


def _without_zone(value: Any) -> time:
    found: time = _checked(time)(value)
    if found.tzinfo is not None:
        raise ValueMismatch(f"{found!r} has a time zone: convert it, and take the zone off")
    return found


def _utc_text(value: Any) -> str:
    return _in_utc(value).isoformat()


def _micros(since: timedelta) -> int:
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _named(value: object) -> str:
    return "None" if value is None else type(value).__name__
