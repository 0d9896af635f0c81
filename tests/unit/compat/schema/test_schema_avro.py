"""Avro is written and read as by the official client."""

import pytest
from support.both_schemas import OFFICIAL, OURS, filled

CUSTOM = {"type": "record", "name": "C", "fields": [{"name": "x", "type": "int"}]}


def info(schema):
    found = schema.schema_info()
    return int(found.schema_type()), found.name(), found.schema()


@pytest.mark.parametrize("kind", ["Inner", "Named", "Sorted", "All", "Plain"])
def test_the_schemas_are_the_same(kind):
    theirs = OFFICIAL.of.AvroSchema(getattr(OFFICIAL, kind))
    assert info(OURS.of.AvroSchema(getattr(OURS, kind))) == info(theirs)


def test_records_are_written_and_read_the_same():
    ours, theirs = OURS.of.AvroSchema(OURS.Plain), OFFICIAL.of.AvroSchema(OFFICIAL.Plain)
    data = theirs.encode(filled(OFFICIAL))
    assert ours.encode(filled(OURS)) == data
    assert ours.decode(data) == filled(OURS)


def test_a_schema_of_the_application_takes_dicts():
    ours, theirs = OURS.of.AvroSchema(None, CUSTOM), OFFICIAL.of.AvroSchema(None, CUSTOM)
    assert info(ours) == info(theirs)
    assert ours.encode({"x": 5}) == theirs.encode({"x": 5})
    assert ours.decode(ours.encode({"x": 5})) == {"x": 5}
    with pytest.raises(ValueError, match="should be dict"):
        ours.encode([5])


def test_one_of_the_two_is_needed():
    with pytest.raises(AssertionError, match="both None"):
        OURS.of.AvroSchema(None)


def test_a_record_is_read_by_the_schema_it_was_written_with():
    class New(OURS.of.Record):
        x = OURS.of.Integer()
        y = OURS.of.String(default="new", required_default=True)

    class Old(OURS.of.Record):
        x = OURS.of.Integer()

    old, new = OURS.of.AvroSchema(Old), OURS.of.AvroSchema(New)
    decode = new.decoder(old.schema_info().schema().encode())
    assert decode(old.encode(Old(x=5))) == New(x=5, y="new")


def test_where_that_fails_the_reader_s_own_is_tried(caplog):
    schema = OURS.of.AvroSchema(OURS.Inner)

    class Received:
        def topic_name(self):
            return "somewhere"

        def int_schema_version(self):
            return 3

        message_id = topic_name

        def data(self):
            return schema.encode(OURS.Inner(x=5))

        def decoded(self):
            raise ValueError("not to be had")

    assert schema.decode_message(Received()) == OURS.Inner(x=5)
    assert "not to be had" in caplog.text
