"""Records as JSON objects with a version. Fields are checked as they are taken out. Pure."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Self, TypeAlias, TypeVar

from magnetar.errors import InvalidValue
from magnetar.model.position import Position

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

VERSION: Final = 1
"""The version of every record. ``magnetar.storage.codec`` says when it changes."""

NUMBER_MAX: Final = 2**63 - 1
NO_TEXTS: Final[Mapping[str, str]] = MappingProxyType({})


def encode(fields: Mapping[str, Any]) -> bytes:
    """Encode a record with these fields."""
    return dump_object({"version": VERSION, **fields})


def dump_object(fields: Mapping[str, Any]) -> bytes:
    """Encode any object with these fields."""
    return json.dumps(fields, separators=(",", ":")).encode()


def load_object(value: bytes) -> Json:
    """Return the fields of any JSON object. Raises InvalidValue if it is none."""
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"it is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise InvalidValue(f"it is a JSON {type(fields).__name__}, not an object")
    return fields


def decode(value: bytes) -> Json:
    """Return the fields of a record, without its version. Raises InvalidValue if it is none."""
    fields = load_object(value)
    version = fields.pop("version", None)
    if version is None:
        raise InvalidValue(
            "it has no version, so it is of a time before the first release, and this Magnetar "
            f"reads version {VERSION}"
        )
    if version != VERSION or isinstance(version, bool):
        raise InvalidValue(
            f"its version is {version!r:.50}, and this Magnetar reads {VERSION}: use the Magnetar "
            "that wrote it, or a newer one"
        )
    return fields


class Fields:
    """The fields of an object, to be taken out one by one, so that unknown ones are left.

    Everything raises InvalidValue, naming the field.
    """

    def __init__(self, fields: Json, within: str = "") -> None:
        self.left = fields
        self._within = within

    @classmethod
    def of(cls, value: bytes) -> Self:
        return cls(decode(value))

    def number(self, name: str, minimum: int = 0) -> int:
        return self._number(name, self._take(name), minimum)

    def number_or_none(self, name: str) -> int | None:
        value = self._take(name)
        return None if value is None else self._number(name, value, 0)

    def numbers(self, name: str, minimum: int = 0) -> list[int]:
        return [self._number(name, each, minimum) for each in self._list(name)]

    def position(self, name: str) -> Position:
        fields = self._object(name, self._take(name))
        return Position(fields.number("ledgerId", -1), fields.number("entryId", -1))

    def objects(self, name: str, read: "Callable[[Fields], T]") -> list[T]:
        return [read(self._object(name, each)) for each in self._list(name)]

    def objects_if_any(self, name: str, read: "Callable[[Fields], T]") -> list[T]:
        """Take a list of objects; a record that was written without the field has none."""
        return self.objects(name, read) if name in self.left else []

    def texts_if_any(self, name: str) -> Mapping[str, str]:
        """Take an object of texts; a record of before there was such a field has none."""
        return self.texts(name) if name in self.left else NO_TEXTS

    def part(self, name: str) -> "Fields":
        """Take an object, to take its own fields out."""
        return self._object(name, self._take(name))

    def object_if_any(self, name: str, read: "Callable[[Fields], T]") -> T | None:
        """Take an object; None where a record has no such field."""
        return read(self.part(name)) if name in self.left else None

    def text(self, name: str) -> str:
        value = self._take(name)
        if not isinstance(value, str):
            raise self.wrong(name, value, "a text")
        return value

    def flag(self, name: str) -> bool:
        value = self._take(name)
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def texts(self, name: str) -> dict[str, str]:
        """Take an object of texts."""
        texts = self._object(name, self._take(name)).left
        if not all(isinstance(text, str) for text in texts.values()):
            raise self.wrong(name, texts, "an object of texts")
        return texts

    def wrong(self, name: str, value: object, expected: str) -> InvalidValue:
        return InvalidValue(f"{self._within}{name} is {value!r:.100}, not {expected}")

    def _take(self, name: str) -> object:
        if name not in self.left:
            raise InvalidValue(f"{self._within}{name} is missing")
        value: object = self.left.pop(name)
        return value

    def _number(self, name: str, value: object, minimum: int) -> int:
        if type(value) is not int or not minimum <= value <= NUMBER_MAX:
            raise self.wrong(name, value, f"a whole number from {minimum} to {NUMBER_MAX}")
        return value

    def _list(self, name: str) -> list[object]:
        value = self._take(name)
        if not isinstance(value, list):
            raise self.wrong(name, value, "a list")
        return value

    def _object(self, name: str, value: object) -> "Fields":
        if not isinstance(value, dict):
            raise self.wrong(name, value, "an object")
        return Fields(value, f"{self._within}{name}.")


def position(place: Position) -> Json:
    """Make a position an object, as ``Fields.position`` takes it."""
    return {"ledgerId": place.ledger_id, "entryId": place.entry_id}
