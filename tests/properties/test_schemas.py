"""Records of any class come back through JSON and Avro."""

from dataclasses import field, fields, make_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from itertools import count
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from magnetar.schemas import AvroSchema, Float32, Int32, JsonSchema

NAMES = count()
Colour = Enum("Colour", {"RED": 1, "BLUE": "blue"})

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = {
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    Int32: st.integers(-(2**31), 2**31 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    Float32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    str: texts,
    bytes: st.binary(max_size=8),
    date: st.dates(),
    time: st.times(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    UUID: st.uuids(),
    Colour: st.sampled_from(Colour),
}


def leaves():
    return st.sampled_from(list(VALUES.items()))


def deeper(kinds):
    """A type and its values, of which each of ``kinds`` is one."""
    return st.one_of(
        kinds.map(lambda kind: (list[kind[0]], st.lists(kind[1], max_size=3))),
        kinds.map(lambda kind: (dict[str, kind[0]], st.dictionaries(texts, kind[1], max_size=3))),
        st.lists(kinds, min_size=1, max_size=4).map(record),
        leaves().map(lambda kind: (kind[0] | None, st.none() | kind[1])),
    )


def record(kinds):
    """A class with a field of each kind, every other one with a default, and its values."""
    name = f"Record{next(NAMES)}"
    made = make_dataclass(name, [(f"f{n}", kind) for n, (kind, _) in enumerate(kinds)])
    return made, st.builds(made, *(values for _, values in kinds))


records = (
    st.lists(st.recursive(leaves(), deeper, max_leaves=6), min_size=1, max_size=5)
    .map(record)
    .flatmap(lambda made: st.tuples(st.just(made[0]), st.lists(made[1], max_size=3)))
)


@settings(max_examples=60)
@given(records)
def test_records_of_any_class_come_back(made):
    kind, values = made
    for schema in (JsonSchema(kind), AvroSchema(kind)):
        for value in values:
            assert schema.decode(schema.encode(value)) == value


@settings(max_examples=60)
@given(records, leaves())
def test_a_class_may_get_a_field_with_a_default(made, more):
    """By which old messages are read, and new ones by the old class."""
    kind, values = made
    later = make_dataclass(
        kind.__name__,
        [
            *((one.name, one.type) for one in fields(kind)),
            ("more", more[0] | None, field(default=None)),
        ],
    )
    old, new = AvroSchema(kind), AvroSchema(later)
    for value in values:
        read = new.decoder(old.info)(Sent(old.encode(value)))
        assert read == later(*(getattr(value, one.name) for one in fields(kind)))
        assert old.decoder(new.info)(Sent(new.encode(read))) == value
        assert JsonSchema(later).decode(JsonSchema(kind).encode(value)) == read


class Sent:
    """A message, as a schema sees it."""

    key_bytes = None

    def __init__(self, data):
        self.data = data
