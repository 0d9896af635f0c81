"""Whether a definition is one of its type, and whether two are the same. Pure."""

import json
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from magnetar.errors import InvalidSchema
from magnetar.model.key_value_schemas import halves
from magnetar.model.schemas import AVRO_DEFINED, SchemaInfo, SchemaType
from magnetar.wire.file_descriptors import root_message

if TYPE_CHECKING:
    from magnetar.broker.schema.avro import AvroDefinition

_NO_DATA: Final = (b"", b"null")  # Python's client sends the latter.
_TYPES: Final = frozenset(
    {"null", "boolean", "int", "long", "float", "double", "bytes", "string", "array", "map"}
    | {"record", "enum", "fixed", "error"}
)
_JSON_SCHEMA_TYPES: Final = ("object", "integer", "number", "any")  # Avro has none of these.
_SAYS_NOTHING: Final = frozenset({"doc", "aliases"})


@cache
def avro_definition() -> "type[AvroDefinition]":
    """The class that knows Avro; with it comes the library."""
    found: type[AvroDefinition] = import_module("magnetar.broker.schema.avro").AvroDefinition
    return found


def check_definition(schema: SchemaInfo) -> None:
    """Raise InvalidSchema for a definition that is none of its type."""
    kind = schema.type
    if kind is SchemaType.AUTO_CONSUME:
        raise InvalidSchema(f"Schema {kind.name} is a client-side schema type")
    if kind in AVRO_DEFINED:
        if kind is SchemaType.JSON and is_json_schema(schema.data):
            return
        try:
            avro_definition().parse(schema.data)
        except InvalidSchema as error:
            raise InvalidSchema(
                f"Invalid schema definition data for {kind.name} schema: {error}"
            ) from None
    elif kind is SchemaType.KEY_VALUE:
        for half in halves(schema):
            check_definition(half)
    elif kind is SchemaType.PROTOBUF_NATIVE:
        root_message(schema.data)
    elif schema.data not in _NO_DATA and kind is not SchemaType.NONE:
        shown = schema.data.decode(errors="replace")[:100]
        raise InvalidSchema(
            f"Invalid schema definition data for {kind.name.lower()} schema : '{shown}'"
        )


def same(one: SchemaInfo, other: SchemaInfo) -> bool:
    """Whether two schemas mean the same, however they are written. Both are valid."""
    if one.type is not other.type:
        return False
    if one.type is SchemaType.KEY_VALUE:
        return all(same(*pair) for pair in zip(halves(one), halves(other), strict=True))
    return one.data == other.data or _normal_form(one) == _normal_form(other)


def is_json_schema(data: bytes) -> bool:
    """Whether this defines JSON by JSON Schema, as old clients do, and not by Avro."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("type") in _JSON_SCHEMA_TYPES


def _normal_form(schema: SchemaInfo) -> str:
    """A text that is the same for the same meaning."""
    if schema.type in AVRO_DEFINED or schema.type is SchemaType.PROTOBUF_NATIVE:
        value = json.loads(schema.data)
        return json.dumps(
            _normal(value, "") if schema.type in AVRO_DEFINED else value, sort_keys=True
        )
    return ""  # The others have no definition.


def _normal(node: Any, namespace: str) -> Any:
    """An Avro definition with full names, and without what is for people only."""
    if isinstance(node, str):
        return node if node in _TYPES else _full_name(node, namespace)
    if isinstance(node, list):
        return [_normal(each, namespace) for each in node]
    if not isinstance(node, dict):
        return node
    if node.keys() == {"type"}:
        return _normal(node["type"], namespace)
    found = {key: value for key, value in node.items() if key not in _SAYS_NOTHING}
    inner = namespace
    if node.get("type") in ("record", "enum", "fixed", "error"):
        full = _full_name(node.get("name", ""), node.get("namespace") or namespace)
        inner = full.rpartition(".")[0]
        found.pop("namespace", None)
        found["name"] = full
    for key in ("items", "values"):
        if key in found:
            found[key] = _normal(found[key], inner)
    if isinstance(found.get("fields"), list):
        found["fields"] = [_normal_field(each, inner) for each in found["fields"]]
    return found


def _normal_field(field: Any, namespace: str) -> Any:
    if not isinstance(field, dict):
        return field
    found = {key: value for key, value in field.items() if key not in _SAYS_NOTHING}
    if found.get("order") == "ascending":
        del found["order"]
    return found | {"type": _normal(field.get("type"), namespace)}


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
