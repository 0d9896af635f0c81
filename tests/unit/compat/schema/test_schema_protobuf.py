"""Protocol buffers are described and written as by the official client."""

import pytest
from google.protobuf import descriptor_pb2, type_pb2
from pulsar.schema import ProtobufNativeSchema as Theirs

from magnetar.compat.schema import ProtobufNativeSchema as Ours


@pytest.mark.parametrize(
    "kind", [descriptor_pb2.FileDescriptorProto, type_pb2.Type], ids=lambda kind: kind.__name__
)
def test_a_message_has_the_same_schema(kind):
    ours, theirs = Ours(kind).schema_info(), Theirs(kind).schema_info()
    assert (int(ours.schema_type()), ours.name(), ours.schema()) == (
        int(theirs.schema_type()),
        theirs.name(),
        theirs.schema(),
    )
    assert str(Ours(kind)) == str(Theirs(kind))


def test_messages_come_back():
    schema = Ours(type_pb2.Type)
    value = type_pb2.Type(name="x")
    assert schema.decode(schema.encode(value)) == value
    with pytest.raises(TypeError, match="Invalid record obj"):
        schema.encode("x")


def test_what_is_no_message_is_refused():
    with pytest.raises(TypeError, match="must be a protobuf Message subclass"):
        Ours(str)
