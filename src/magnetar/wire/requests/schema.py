"""The schemas of topics. Pure."""

from magnetar.model.schemas import SchemaInfo
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode

from .fields import schema_of


def get_schema(request_id: int, topic: str, version: bytes | None = None) -> bytes:
    """One version of a topic's schema; None for the latest."""
    return encode(pb.CommandGetSchema(request_id=request_id, topic=topic, schema_version=version))


def get_or_create_schema(request_id: int, topic: str, schema: SchemaInfo) -> bytes:
    """The version under which a topic has a schema, from now on if not before."""
    return encode(
        pb.CommandGetOrCreateSchema(request_id=request_id, topic=topic, schema=schema_of(schema))
    )
