"""One setting: its key, the values it may have, and how text becomes a value. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin

from magnetar.errors import InvalidValue

ENVIRONMENT_PREFIX: Final = "MAGNETAR_"
MIB: Final = 1024 * 1024
HIDDEN: Final = "***"
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})

S = TypeVar("S")
T = TypeVar("T")


class Setting(NamedTuple):
    """A field of a section: its name and type there, its key outside, and what it does."""

    name: str
    kind: Any  # str, int, float, bool, Path, or None; a Literal of texts; a tuple of such.
    key: str
    about: str
    minimum: float  # It bounds numbers only.
    maximum: float | None
    secret: bool = False  # Its value is never shown, unless it only says where the secret is.

    def shown(self, value: object) -> str:
        """A value as an operator may see it: secrets are replaced by asterisks."""
        text = text_of(value)
        return HIDDEN if self.secret and text and not text.startswith("file:") else text

    def parse(self, text: str, source: str) -> object:
        """The value written as ``text``. Raises InvalidValue naming key, value and remedy."""
        text = text.strip()
        if get_origin(self.kind) is Literal:
            return self._one_of(text, get_args(self.kind), source)
        if get_origin(self.kind) is tuple:
            return self._some_of(text, get_args(get_args(self.kind)[0]), source)
        if self.kind is bool:
            return self._truth(text, source)
        if self.kind in (int, float, int | None):
            return self._number(text, source)
        if not text:
            raise self._refusal(text, source, "give it a value, or leave the key out")
        return Path(text) if self.kind == Path | None else self.kind(text)

    def _one_of(self, text: str, choices: tuple[str, ...], source: str) -> str:
        if text not in choices:
            raise self._refusal(text, source, f"use one of {', '.join(choices)}")
        return text

    def _some_of(self, text: str, choices: tuple[str, ...], source: str) -> tuple[str, ...]:
        """Some of ``choices``, or any names where there are none to choose from."""
        found = [word.strip() for word in text.split(",") if word.strip() or choices]
        if choices and not set(found) <= set(choices):
            raise self._refusal(text, source, f"use some of {','.join(choices)}")
        return tuple(dict.fromkeys(found))

    def _truth(self, text: str, source: str) -> bool:
        word = text.lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise self._refusal(text, source, "use true or false")

    def _number(self, text: str, source: str) -> float:
        kind, what = (float, "a number") if self.kind is float else (int, "a whole number")
        low, high = self.minimum, self.maximum
        what += f" of at least {low}" if high is None else f" from {low} to {high}"
        try:
            value = kind(text)
        except ValueError:
            raise self._refusal(text, source, f"use {what}") from None
        # "nan" fails this comparison too.
        if not (value >= low and (high is None or value <= high)):
            raise self._refusal(text, source, f"use {what}")
        return value

    def _refusal(self, text: str, source: str, remedy: str) -> InvalidValue:
        shown = HIDDEN if self.secret and text else text
        return InvalidValue(refusal_text(self.key, shown, source, remedy))


def refusal_text(key: str, value: str, source: str, remedy: str) -> str:
    """The message for a refused value."""
    return f"{key}={value!r} ({source}): {remedy}"


def refusal_texts(found: Iterable[tuple[str, str, str]], sources: Mapping[str, str]) -> list[str]:
    """The messages for refused values: the key, the value and the remedy of each."""
    return [
        refusal_text(key, value, sources.get(key, "default"), remedy)
        for key, value, remedy in found
    ]


def setting(
    key: str,
    default: T,
    about: str,
    *,
    minimum: float = 0,
    maximum: float | None = None,
    secret: bool = False,
) -> T:
    """Declare a field of a section, which is a dataclass; outside it is called ``key``."""
    outside = {"key": key, "about": about, "minimum": minimum, "maximum": maximum}
    return field(default=default, metadata={**outside, "secret": secret}, repr=not secret)


def settings_of(section: type[Any]) -> tuple[Setting, ...]:
    """The settings a section is made of, in its order; a field without a key is none."""
    declared = [each for each in fields(section) if each.metadata]
    return tuple(Setting(each.name, each.type, **each.metadata) for each in declared)


def sections_of(config: type[Any]) -> Mapping[str, type[Any]]:
    """The sections that a configuration is made of, by the name of their field, in its order."""
    return {
        each.name: each.type
        for each in fields(config)
        if isinstance(each.type, type) and is_dataclass(each.type)
    }


def rows_of(
    config: object, sections: Iterable[str], source_of: Callable[[str], str]
) -> list[tuple[str, str, str, str]]:
    """Key, value, source and explanation of every setting of these sections, in their order.

    Secrets are not shown.
    """
    return [
        (one.key, one.shown(getattr(section, one.name)), source_of(one.key), one.about)
        for section in (getattr(config, name) for name in sections)
        for one in settings_of(type(section))
    ]


def section_from(
    section: type[S], given: Mapping[str, str], sources: Mapping[str, str], wrong: dict[str, str]
) -> S:
    """A section with what was given and defaults for the rest.

    A value that is none of its setting is told in ``wrong``, by key, and the default stands.
    """
    values = {}
    for one in settings_of(section):
        if one.key in given:
            try:
                values[one.name] = one.parse(given[one.key], sources[one.key])
            except InvalidValue as error:
                wrong[one.key] = str(error)
    return section(**values)


def variable_of(key: str) -> str:
    """The environment variable of a key: ``MAGNETAR_BROKER_SERVICE_PORT``."""
    return ENVIRONMENT_PREFIX + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).upper()


def text_of(value: object) -> str:
    """A value as it would be written in a file."""
    if isinstance(value, tuple):
        return ",".join(map(text_of, value))
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
