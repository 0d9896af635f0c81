"""One setting: its key outside, what its value may be, and text to value. Pure."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from magnetar.errors import InvalidValue

ENVIRONMENT_PREFIX: Final = "MAGNETAR_"
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})

S = TypeVar("S")


class Key(NamedTuple):
    """Goes with a field's type, as ``Annotated[int, Key("brokerServicePort", "...")]``."""

    key: str
    about: str
    minimum: float | None = None
    maximum: float | None = None


class Setting(NamedTuple):
    """A field of a section: its name there, the type its values have, and its key."""

    name: str
    kind: Any  # str, int, float, bool, Path, or a Literal of texts.
    outside: Key

    @property
    def key(self) -> str:
        return self.outside.key

    def parse(self, text: str, source: str) -> object:
        """The value written as ``text``. Raises InvalidValue naming key, value and remedy."""
        text = text.strip()
        if get_origin(self.kind) is Literal:
            return self._one_of(text, get_args(self.kind), source)
        if self.kind is bool:
            return self._truth(text, source)
        if self.kind is int or self.kind is float:
            return self._number(text, source)
        if not text:
            raise self._refusal(text, source, "give it a value, or leave the key out")
        return self.kind(text)

    def _one_of(self, text: str, choices: tuple[str, ...], source: str) -> str:
        if text not in choices:
            raise self._refusal(text, source, f"use one of {', '.join(choices)}")
        return text

    def _truth(self, text: str, source: str) -> bool:
        word = text.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise self._refusal(text, source, "use true or false")

    def _number(self, text: str, source: str) -> float:
        kind, what = (int, "a whole number") if self.kind is int else (float, "a number")
        low, high = self.outside.minimum, self.outside.maximum
        if low is not None and high is not None:
            what += f" from {low} to {high}"
        elif low is not None:
            what += f" of at least {low}"
        try:
            value = kind(text)
        except ValueError:
            raise self._refusal(text, source, f"use {what}") from None
        # Written so that "nan" fails too.
        if not ((low is None or value >= low) and (high is None or value <= high)):
            raise self._refusal(text, source, f"use {what}")
        return value

    def _refusal(self, text: str, source: str, remedy: str) -> InvalidValue:
        return InvalidValue(refusal_text(self.key, text, source, remedy))


def refusal_text(key: str, value: str, source: str, remedy: str) -> str:
    """What is said of a setting whose value is refused."""
    return f"{key}={value!r} ({source}): {remedy}"


def settings_of(section: type[object]) -> tuple[Setting, ...]:
    """The settings a section is made of, in its order."""
    return tuple(
        Setting(name, *get_args(kind))
        for name, kind in get_type_hints(section, include_extras=True).items()
    )


def section_from(section: type[S], given: Mapping[str, str], sources: Mapping[str, str]) -> S:
    """A section with what was given and defaults for the rest. Raises InvalidValue."""
    values = {
        one.name: one.parse(given[one.key], sources[one.key])
        for one in settings_of(section)
        if one.key in given
    }
    return section(**values)


def variable_of(key: str) -> str:
    """The environment variable of a key: ``MAGNETAR_BROKER_SERVICE_PORT``."""
    return ENVIRONMENT_PREFIX + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).upper()


def text_of(value: object) -> str:
    """A value as it would be written in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Path):
        return str(value)
    return f"{value}"
