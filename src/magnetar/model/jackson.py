"""JSON values as Jackson reads them, by which Pulsar reads the bodies of its admin API. Pure.

A number or a truth may come as text, a text as a number; ``null``, and text that is blank or says
``null``, is None where a number or a truth is expected. Whatever else has another type is refused.
``tests/golden/jackson.tsv`` has what Pulsar 4.0.7 makes of each.
"""

import json
import re
from math import isfinite
from typing import Any, Final, NoReturn

from magnetar.errors import InvalidValue

_WHOLE: Final = re.compile(r"[+-]?\d{1,40}")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTHS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NOTHING: Final = ("", "null")


class Fraction(float):
    """A number with a point or an exponent, which as text keeps the digits it was sent with."""

    __slots__ = ("digits",)

    digits: str

    @classmethod
    def read(cls, digits: str) -> "Fraction":
        found = cls(digits)
        found.digits = digits
        return found


def loads(data: bytes | str) -> Any:
    """Parse JSON, in which there is no NaN. Raises ValueError, RecursionError."""
    return json.loads(data, parse_float=Fraction.read, parse_constant=_refuse_constant)


def text(value: Any, what: str) -> str | None:
    """A text; numbers and truths become what was sent. Raises InvalidValue, naming ``what``."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Fraction):
        return value.digits
    if not isinstance(value, bool | int | float):
        raise _refusal(value, what, "text")
    return json.dumps(value)


def texts(value: Any, what: str) -> list[str]:
    """A list of texts. Raises InvalidValue."""
    if not isinstance(value, list) or None in value:
        raise _refusal(value, what, "a list of texts")
    return [text(each, what) or "" for each in value]


def text_map(value: Any, what: str) -> dict[str, str]:
    """An object of texts; what is null there is left out. Raises InvalidValue."""
    if not isinstance(value, dict):
        raise _refusal(value, what, "an object of texts")
    found = {key: text(each, f"{key} in {what}") for key, each in value.items()}
    return {key: each for key, each in found.items() if each is not None}


def whole(value: Any, what: str, *, bits: int = 64) -> int | None:
    """A whole number of Java; what is behind a point is cut off, but in text. Raises InvalidValue.

    The range is that of a number with so many bits.
    """
    found = _of_text(value, _WHOLE)
    if isinstance(found, str):
        found = int(found)
    if isinstance(found, float) and isfinite(found):
        found = int(found)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise _refusal(value, what, "a whole number")
    if not -(2 ** (bits - 1)) <= found < 2 ** (bits - 1):
        raise InvalidValue(f"{what} is out of range: {found!s:.40} does not fit in {bits} bits")
    return found


def number(value: Any, what: str) -> float | None:
    """A number. Raises InvalidValue."""
    found = _of_text(value, _NUMBER)
    if found is None:
        return None
    if not isinstance(found, bool) and isinstance(found, str | int | float):
        try:
            if isfinite(read := float(found)):
                return read
        except OverflowError:
            pass
    raise _refusal(value, what, "a number")


def truth(value: Any, what: str) -> bool | None:
    """True or false; 0 is false and any other whole number true. Raises InvalidValue."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value != 0
    if isinstance(value, str):
        word = value.strip()
        if word in _NOTHING:
            return None
        if word in _TRUTHS:
            return _TRUTHS[word]
    raise _refusal(value, what, "true or false")


def _of_text(value: Any, pattern: re.Pattern[str]) -> Any:
    """The number in a text, still as text, None for no content; anything else stays itself."""
    if not isinstance(value, str):
        return value
    stripped = value.strip()
    if stripped in _NOTHING:
        return None
    return stripped if pattern.fullmatch(stripped) else ()


def _refusal(value: Any, what: str, wanted: str) -> InvalidValue:
    return InvalidValue(f"{what} is not {wanted}: {json.dumps(value, ensure_ascii=False)[:200]}")


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
