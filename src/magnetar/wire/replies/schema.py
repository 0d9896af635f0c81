"""Schemas of topics. Pure."""

from collections.abc import Mapping

from magnetar.errors import MagnetarError
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.errors import to_code
from magnetar.wire.frames import encode


def get_schema(
    request_id: int,
    *,
    name: str,
    data: bytes,
    kind: int,
    properties: Mapping[str, str],
    version: bytes,
) -> bytes:
    """``kind`` is a Schema.Type."""
    schema = pb.Schema(
        name=name,
        schema_data=data,
        type=pb.Schema.Type.Name(pb.Schema.Type.ValueType(kind)),
        properties=[pb.KeyValue(key=key, value=value) for key, value in properties.items()],
    )
    return encode(
        pb.CommandGetSchemaResponse(request_id=request_id, schema=schema, schema_version=version)
    )


def get_schema_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandGetSchemaResponse(
            request_id=request_id, error_code=to_code(error), error_message=str(error)
        )
    )


def get_or_create_schema(request_id: int, version: bytes) -> bytes:
    return encode(
        pb.CommandGetOrCreateSchemaResponse(request_id=request_id, schema_version=version)
    )


def get_or_create_schema_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandGetOrCreateSchemaResponse(
            request_id=request_id, error_code=to_code(error), error_message=str(error)
        )
    )
