from dataclasses import dataclass, field, make_dataclass
from typing import TYPE_CHECKING

import msgspec
import pydantic
import pydantic.dataclasses
import pytest
from unit.schemas.records import Item, Model, Order, Struct

from magnetar.errors import InvalidValue
from magnetar.schemas.json import JsonSchema
from magnetar.schemas.record_fields import (
    NOT_FOUND,
    Field,
    fields_of,
    hints_of,
    is_model,
    is_record,
    plainly_made,
)

if TYPE_CHECKING:
    from nowhere import Unknown


def test_dataclasses_have_fields():
    name, count = fields_of(Item)
    assert name == Field("name", "name", "name")
    assert count == Field("count", "count", "count", default=1)
    assert (name.optional, count.optional) == (False, True)
    assert name.default is NOT_FOUND
    assert fields_of(Order)[4].factory is list
    made = make_dataclass("Made", [("a", int), ("b", int, field(init=False, default=1))])
    assert [one.name for one in fields_of(made)] == ["a"]


def test_models_have_fields_with_names_to_write_and_to_give():
    *_, customer = fields_of(Model)
    assert customer == Field("customer", "customerName", "customerName", default="nobody")
    assert not fields_of(Model)[0].optional
    made = pydantic.create_model("Made", a=(int, 1), b=(int, pydantic.Field(2, exclude=True)))
    assert [one.name for one in fields_of(made)] == ["a"]


def test_structs_have_fields_with_names_to_write():
    number, note, items = fields_of(Struct)
    assert number == Field("order_number", "orderNumber", "order_number")
    assert (note.default, items.factory) == (None, list)


def test_other_classes_are_no_records():
    assert all(map(is_record, (Item, Model, Struct)))
    assert not is_record(int)
    assert not is_record(5)
    assert fields_of(dict) is None
    assert is_model(Model)
    assert not is_model(Item)


def test_what_is_more_than_its_fields_is_left_to_its_own_library():
    assert plainly_made(Item)
    assert plainly_made(Struct)
    assert not plainly_made(Model)
    assert not plainly_made(pydantic.dataclasses.dataclass(type("P", (), {"__annotations__": {}})))
    assert not plainly_made(make_dataclass("Made", [("b", int, field(init=False, default=1))]))


@dataclass
class Odd:
    value: "Unknown"


def test_a_type_that_cannot_be_found_is_named():
    assert hints_of(Item)["name"] is str
    with pytest.raises(InvalidValue, match="Odd: name 'Unknown' is not defined"):
        hints_of(Odd)


@pytest.mark.parametrize("how", [{"tag": "t"}, {"array_like": True}])
def test_a_struct_that_its_library_writes_otherwise_is_an_object_all_the_same(how):
    made = msgspec.defstruct("Made", [("number", int)], **how)
    assert not plainly_made(made)
    assert JsonSchema(made).encode(made(1)) == b'{"number":1}'
    assert JsonSchema(made).decode(b'{"number":1}') == made(1)
