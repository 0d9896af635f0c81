import pytest

from magnetar.broker.schema.declared import check_schema
from magnetar.errors import NotAllowed
from magnetar.model.names import TopicName
from magnetar.proto import PulsarApi_pb2 as pb

TOPIC = TopicName.parse("x")
BYTES = (pb.Schema.NoSchema, pb.Schema.AutoConsume)


def schema(kind: int) -> pb.Schema:
    return pb.Schema(name="s", schema_data=b"", type=kind)


@pytest.mark.parametrize("kind", BYTES)
def test_bytes_pass(kind):
    check_schema(schema(kind), TOPIC)


@pytest.mark.parametrize("kind", sorted(set(pb.Schema.Type.values()) - set(BYTES)))
def test_everything_else_is_refused(kind):
    with pytest.raises(NotAllowed, match="Schemas are not supported by this broker: use bytes"):
        check_schema(schema(kind), TOPIC)
