import json

import pytest

from magnetar.errors import CorruptEntry
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.storage.codec.schema import decode_schema, encode_schema

SCHEMA = SchemaInfo(SchemaType.KEY_VALUE, bytes(range(256)), {"k": "v"}, 17, deleted=False)


@pytest.mark.parametrize(
    "schema", [SCHEMA, SchemaInfo(SchemaType.NONE, deleted=True)], ids=["schema", "deleted"]
)
def test_a_record_comes_back(schema):
    assert decode_schema(encode_schema(schema), source="x") == schema


@pytest.mark.parametrize(
    "change",
    [
        {"type": "ZZZ"},
        {"type": 1},
        {"definition": "no base64!"},
        {"deleted": 0},
        {"timestamp": -1},
        {"properties": {"k": 1}},
        {"version": 2},
    ],
    ids=str,
)
def test_what_cannot_be_read_is_named(change):
    fields = json.loads(encode_schema(SCHEMA)) | change
    with pytest.raises(CorruptEntry, match=f"/schemas/t/n/x/0.*{next(iter(change))}"):
        decode_schema(json.dumps(fields).encode(), source="/schemas/t/n/x/0")
