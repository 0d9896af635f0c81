"""Records are the same as the official client's: schemas, values, defaults and refusals."""

import pytest
from support.both_schemas import OFFICIAL, OURS, Color, filled

KINDS = ["Inner", "Named", "Sorted", "All", "Plain"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_avro_schema_is_the_same(kind):
    assert getattr(OURS, kind).schema() == getattr(OFFICIAL, kind).schema()


@pytest.mark.parametrize("name", ["color", "other", "texts", "inners", "numbers", "by_name"])
def test_a_field_has_the_same_schema_alone(name):
    assert OURS.All._fields[name].schema() == OFFICIAL.All._fields[name].schema()
    assert OURS.All._fields[name].type() == OFFICIAL.All._fields[name].type()


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_record_has_the_same_values(kind):
    assert plain(getattr(OURS, kind)()) == plain(getattr(OFFICIAL, kind)())


def test_a_filled_record_has_the_same_values():
    assert plain(filled(OURS)) == plain(filled(OFFICIAL))
    assert str(OURS.Named(b=1)) == str(OFFICIAL.Named(b=1))
    assert filled(OURS) == filled(OURS)
    changed = filled(OURS)
    changed.a = "other"
    assert changed != filled(OURS)


VALUES = {
    "flag": [True, None, 1, "x"],
    "number": [1, None, "x", 1.5, True],
    "big": [1, None, "x"],
    "real": [1, 1.5, None, "x"],
    "raw": [b"x", "x", None, 5],
    "text": ["x", b"x", None, 5],
    "null": [None, 1],
    "color": [Color.RED, "GREEN", "BLUE", 2, 3, None, 1.5],
    "texts": [["x"], [], None, "x", [1]],
    "inners": [[], None, [1], "x"],
    "numbers": [{"a": 1}, {}, None, {"a": "x"}, {1: 1}, 5],
    "inner": [None, 5, {"x": "wrong"}],
    "by_name": [{}, None, {"a": 5}],
    "undeclared": [1],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, many in VALUES.items() for v in many])
def test_a_field_takes_and_refuses_the_same(name, value):
    assert outcome(OURS, name, value) == outcome(OFFICIAL, name, value)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, many in VALUES.items() for v in many])
def test_a_constructor_takes_and_refuses_the_same(name, value):
    assert made(OURS, name, value) == made(OFFICIAL, name, value)


def test_what_is_no_field_is_refused_the_same():
    for make in (
        lambda of: of.Array(str),
        lambda of: of.Map(int),
        lambda of: of.CustomEnum(str),
        lambda of: of.Integer(default="x"),
        lambda of: of.String(default=5),
    ):
        assert attempted(lambda make=make: make(OURS.of)) == attempted(
            lambda make=make: make(OFFICIAL.of)
        )


def outcome(records, name, value):
    record = records.All(number=1, text="t")

    def set_it():
        setattr(record, name, value)
        return plain(getattr(record, name))

    return attempted(set_it)


def made(records, name, value):
    given = {"number": 1, "text": "t"} | {name: value}
    return attempted(lambda: plain(records.All(**given)))


def attempted(call):
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - theirs raises it.
        return type(error).__name__, str(error).replace("magnetar.compat", "pulsar")
    return result if not hasattr(result, "__module__") else type(result).__name__


def plain(value):
    """Records as dicts, with those attributes that are none of their fields."""
    if hasattr(value, "_fields"):
        return {name: plain(each) for name, each in vars(value).items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value
