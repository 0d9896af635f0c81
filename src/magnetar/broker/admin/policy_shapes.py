"""What a value of a policy is made of, for programs that let people edit it. Pure."""

from collections.abc import Iterable
from dataclasses import is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, get_args, get_origin

from magnetar.model.policy_values import Words, fields_of


def shape_of(kind: Any, words: Words) -> dict[str, Any]:
    """The shape of a type: a number, a flag, a choice, a set, a text, or an object of fields."""
    if get_origin(kind) is UnionType:  # With None.
        kind = get_args(kind)[0]
    if isinstance(kind, type) and is_dataclass(kind):
        fields = [
            {
                "name": one.key,
                "label": one.words.label,
                "shape": {
                    **shape_of(one.kind, one.words),
                    "optional": get_origin(one.kind) is UnionType,
                },
            }
            for one in fields_of(kind)
        ]
        return {"kind": "object", "fields": fields}
    if get_origin(kind) is tuple:
        return _one_of("set", words.options)
    if kind is bool:
        return {"kind": "flag"}
    if kind in (int, float):
        return {"kind": "number", "unit": words.unit, "zero": words.zero}
    if words.options:
        return _one_of("choice", words.options)
    return _one_of("choice", kind) if issubclass(kind, StrEnum) else {"kind": "text"}


def _one_of(kind: str, options: Iterable[str]) -> dict[str, Any]:
    return {"kind": kind, "options": list(map(str, options))}
