import pytest

from magnetar.errors import IncompatibleSchema, InvalidSchema, UnexpectedCommand
from magnetar.model.schemas import SchemaType
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.schemas import declared, version_bytes, version_number

KNOWN = sorted(set(pb.Schema.Type.values()) - {pb.Schema.External})


@pytest.mark.parametrize("kind", KNOWN)
def test_types_have_the_numbers_of_the_protocol(kind):
    sent = pb.Schema(
        name="s", schema_data=b"x", type=kind, properties=[pb.KeyValue(key="k", value="v")]
    )
    found = declared(sent)
    name = pb.Schema.Type.Name(kind).replace("NoSchema", "None").replace("Pair", "")
    assert found.type.name.replace("_", "").lower() == name.lower().replace("bool", "boolean")
    assert (found.data, found.properties) == (b"x", {"k": "v"})


def test_there_are_no_other_types():
    assert sorted(SchemaType) == KNOWN
    with pytest.raises(InvalidSchema, match="External"):
        declared(pb.Schema(name="s", schema_data=b"", type=pb.Schema.External))


def test_versions_are_eight_bytes():
    assert version_bytes(None) == b""
    assert version_bytes(1) == bytes(7) + b"\1"
    assert version_number(version_bytes(2**40)) == 2**40


def test_versions_that_are_none_are_refused():
    with pytest.raises(IncompatibleSchema, match="Empty schema version"):
        version_number(b"")
    with pytest.raises(UnexpectedCommand):
        version_number(b"\1")
