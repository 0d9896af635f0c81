import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.schemas.records import Item

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.key_value import (
    KeyValue,
    KeyValueEncoding,
    KeyValueSchema,
    pairs,
    parts_of,
    separated,
)
from magnetar.schemas.primitives import BytesSchema, Int32Schema, StringSchema

INLINE = KeyValueSchema(StringSchema(), Int32Schema())
SEPARATED = KeyValueSchema(StringSchema(), Int32Schema(), KeyValueEncoding.SEPARATED)


def message(data, key=None):
    return SimpleNamespace(data=data, key_bytes=key)


def test_inline_both_are_in_the_payload():
    assert INLINE.encode(KeyValue("ab", 7)) == b"\0\0\0\x02ab\0\0\0\x04\0\0\0\x07"
    assert INLINE.encode_key(KeyValue("ab", 7)) is None
    assert INLINE.decode(b"\0\0\0\x02ab\0\0\0\x04\0\0\0\x07") == KeyValue("ab", 7)


def test_separated_the_key_is_the_messages():
    assert SEPARATED.encode(KeyValue("ab", 7)) == b"\0\0\0\x07"
    assert SEPARATED.encode_key(KeyValue("ab", 7)) == b"ab"
    assert SEPARATED.decoder(None)(message(b"\0\0\0\x07", b"ab")) == KeyValue("ab", 7)
    with pytest.raises(UndecodableValue, match="no key"):
        SEPARATED.decoder(None)(message(b"\0\0\0\x07"))
    with pytest.raises(UndecodableValue, match=r"look at message.value"):
        SEPARATED.decode(b"\0\0\0\x07")


def test_the_definition_has_both():
    schema = KeyValueSchema(BytesSchema(), AvroSchema(Item))
    key, value = parts_of(schema.info)
    assert (key.type, value) == (SchemaType.NONE, AvroSchema(Item).info)
    assert schema.info.properties["key.schema.type"] == "BYTES"
    assert json.loads(schema.info.properties["value.schema.properties"]) == {}
    assert (separated(schema.info), separated(SEPARATED.info)) == (False, True)
    assert schema.evolves
    assert not INLINE.evolves


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(-(2**31), 2**31 - 1))
def test_pairs_come_back(key, value):
    assert INLINE.decode(INLINE.encode(KeyValue(key, value))) == KeyValue(key, value)


@dataclass
class Later:
    name: str
    colour: str = "none"


def test_what_another_version_wrote_is_read_however_it_has_its_keys():
    ours = KeyValueSchema(StringSchema(), AvroSchema(Later))
    theirs = KeyValueSchema(StringSchema(), AvroSchema(Item), KeyValueEncoding.SEPARATED)
    pair = KeyValue("k", Item("pen", 2))
    sent = message(theirs.encode(pair), theirs.encode_key(pair))
    assert ours.decoder(theirs.info)(sent) == KeyValue("k", Later("pen"))


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x09a", INLINE.encode(KeyValue("a", 1)) + b"x"],
)
def test_other_bytes_have_no_value(data):
    with pytest.raises(UndecodableValue):
        INLINE.decode(data)


def test_a_part_that_javas_clients_leave_out_is_none():
    assert INLINE.decode(b"\xff\xff\xff\xff" * 2) == KeyValue(None, None)
    assert INLINE.decode(b"\0\0\0\x01a\xff\xff\xff\xff") == KeyValue("a", None)


def test_other_schemas_are_not_of_pairs():
    with pytest.raises(UndecodableValue, match="written as STRING, not as KEY_VALUE"):
        INLINE.decoder(StringSchema().info)
    with pytest.raises(UndecodableValue, match="ends before"):
        INLINE.decoder(SchemaInfo(SchemaType.KEY_VALUE, b""))


def test_values_that_are_no_pairs_are_refused():
    with pytest.raises(InvalidValue, match="must be KeyValue, not tuple"):
        INLINE.encode(("a", 1))
    with pytest.raises(InvalidValue, match="INT32"):
        INLINE.encode(KeyValue("a", "b"))
    with pytest.raises(InvalidValue, match=r"KeyValueEncoding.INLINE"):
        KeyValueSchema(StringSchema(), StringSchema(), "SEPARATED")


def test_parts_are_decoded_each_by_its_own():
    decode = pairs(StringSchema().decoder(None), StringSchema().decoder(None), True)
    assert decode(message(b"v", b"k")) == KeyValue("k", "v")
