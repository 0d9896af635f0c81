"""Types of fields, each by itself, are the same as the official client's."""

import pytest
from support.both_schemas import OFFICIAL, OURS, Color

SIMPLE = ["Null", "Boolean", "Integer", "Long", "Float", "Double", "Bytes", "String"]
VALUES = [None, True, 1, 1.5, b"x", "x", [], {}]


@pytest.mark.parametrize("kind", SIMPLE)
@pytest.mark.parametrize("required", [False, True])
def test_a_type_says_and_takes_the_same(kind, required):
    ours, official = (getattr(each.of, kind)(required=required) for each in (OURS, OFFICIAL))
    assert (ours.type(), ours.schema(), ours.default(), ours.required_default()) == (
        official.type(),
        official.schema(),
        official.default(),
        official.required_default(),
    )
    assert [taken(ours, value) for value in VALUES] == [taken(official, value) for value in VALUES]


@pytest.mark.parametrize("value", [Color.RED, "GREEN", "BLUE", 2, 3, None, 1.5])
def test_an_enumeration_takes_the_same(value):
    ours, official = (each.of.CustomEnum(Color) for each in (OURS, OFFICIAL))
    assert taken(ours, value) == taken(official, value)
    assert ours.schema() == official.schema()


def taken(field, value):
    try:
        return field.validate_type("a", value)
    except TypeError as error:
        return str(error)
