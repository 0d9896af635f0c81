import json

import pytest

from magnetar.errors import InvalidValue
from magnetar.model.position import Position
from magnetar.storage.codec.json_object import VERSION, Fields, decode, encode, position


def fields(**values):
    return Fields.of(encode(values))


def test_a_record_is_an_object_with_a_version():
    assert json.loads(encode({"a": 1})) == {"version": VERSION, "a": 1}
    assert decode(encode({"a": 1})) == {"a": 1}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is a JSON list, not an object"),
        (b"1", "it is a JSON int, not an object"),
        (b'{"a":1}', "no version, so it is of a time before the first release, .* reads version 1"),
        (b'{"version":2}', "its version is 2, and this Magnetar reads 1: use the Magnetar that"),
        (b'{"version":true}', "its version is True"),
    ],
)
def test_bytes_that_are_no_record_are_refused(value, said):
    with pytest.raises(InvalidValue, match=said):
        decode(value)


def test_fields_are_taken_out_and_the_rest_is_left():
    record = fields(
        number=1,
        none=None,
        numbers=[1, 2],
        at={"ledgerId": 3, "entryId": -1},
        texts={"a": "b"},
        x=7,
    )
    assert (record.number("number"), record.number_or_none("none")) == (1, None)
    assert record.numbers("numbers") == [1, 2]
    assert record.position("at") == Position(3, -1)
    assert record.texts("texts") == {"a": "b"}
    assert record.left == {"x": 7}
    assert position(Position(3, -1)) == {"ledgerId": 3, "entryId": -1}


@pytest.mark.parametrize("value", [None, True, "1", 1.0, -1, 2**63, [], {}])
def test_a_number_is_whole_and_in_bounds(value):
    with pytest.raises(InvalidValue, match="not a whole number from 0 to"):
        fields(at=value).number("at")


def test_an_error_names_the_field_within_the_object():
    with pytest.raises(InvalidValue, match=r"places\.entryId is missing"):
        fields(places=[{"ledgerId": 3}]).objects("places", lambda each: each.number("entryId"))
    with pytest.raises(InvalidValue, match="places is 5, not a list"):
        fields(places=5).objects("places", lambda each: each.number("entryId"))
    with pytest.raises(InvalidValue, match="places is 5, not an object"):
        fields(places=[5]).objects("places", lambda each: each.number("entryId"))
    with pytest.raises(InvalidValue, match="not an object of texts"):
        fields(texts={"a": 1}).texts("texts")
