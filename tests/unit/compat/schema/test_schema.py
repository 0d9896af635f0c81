"""Schemas tell the broker, and write, the same bytes as the official client's."""

import pytest
from support.both_schemas import OFFICIAL, OURS, filled


def info(schema):
    found = schema.schema_info()
    return int(found.schema_type()), found.name(), found.schema()


@pytest.mark.parametrize("name", ["BytesSchema", "StringSchema"])
def test_plain_schemas_are_the_same(name):
    ours, theirs = getattr(OURS.of, name)(), getattr(OFFICIAL.of, name)()
    assert info(ours) == info(theirs)
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("kind", ["Inner", "Named", "Sorted", "All", "Plain"])
def test_json_schemas_are_the_same(kind):
    theirs = OFFICIAL.of.JsonSchema(getattr(OFFICIAL, kind))
    assert info(OURS.of.JsonSchema(getattr(OURS, kind))) == info(theirs)


def test_json_is_written_and_read_the_same():
    ours, theirs = OURS.of.JsonSchema(OURS.Plain), OFFICIAL.of.JsonSchema(OFFICIAL.Plain)
    data = theirs.encode(filled(OFFICIAL))
    assert ours.encode(filled(OURS)) == data
    assert ours.decode(data) == filled(OURS)
    assert theirs.decode(data) == filled(OFFICIAL)


def test_text_is_utf_8():
    assert OURS.of.StringSchema().encode("ü") == "ü".encode()
    assert OURS.of.StringSchema().decode("ü".encode()) == "ü"
    assert OURS.of.BytesSchema().decode(b"x") == b"x"


@pytest.mark.parametrize("of", [OURS.of, OFFICIAL.of], ids=["ours", "official"])
def test_values_of_another_type_are_refused(of):
    with pytest.raises(TypeError, match="Invalid record obj of type"):
        of.StringSchema().encode(b"x")
    with pytest.raises(TypeError, match="Invalid record obj of type"):
        of.BytesSchema().encode("x")
    with pytest.raises(TypeError, match="Invalid record obj of type"):
        of.JsonSchema(OURS.Inner if of is OURS.of else OFFICIAL.Inner).encode({"x": 1})


def test_a_program_may_have_a_schema_of_its_own():
    class Upper(OURS.of.StringSchema):
        def decode(self, data):
            return super().decode(data).upper()

    class Received:
        def data(self):
            return b"text"

    assert Upper().decode_message(Received()) == "TEXT"
