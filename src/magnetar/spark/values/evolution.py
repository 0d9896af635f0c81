"""The next version of a topic's schema: with the fields of the rows that are written. Pure."""

import json
from typing import Any

from pyspark.sql.types import DataType, StructField, StructType

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaInfo
from magnetar.schemas.avro import Definition
from magnetar.spark.values.definitions import avro_of, derived
from magnetar.spark.values.encoding import check_fits
from magnetar.spark.values.types import ValueType, value_type


def evolved(value: DataType, schema: SchemaInfo) -> SchemaInfo:
    """The schema, of Avro or JSON, if ``value`` fits it; else one of the same names and fields.

    A field that is new may be null, so that older messages are read with it. One that the rows
    lack stays if it has a default, or may be null. One of another type changes, or the whole is of
    the rows alone: whether the topic takes that is for the broker to say.
    """
    kind = value_type(schema)
    if _fits(value, kind):
        return schema
    own = derived(value, schema.type)
    definition = Definition.of(schema.data).parsed
    if not isinstance(value, StructType) or not _is_record(definition):
        return own
    data = json.dumps(_record(definition, kind, value)).encode()
    try:
        Definition.of(data)
    except InvalidValue:  # A field that stays has a type that was defined in one that went.
        return own
    return SchemaInfo(schema.type, data)


def _record(definition: dict[str, Any], kind: ValueType, value: StructType) -> dict[str, Any]:
    columns = {column.name: column for column in value}
    fields = []
    for field, child in zip(definition["fields"], kind.children, strict=True):
        name = field["name"]
        if name in columns:
            changed = _changed(field["type"], child, columns.pop(name))
            fields.append({**field, "type": changed})
        elif name in kind.defaults or child.nullable:
            fields.append(field)
    for name, column in columns.items():
        came = avro_of(column.dataType, name, definition["name"])
        fields.append({"name": name, "type": ["null", came], "default": None})
    plain = {name: each for name, each in definition.items() if not name.startswith("__")}
    return {**plain, "fields": fields}


def _changed(definition: Any, kind: ValueType, column: StructField) -> Any:
    """The type of a field that stays."""
    if _fits(column.dataType, kind):
        return definition
    if isinstance(column.dataType, StructType):
        if _is_record(definition):
            return _record(definition, kind, column.dataType)
        if isinstance(definition, list) and any(map(_is_record, definition)):
            return [
                _record(each, kind, column.dataType) if _is_record(each) else each
                for each in definition
            ]
    return avro_of(column.dataType, column.name, "changed")


def _is_record(definition: Any) -> bool:
    return isinstance(definition, dict) and definition["type"] == "record"


def _fits(value: DataType, kind: ValueType) -> bool:
    try:
        check_fits(value, kind, "value")
    except InvalidValue:
        return False
    return True
