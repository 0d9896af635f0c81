import json
from dataclasses import dataclass, field, make_dataclass
from enum import Enum
from typing import Annotated, Any, NewType

import pytest
from unit.schemas.records import Colour, Item, Model, Order, Struct

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.schemas.kinds import ValueMismatch
from magnetar.schemas.records import (
    AvroType,
    Deriving,
    Float32,
    Int32,
    plain_of,
    value_of,
)

Number = NewType("Number", int)


def derived(record, name=None, *, in_json=False):
    return Deriving(in_json=in_json).record(record, name)


def of_type(hint, *, in_json=False):
    """What a field of this type is."""
    record = make_dataclass("Record", [("value", hint)])
    [found] = derived(record, in_json=in_json).definition["fields"]
    return found["type"]


@pytest.mark.parametrize(
    ("hint", "definition"),
    [
        (int, "long"),
        (Int32, "int"),
        (Annotated[int, "a remark"], "long"),
        (Float32, "float"),
        (Number, "long"),
        (int | None, ["null", "long"]),
        (list[int | None], {"type": "array", "items": ["null", "long"]}),
        (dict[str, bytes], {"type": "map", "values": "bytes"}),
        (
            Annotated[str, AvroType({"type": "fixed", "name": "f", "size": 1})],
            {"type": "fixed", "name": "f", "size": 1},
        ),
        (Colour, {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}),
    ],
)
def test_types_have_names_in_avro(hint, definition):
    assert of_type(hint) == definition


def test_a_definition_has_names_defaults_and_nested_records():
    found = derived(Order, "shop.sales.Order").definition
    assert (found["name"], found["namespace"]) == ("Order", "shop.sales")
    by_name = {each["name"]: each for each in found["fields"]}
    assert by_name["number"] == {"name": "number", "type": "long"}
    assert by_name["note"] == {"name": "note", "type": ["null", "string"], "default": None}
    assert by_name["items"]["default"] == []
    assert by_name["items"]["type"]["items"]["name"] == "Item"
    json.dumps(found)


def test_a_default_goes_with_the_first_type_of_its_union():
    record = make_dataclass("Record", [("note", str | None, "x"), ("kind", Colour, Colour.BLUE)])
    note, kind = derived(record).definition["fields"]
    assert note == {"name": "note", "type": ["string", "null"], "default": "x"}
    assert kind["default"] == "BLUE"


def test_an_optional_field_without_default_has_none_in_the_definition():
    record = make_dataclass("Record", [("note", str | None)])
    assert derived(record).definition["fields"][0]["default"] is None
    assert derived(record).of_plain({}) == record(None)


def test_a_default_that_is_empty_goes_with_its_type_too():
    record = make_dataclass("Record", [("n", list[int] | None, field(default_factory=list))])
    [found] = derived(record).definition["fields"]
    assert found == {
        "name": "n",
        "type": [{"type": "array", "items": "long"}, "null"],
        "default": [],
    }


def test_a_default_that_is_made_each_time_is_no_part_of_the_definition():
    record = make_dataclass("Record", [("n", list[int], field(default_factory=lambda: [1]))])
    assert "default" not in derived(record).definition["fields"][0]
    assert derived(record).of_plain({}) == record()


@dataclass
class Node:
    value: int
    next: "Node | None" = None
    others: "list[Node]" = field(default_factory=list)


def test_a_record_may_hold_itself():
    kind = derived(Node)
    assert kind.definition["fields"][1]["type"] == ["null", "Node"]
    node = Node(1, Node(2), [Node(3)])
    assert kind.of_plain(kind.to_plain(node)) == node


def test_models_and_structs_have_names_of_their_own():
    assert [each["name"] for each in derived(Model).definition["fields"]][-1] == "customerName"
    assert derived(Struct).definition["fields"][0]["name"] == "orderNumber"
    with pytest.raises(ValueMismatch, match="is no Model: 1 validation error"):
        derived(Model).of_plain({"number": 0})


def test_only_what_a_library_writes_the_same_is_left_to_it():
    assert derived(Order, in_json=True).same_in_json
    assert not derived(Model, in_json=True).same_in_json
    for hint in (Colour, str | None, int | str):
        record = make_dataclass("Record", [("value", hint)])
        assert not derived(record, in_json=True).same_in_json


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (object, r"Record.value: a field of type object has no place .* AvroType"),
        (Any, "has no place"),
        (dict[int, str], "has no place"),
        (list, "needs the type of its items"),
        (tuple[int, str], "needs the type of its items"),
        (Item | Order, "several records"),
    ],
)
def test_fields_that_have_no_place_are_named(hint, text):
    with pytest.raises(InvalidValue, match=text):
        of_type(hint)


def test_classes_that_are_no_records_are_refused():
    with pytest.raises(InvalidValue, match="give a dataclass, a pydantic model or a msgspec"):
        derived(int)
    with pytest.raises(InvalidValue, match=r"the default of Record.number: must be int"):
        derived(make_dataclass("Record", [("number", int, "x")]))
    with pytest.raises(InvalidValue, match="names are of a-z"):
        derived(make_dataclass("Record", [("nümber", int)]))
    with pytest.raises(InvalidValue, match="no name of Avro's: give the schema a name="):
        derived(Order, "shop.Ör")
    other = Enum("Item", ["A"])
    with pytest.raises(InvalidValue, match="two types are called Item"):
        derived(make_dataclass("Record", [("one", Item), ("two", other)]))


def nested(depth):
    plain = {"value": 0}
    for _ in range(depth):
        plain = {"value": 0, "next": plain}
    return plain


def test_what_is_nested_too_deeply_has_no_value():
    kind = derived(Node)
    assert value_of(kind, Node, nested(3)).next.next.next == Node(0)
    with pytest.raises(UndecodableValue, match="Node: the value is nested too deeply"):
        value_of(kind, Node, nested(10_000))
    ring = Node(1)
    ring.next = ring
    with pytest.raises(InvalidValue, match="Node: the value is nested too deeply"):
        plain_of(kind, Node, ring)
    assert plain_of(kind, Node, Node(1)) == {"value": 1, "next": None, "others": []}


def test_what_is_missing_is_named():
    with pytest.raises(ValueMismatch, match=r"items\[0\].name: is missing, and has no default"):
        derived(Order).of_plain({"number": 1, "items": [{}]})
    with pytest.raises(ValueMismatch, match="must be a record, not list"):
        derived(Order).of_plain([])
