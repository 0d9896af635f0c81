"""JSON Schemas of the values that the admin API takes and gives. Pure.

A policy's are those of its type. Of what is put together for an answer there is no type, and its
schema is that of an example, which is made by the same functions.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Final, get_args, get_origin

from magnetar.model.policy_values import fields_of

_PLAIN: Final = {int: "integer", bool: "boolean", float: "number", str: "string"}


def schema_of(kind: Any) -> dict[str, Any]:
    """The schema of a type, as ``model/policy_values.py`` reads it from JSON."""
    origin = get_origin(kind)
    if origin is UnionType:
        return schema_of(get_args(kind)[0])
    if origin is tuple or kind is tuple:
        return {"type": "array", "items": {"type": "string"}}
    if origin is Mapping:
        of = get_args(kind)[1]
        return {"type": "object", "additionalProperties": {} if of is Any else schema_of(of)}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"type": "string", "enum": [str(each) for each in kind]}
    if isinstance(kind, type) and is_dataclass(kind):
        fields = {field.key: schema_of(field.kind) for field in fields_of(kind)}
        return {"type": "object", "properties": fields}
    return {"type": _PLAIN[kind]}


def schema_like(example: Any) -> dict[str, Any]:
    """The schema of values like this one. An empty list or object says nothing of its items."""
    if isinstance(example, dict):
        if example and all(key.startswith("{") for key in example):  # A name of whatever is there.
            [item] = example.values()
            return {"type": "object", "additionalProperties": schema_like(item)}
        properties = {key: schema_like(item) for key, item in example.items()}
        return {"type": "object", "properties": properties} if example else {"type": "object"}
    if isinstance(example, list):
        return {"type": "array", "items": schema_like(example[0])} if example else {"type": "array"}
    return {"type": _PLAIN[type(example)]}
