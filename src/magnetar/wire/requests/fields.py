"""Fields that several requests have. Pure."""

from collections.abc import Mapping
from typing import cast

from magnetar.model.schemas import SchemaInfo
from magnetar.proto import PulsarApi_pb2 as pb


def schema_of(schema: SchemaInfo | None) -> pb.Schema | None:
    if schema is None:
        return None
    return pb.Schema(
        name=schema.type.name,
        schema_data=schema.data,
        type=cast("pb.Schema.Type", schema.type),
        properties=pairs(schema.properties),
    )


def pairs(mapping: Mapping[str, str] | None) -> list[pb.KeyValue]:
    return [pb.KeyValue(key=key, value=value) for key, value in (mapping or {}).items()]
