import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.schemas.records import Colour, Everything, Item, Model, ModelItem, Order, Struct

from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.schemas import json as json_schema
from magnetar.schemas.json import JsonSchema, codec
from magnetar.schemas.records import Deriving

DECIMAL = {
    "type": "record",
    "name": "Amount",
    "fields": [
        {
            "name": "amount",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1},
        }
    ],
}

MIN, MAX = datetime(2, 1, 1), datetime(9999, 1, 1)  # noqa: DTZ001 - as hypothesis wants them

texts = st.text(st.characters(exclude_categories=["Cs"]))
wholes = st.integers(-(2**63), 2**63 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)
orders = st.builds(
    Order,
    number=wholes,
    note=st.none() | texts,
    price=finite,
    paid=st.booleans(),
    items=st.lists(st.builds(Item, texts, st.integers(-(2**31), 2**31 - 1))),
    labels=st.dictionaries(texts, texts),
)
everything = st.builds(
    Everything,
    moment=st.datetimes(MIN, MAX, timezones=st.just(timezone(timedelta(hours=5, minutes=45)))),
    day=st.dates(),
    hour=st.times(),
    amount=st.decimals(allow_nan=False),
    identity=st.uuids(),
    raw=st.binary(),
    colour=st.sampled_from(Colour),
    names=st.sets(texts),
    places=st.lists(wholes).map(tuple),
    either=wholes | texts,
    single=st.floats(width=32, allow_nan=False, allow_infinity=False),
    parent=st.none(),
)


@pytest.fixture(params=["msgspec", "json"], autouse=True)
def library(request, monkeypatch):
    """With the library and without: the same."""
    if request.param == "json":
        monkeypatch.setattr(json_schema, "find_spec", lambda _: None)
    codec.cache_clear()
    yield request.param
    codec.cache_clear()


def test_records_are_objects():
    schema = JsonSchema(Order)
    data = schema.encode(Order(1, "żółw", items=[Item("pen")]))
    assert json.loads(data) == {
        "number": 1,
        "note": "żółw",
        "price": 0.0,
        "paid": False,
        "items": [{"name": "pen", "count": 1}],
        "labels": {},
    }
    assert data.startswith('{"number":1,"note":"żółw",'.encode())
    assert json.loads(schema.info.data) == Deriving(in_json=True).record(Order).definition


@given(orders)
def test_orders_come_back(order):
    schema = JsonSchema(Order)
    assert schema.decode(schema.encode(order)) == order


@given(everything)
def test_everything_comes_back(value):
    schema = JsonSchema(Everything)
    assert schema.decode(schema.encode(value)) == value


@pytest.mark.parametrize(
    "value",
    [Model(number=1, items=[ModelItem(name="a")], customerName="c"), Struct(1, "n", [Item("a")])],
)
def test_models_and_structs_come_back(value):
    schema = JsonSchema(type(value))
    assert schema.decode(schema.encode(value)) == value


@dataclass
class Later:
    number: int
    customer: str = "nobody"
    count: int | None = None


def test_what_is_missing_takes_its_default_and_what_is_unknown_is_passed_over():
    written = JsonSchema(Order).encode(Order(7, "note"))
    assert JsonSchema(Later).decode(written) == Later(7)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'{"number":"x"}', b"\xff", b"{}"])
def test_other_bytes_have_no_value(data):
    with pytest.raises(UndecodableValue):
        JsonSchema(Order).decode(data)
    with pytest.raises(UndecodableValue):
        JsonSchema(Model).decode(data)


def test_a_value_that_does_not_fit_is_refused_by_name():
    with pytest.raises(InvalidValue, match=r"Order: items\[0\].count: must be int, not str"):
        JsonSchema(Order).encode(Order(1, items=[Item("a", "2")]))


def test_dicts_are_held_to_a_definition():
    schema = JsonSchema.from_definition(JsonSchema(Order).info.data)
    value = {"number": 1, "note": None, "price": 0.5, "paid": True, "items": [], "labels": {}}
    assert schema.decode(schema.encode(value)) == value
    with pytest.raises(InvalidValue, match=r"Order.number is <x> of type"):
        schema.encode({**value, "number": "x"})
    with pytest.raises(InvalidValue, match="JSON cannot have this value"):
        JsonSchema.from_definition(DECIMAL).encode({"amount": Decimal("1.5")})
