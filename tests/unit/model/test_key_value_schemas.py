import pytest
from unit.broker.schema.samples import A, key_value

from magnetar.errors import InvalidSchema
from magnetar.model.key_value_schemas import halves, joined
from magnetar.model.schemas import SchemaInfo, SchemaType

TEXT = SchemaInfo(SchemaType.STRING)


@pytest.mark.parametrize("encoding", ["INLINE", "SEPARATED"])
def test_both_parts_come_back(encoding):
    key, value = halves(key_value(TEXT, A, encoding))
    assert (key, value) == (TEXT, A)
    assert joined(key.data, value.data) == key_value(TEXT, A).data


def test_parts_without_a_type_or_a_definition_are_bytes():
    none = (-1).to_bytes(4, "big", signed=True)
    key, value = halves(SchemaInfo(SchemaType.KEY_VALUE, none + none))
    assert key == value == SchemaInfo(SchemaType.NONE)


def test_properties_of_a_part_are_its_own():
    schema = SchemaInfo(
        SchemaType.KEY_VALUE,
        bytes(8),
        {"key.schema.properties": '{"x":"y"}', "value.schema.properties": "no json"},
    )
    key, value = halves(schema)
    assert (key.properties, value.properties) == ({"x": "y"}, {})


@pytest.mark.parametrize("data", [b"", b"\0\0\0", bytes(4), b"\0\0\0\x09abc", bytes(8) + b"more"])
def test_what_is_cut_off_or_too_long_is_refused(data):
    with pytest.raises(InvalidSchema, match="Invalid KEY_VALUE schema"):
        halves(SchemaInfo(SchemaType.KEY_VALUE, data))


@pytest.mark.parametrize("kind", ["ZZZ", "KEY_VALUE", "AUTO_CONSUME"])
def test_a_part_of_no_such_type_is_refused(kind):
    with pytest.raises(InvalidSchema, match=kind):
        halves(SchemaInfo(SchemaType.KEY_VALUE, bytes(8), {"key.schema.type": kind}))
