"""A mapping of a pipeline's file, read key by key: every mistake names its place and the remedy."""

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from magnetar.errors import InvalidValue


class Keys:
    """The mapping at ``place`` of the file, which may have the keys ``known``, and no other."""

    def __init__(self, place: str, value: Any, known: Collection[str]) -> None:
        """Raises InvalidValue for what is no mapping, and for a key that is not known."""
        self.place = place
        self._values = mapping(place, value)
        for key in self._values:
            if key not in known:
                raise InvalidValue(f"{self.at(key)} is not known: {suggestion(key, known)}")

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def get(self, key: str) -> Any:
        return self._values.get(key)

    def text(self, key: str) -> str | None:
        """The text of a key; a number counts as such. Raises InvalidValue."""
        value = self._values.get(key)
        return None if value is None else scalar(self.at(key), value)

    def needed(self, key: str, example: str) -> str:
        text = self.text(key)
        if not text:
            raise InvalidValue(f"{self.at(key)} is missing: give it, for example {example}")
        return text

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list; one text is a list of one."""
        value = self._values.get(key)
        if value is None:
            return ()
        values = value if isinstance(value, list) else [value]
        return tuple(scalar(self.at(key), one) for one in values)

    def options(self, key: str) -> dict[str, str]:
        """Options for Spark: texts by name."""
        found = mapping(self.at(key), self._values.get(key) or {})
        return {name: scalar(f"{self.at(key)}.{name}", value) for name, value in found.items()}

    def named(self, key: str, known: Collection[str]) -> Iterator[tuple[str, "Keys"]]:
        """What has names of its own there, with the keys ``known`` in each."""
        for name, value in mapping(self.at(key), self._values.get(key) or {}).items():
            yield name, Keys(f"{self.at(key)}.{name}", value, known)


def mapping(place: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidValue(f"{place or 'the file'} has to be a mapping of names to values")
    for key in value:
        if not isinstance(key, str):
            raise InvalidValue(f"{place or 'the file'}: the key {key!r} has to be text: quote it")
    return value


def scalar(place: str, value: Any) -> str:
    """Text for Spark, which writes truth as YAML does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value).strip()
    raise InvalidValue(f"{place} has to be a text, not a {type(value).__name__}")


def suggestion(given: str, known: Collection[str]) -> str:
    """The near one, or all."""
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
