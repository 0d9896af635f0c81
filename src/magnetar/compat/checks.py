"""Checks of arguments: ``pulsar-client`` raises ValueError for one of another type. Pure."""

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from types import NoneType, UnionType
from typing import Any, get_args, get_origin


def check_type(kind: type, value: object, name: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(
            f"Argument {name} is expected to be of type '{kind.__name__}' and not "
            f"'{type(value).__name__}'"
        )


def check_type_or_none(kind: type, value: object, name: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise ValueError(
            f"Argument {name} is expected to be either None or of type '{kind.__name__}'"
        )


def check_range(name: str, value: int, least: int, most: int = 2**31 - 1) -> None:
    """Accept a number as their C++ settings do: a native int or unsigned int."""
    if not least <= value <= most:
        raise ValueError(f"Argument {name} is {value}; it must be from {least} to {most}")


def checked(call: Callable[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with its defaults. Raises ValueError for one of another type.

    What the types are, its signature says; functions, and what may be of several types, are not
    looked at.
    """
    found = {name: given.get(name, default) for name, default in _defaults(call).items()}
    for name, (kind, or_none) in _kinds(call).items():
        (check_type_or_none if or_none else check_type)(kind, found[name], name)
    return found


@cache
def _defaults(call: Callable[..., object]) -> dict[str, object]:
    return {name: each.default for name, each in signature(call).parameters.items()}


@cache
def _kinds(call: Callable[..., object]) -> dict[str, tuple[type, bool]]:
    """The class that each argument has to be of, and whether it may be None."""
    found = {}
    for name, each in signature(call).parameters.items():
        union = get_args(each.annotation) if isinstance(each.annotation, UnionType) else ()
        kinds = [one for one in union or (each.annotation,) if one is not NoneType]
        kind = get_origin(kinds[0]) or kinds[0]
        if len(kinds) == 1 and isinstance(kind, type) and kind not in {Callable, each.empty}:
            found[name] = (kind, NoneType in union)
    return found
