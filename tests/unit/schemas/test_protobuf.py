import json

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto
from google.protobuf.timestamp_pb2 import Timestamp

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.proto.PulsarApi_pb2 import CommandPing, MessageIdData
from magnetar.schemas.protobuf import ProtobufNativeSchema, of_topic
from magnetar.wire.file_descriptors import root_message


def test_messages_come_back():
    schema = ProtobufNativeSchema(Timestamp)
    assert schema.decode(schema.encode(Timestamp(seconds=5))) == Timestamp(seconds=5)
    assert schema.info.type is SchemaType.PROTOBUF_NATIVE
    assert json.loads(schema.info.data)["rootMessageTypeName"] == "google.protobuf.Timestamp"
    assert root_message(schema.info.data).name == "google.protobuf.Timestamp"


def test_a_class_is_made_of_the_definition():
    written = ProtobufNativeSchema(MessageIdData)
    read = of_topic(written.info)
    found = read.decode(written.encode(MessageIdData(ledgerId=1, entryId=2)))
    assert (found.ledgerId, found.entryId) == (1, 2)
    assert type(found) is not MessageIdData


def test_what_does_not_fit_is_refused():
    schema = ProtobufNativeSchema(MessageIdData)
    with pytest.raises(InvalidValue, match="must be MessageIdData, not CommandPing"):
        schema.encode(CommandPing())
    with pytest.raises(InvalidValue, match="ledgerId"):
        schema.encode(MessageIdData())
    with pytest.raises(UndecodableValue, match="2 bytes that are no MessageIdData"):
        schema.decode(b"\xff\xff")
    for wrong in (dict, DescriptorProto()):
        with pytest.raises(InvalidValue, match="no class of messages"):
            ProtobufNativeSchema(wrong)


@pytest.mark.parametrize(
    "data",
    [b"{", b'{"fileDescriptorSet": "", "rootMessageTypeName": "a.B"}'],
)
def test_a_definition_that_has_no_such_message_has_no_values(data):
    with pytest.raises(UndecodableValue):
        of_topic(SchemaInfo(SchemaType.PROTOBUF_NATIVE, data))


def test_a_definition_without_what_it_imports_has_no_values():
    schema = ProtobufNativeSchema(MessageIdData)
    sent = json.loads(schema.info.data)
    sent["rootMessageTypeName"] = "pulsar.proto.Nobody"
    with pytest.raises(UndecodableValue):
        of_topic(SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(sent).encode()))
