"""Checks of what an application hands over: whether it can be sent. Pure.

Each function raises InvalidValue, which names the argument and the remedy.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from numbers import Real
from operator import index
from typing import Final, SupportsIndex, cast

from magnetar.errors import InvalidValue

NUMBER_MAX: Final = (1 << 63) - 1  # Clients in Java read a message's numbers as signed.


def check_data(data: object) -> None:
    """Accept bytes only: a buffer could be changed before it is sent."""
    if type(data) is not bytes:
        raise InvalidValue(
            f"data must be bytes, not {_kind(data)}: encode text, copy a buffer with bytes()"
        )


def check_key(key: object) -> None:
    if isinstance(key, str):
        check_text("key", key)
    elif key is not None and not isinstance(key, bytes):
        raise InvalidValue(
            f"key must be str or bytes, not {_kind(key)}: convert it, or leave it out"
        )


def check_bytes(name: str, value: object) -> None:
    if not isinstance(value, bytes):
        raise InvalidValue(
            f"{name} must be bytes, not {_kind(value)}: encode text, or leave it out"
        )


def check_text(name: str, value: object) -> None:
    """Accept text that UTF-8 can write."""
    if not isinstance(value, str):
        raise InvalidValue(f"{name} must be str, not {_kind(value)}: convert it, or leave it out")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidValue(
            f"{name} has the lone surrogate {value[error.start]!a} at index {error.start}, which "
            "UTF-8 cannot write: take it out, as by encode(errors='replace').decode()"
        ) from None


def copy_properties(name: str, properties: object) -> dict[str, str]:
    """Copy properties, so that the application may change its own."""
    if type(properties) is not dict and not isinstance(properties, Mapping):
        raise InvalidValue(
            f"{name} must be a mapping of str to str, not {_kind(properties)}: leave it out if "
            "there are none"
        )
    copied = dict(properties)
    try:  # All are looked at together, since this is done for every message.
        if "".join([*copied, *copied.values()]).isascii():
            return copied
    except TypeError:
        pass  # One of them is not text; the checks below say which.
    for key, value in copied.items():
        check_text(f"the key {key!a} of {name}", key)
        check_text(f"{name}[{key!a}]", value)
    return copied


def whole_number(name: str, value: object) -> int:
    """Accept a number from 0 to NUMBER_MAX."""
    if type(value) is int:
        number = value
    elif isinstance(value, SupportsIndex) and not isinstance(value, bool):
        number = index(value)  # It is an int of another library.
    else:
        raise InvalidValue(f"{name} must be int, not {_kind(value)}: convert it")
    if not 0 <= number <= NUMBER_MAX:
        raise InvalidValue(f"{name} is {number}; it must be from 0 to 2**63 - 1, or left out")
    return number


def milliseconds(name: str, value: object) -> int:
    """Accept a time as milliseconds since the epoch, or as a ``datetime`` that has a time zone."""
    if not isinstance(value, datetime):
        return whole_number(name, value)
    if value.utcoffset() is None:
        raise InvalidValue(
            f"{name} is {value}, which has no time zone: give it one, as datetime.now(UTC) and "
            "value.astimezone() do"
        )
    return whole_number(name, round(value.timestamp() * 1000))


def seconds(name: str, value: object, *, most: float) -> float:
    """Accept a number of seconds from 0 to ``most``, or a ``timedelta``."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    check_number(name, value, most=most)
    return cast("float", value)


def check_count(name: str, value: object) -> None:
    """Accept a whole number from 1."""
    if whole_number(name, value) < 1:
        raise InvalidValue(f"{name} is {value}; it must be at least 1")


def check_timeout(timeout_s: object) -> None:
    """Accept a number of seconds from 0, or None for no limit."""
    if timeout_s is not None:
        check_not_negative("timeout_s", timeout_s)


def check_instance(name: str, value: object, *kinds: type) -> None:
    """Accept an object of one of these classes."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        given = f"the class {value.__name__}" if isinstance(value, type) else _kind(value)
        raise InvalidValue(f"{name} must be a {wanted}, not {given}")


def check_member(name: str, value: object, kind: type[Enum]) -> None:
    """Accept a member of an enumeration, not the number or the name of one."""
    if not isinstance(value, kind):
        choice = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise InvalidValue(f"{name} is {value!a}; it must be one of {choice}")


def check_flag(name: str, value: object) -> None:
    """Accept True or False: a number or a text that seems to be one would be misread."""
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} is {value!a}; it must be True or False")


def check_all(name: str, values: object, kind: type[object]) -> None:
    """Accept several objects of one kind."""
    if not isinstance(values, Iterable) or not all(isinstance(each, kind) for each in values):
        raise InvalidValue(f"{name} is {values!a}; it must be a list of {kind.__name__}")


def check_positive(name: str, value: object) -> None:
    if not (_is_real(name, value) > 0):  # Not ``<= 0``, which is false for NaN.
        raise InvalidValue(f"{name} is {value}; it must be more than 0")


def check_not_negative(name: str, value: object) -> None:
    if not (_is_real(name, value) >= 0):
        raise InvalidValue(f"{name} is {value}; it may not be negative")


def check_number(name: str, value: object, *, most: float) -> None:
    """Accept a number from 0 to ``most``."""
    if not 0 <= _is_real(name, value) <= most:
        raise InvalidValue(f"{name} is {value}; it must be from 0 to {most}")


def _is_real(name: str, value: object) -> float:
    if not isinstance(value, Real):
        raise InvalidValue(f"{name} must be a number, not {_kind(value)}")
    return cast("float", value)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
