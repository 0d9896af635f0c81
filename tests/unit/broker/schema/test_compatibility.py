from dataclasses import replace

import pytest
from unit.broker.schema.samples import A_TEXT, AB, AC, A, avro, key_value, native

from magnetar.broker.schema.compatibility import check_compatible
from magnetar.errors import IncompatibleSchema
from magnetar.model.schemas import (
    SchemaCompatibilityStrategy,
    SchemaInfo,
    SchemaType,
    SchemaVersion,
)

Strategy = SchemaCompatibilityStrategy
A_GONE = avro(("z", "int", 0))


def clash(new, *existing, strategy):
    """What is said against ``new``; None where nothing is."""
    versions = [SchemaVersion(number, each) for number, each in enumerate(existing)]
    try:
        check_compatible(new, versions, strategy)
    except IncompatibleSchema as error:
        return str(error)
    return None


COMPARED = ("BACKWARD", "FORWARD", "FULL")
# New, old, and the strategies that take it.
EVOLUTIONS = {
    "optional field added": (AB, A, {*COMPARED}),
    "optional field taken out": (A, AB, {*COMPARED}),
    "field added": (AC, A, {"FORWARD"}),
    "field taken out": (A, AC, {"BACKWARD"}),
    "type changed": (A_TEXT, A, set()),
    "type promoted": (avro(("a", "long")), A, {"BACKWARD"}),
}


@pytest.mark.parametrize("name", EVOLUTIONS)
@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_each_strategy_takes_what_it_promises(name, kind):
    new, old, taking = EVOLUTIONS[name]
    new, old = replace(new, type=kind), replace(old, type=kind)
    for word in COMPARED:
        for strategy in (Strategy(word), Strategy(f"{word}_TRANSITIVE")):
            assert (clash(new, old, strategy=strategy) is None) == (word in taking), strategy
    assert clash(new, old, strategy=Strategy.ALWAYS_COMPATIBLE) is None
    assert clash(new, old, strategy=Strategy.ALWAYS_INCOMPATIBLE) is not None


def test_only_transitive_strategies_look_further_back_than_the_latest():
    new, first, latest = avro(("a", "string", "")), A, A_GONE
    assert clash(new, first, latest, strategy=Strategy.BACKWARD) is None
    assert "field a" in clash(new, first, latest, strategy=Strategy.BACKWARD_TRANSITIVE)


def test_the_first_schema_is_always_taken():
    for strategy in Strategy:
        assert clash(A, strategy=strategy) is None


def test_another_type_is_never_taken_unless_everything_is():
    text = SchemaInfo(SchemaType.STRING)
    for strategy in set(Strategy) - {Strategy.ALWAYS_COMPATIBLE}:
        said = clash(text, A, strategy=strategy)
        assert said == "Incompatible schema: exists schema type AVRO, new schema type STRING"
    assert clash(text, A, strategy=Strategy.ALWAYS_COMPATIBLE) is None


def test_the_error_names_strategy_version_and_field():
    assert clash(AC, A, AB, strategy=Strategy.FULL) == (
        "Error during schema compatibility check with strategy FULL: the new schema cannot read "
        "the data of version 1: field c has no default and is not in the data"
    )
    assert "version 0 cannot read the data of the new schema: field a is int" in clash(
        A_TEXT, A, strategy=Strategy.FORWARD
    )


@pytest.mark.parametrize("kind", [SchemaType.STRING, SchemaType.INT64, SchemaType.PROTOBUF])
def test_of_other_types_only_the_type_counts(kind):
    new = replace(A_TEXT if kind is SchemaType.PROTOBUF else SchemaInfo(kind), type=kind)
    old = replace(A if kind is SchemaType.PROTOBUF else SchemaInfo(kind), type=kind)
    assert clash(new, old, strategy=Strategy.FULL) is None
    assert clash(new, old, strategy=Strategy.ALWAYS_INCOMPATIBLE) is not None


def test_key_and_value_are_compared_each():
    text, number = SchemaInfo(SchemaType.STRING), SchemaInfo(SchemaType.INT32)
    assert clash(key_value(text, AB), key_value(text, A), strategy=Strategy.FULL) is None
    said = clash(key_value(text, AC), key_value(text, A), strategy=Strategy.FULL)
    assert "of the value, the new schema cannot read" in said
    assert "field c" in said
    assert "of the key, " in clash(
        key_value(A_TEXT, text), key_value(A, text), strategy=Strategy.FULL
    )
    assert "the key is INT32, and STRING in version 0" in clash(
        key_value(number, A), key_value(text, A), strategy=Strategy.FULL
    )


def test_a_protobuf_message_keeps_its_name_and_its_numbers_their_encoding():
    old = native(("id", 1, "TYPE_INT32"), ("note", 2, "TYPE_STRING"))
    assert clash(native(("key", 1, "TYPE_INT64")), old, strategy=Strategy.FULL) is None
    said = clash(native(("id", 1, "TYPE_STRING")), old, strategy=Strategy.BACKWARD)
    assert "field id (number 1 of shop.Order) is string, and int32 id in version 0" in said
    assert "the message is shop.Bill, and shop.Order in version 0" in clash(
        native(message="Bill"), old, strategy=Strategy.FULL
    )


def test_json_schemas_of_old_clients_are_compared_by_id():
    def old(name):
        return SchemaInfo(SchemaType.JSON, b'{"type":"object","id":"%s"}' % name)

    json_of = replace(A, type=SchemaType.JSON)
    assert clash(old(b"x"), old(b"x"), strategy=Strategy.FULL) is None
    assert clash(old(b"x"), json_of, strategy=Strategy.FULL) is None
    assert clash(json_of, old(b"x"), strategy=Strategy.FULL) is None
    assert "its id is x, and y in version 0" in clash(old(b"x"), old(b"y"), strategy=Strategy.FULL)
