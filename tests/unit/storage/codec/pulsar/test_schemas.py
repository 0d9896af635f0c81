import pytest

from magnetar.errors import CorruptEntry
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.proto import Schemas_pb2 as proto
from magnetar.storage.codec.pulsar.schemas import (
    SchemaPlace,
    decode_locator,
    decode_version,
    encode_locator,
    encode_version,
    hash_of,
)

PLACES = [SchemaPlace(0, 5, 0, b"one"), SchemaPlace(1, 9, 0, b"two")]


def test_a_locator_has_all_versions_and_names_the_latest():
    value = encode_locator(PLACES)
    assert decode_locator(value, source="x") == PLACES
    assert proto.SchemaLocator.FromString(value).info.version == 1


@pytest.mark.parametrize(
    "kind", [each for each in SchemaType if each is not SchemaType.AUTO_CONSUME]
)
def test_a_version_comes_back(kind):
    schema = SchemaInfo(kind, b"\0\xff", {"a": "b"}, 1_700_000_000_000)
    assert decode_version(encode_version(schema, "t/n/x", PLACES), source="x") == schema


def test_the_entry_of_a_version_knows_those_before():
    schema = SchemaInfo(SchemaType.STRING)
    first, later = (
        proto.SchemaEntry.FromString(encode_version(schema, "t/n/x", before))
        for before in ([], PLACES)
    )
    assert [each.position.ledgerId for each in first.index] == [-1]
    assert [each.position.ledgerId for each in later.index] == [5, 9]
    assert first.index[0].hash == hash_of(schema)


def test_what_is_none_is_named():
    with pytest.raises(CorruptEntry, match="schemas at /schemas/t/n/x"):
        decode_locator(b"\xff", source="/schemas/t/n/x")
    with pytest.raises(CorruptEntry, match="ledger 5, entry 0"):
        decode_version(b"\xff", source="ledger 5, entry 0")
    unknown = proto.SchemaInfo(
        schema_id="x", user="", type=99, schema=b"", timestamp=0, deleted=False
    )
    entry = proto.SchemaEntry(schema_data=unknown.SerializeToString())
    with pytest.raises(CorruptEntry, match="98"):
        decode_version(entry.SerializeToString(), source="x")
