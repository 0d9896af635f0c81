import json
from contextlib import suppress
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.schemas.records import Cents, Item, Model, Order, Struct
from unit.schemas.test_json import everything, orders

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import AvroSchema, Definition


def message(data):
    return SimpleNamespace(data=data, key_bytes=None)


def there_and_back(value):
    schema = AvroSchema(type(value))
    return schema.decode(schema.encode(value))


def read(value, record, **options):
    """A value as another version of its class has it."""
    written = AvroSchema(type(value))
    return AvroSchema(record, **options).decoder(written.info)(message(written.encode(value)))


@given(orders)
def test_orders_come_back(order):
    assert there_and_back(order) == order


@given(everything)
def test_everything_comes_back(value):
    assert there_and_back(value) == value


@pytest.mark.parametrize(
    "value",
    [Model(number=1, customerName="c"), Struct(1, "n", [Item("a")]), Cents(Decimal("1.25"))],
)
def test_models_structs_and_types_of_ones_own_come_back(value):
    assert there_and_back(value) == value


@dataclass
class Later:
    number: float
    customer: str = "nobody"
    tags: list[str] = field(default_factory=list)


def test_what_another_version_wrote_is_read_by_the_rules_of_avro():
    assert read(Order(7, "note"), Later) == Later(7.0)
    assert read(Later(7.0, "me", ["t"]), make_dataclass("Later", [("customer", str)])).customer == (
        "me"
    )


def test_its_own_version_needs_no_resolution():
    schema = AvroSchema(Order)
    assert schema.decoder(schema.info)(message(schema.encode(Order(1)))) == Order(1)


def test_a_version_that_cannot_be_read_is_named():
    strict = make_dataclass("Order", [("customer", str)])
    with pytest.raises(UndecodableValue, match="customer"):
        read(Order(1), strict)
    with pytest.raises(UndecodableValue, match="written as JSON, not as AVRO"):
        AvroSchema(Order).decoder(SchemaInfo(SchemaType.JSON, b"{}"))
    with pytest.raises(UndecodableValue, match="no Avro schema"):
        AvroSchema(Order).decoder(SchemaInfo(SchemaType.AVRO, b"{"))


@given(st.binary(max_size=40))
def test_any_bytes_have_a_value_or_none(data):
    with suppress(UndecodableValue):
        AvroSchema(Order).decode(data)


def test_a_value_that_does_not_fit_is_refused_by_name():
    with pytest.raises(InvalidValue, match="Order: number: must be int, not str"):
        AvroSchema(Order).encode(Order("1"))
    with pytest.raises(InvalidValue, match="does not fit"):
        AvroSchema(Cents).encode(Cents("much"))


def test_dicts_are_held_to_a_definition():
    definition = {
        "type": "record",
        "name": "Point",
        "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int", "default": 0}],
    }
    for given_as in (definition, json.dumps(definition), json.dumps(definition).encode()):
        schema = AvroSchema.from_definition(given_as)
        assert schema.decode(schema.encode({"x": 1})) == {"x": 1, "y": 0}
        assert json.loads(schema.info.data) == definition
    with pytest.raises(InvalidValue, match=r"Point.x is <one> of type"):
        schema.encode({"x": "one"})
    with pytest.raises(InvalidValue):
        schema.encode({"x": 1, "z": 2})


@pytest.mark.parametrize("definition", ["{", '{"type": "recrd"}', "[", {"type": "record"}])
def test_what_is_no_definition_is_refused(definition):
    with pytest.raises(InvalidValue, match="no Avro schema"):
        Definition.of(definition)
