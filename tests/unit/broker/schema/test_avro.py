import pytest
from unit.broker.schema.samples import OPTIONAL, record

from magnetar.broker.schema.avro import CLASHES_NAMED_MAX, PAIRS_COMPARED_MAX, AvroDefinition
from magnetar.errors import InvalidSchema


def enum(*symbols, name="Kind"):
    return {"type": "enum", "name": name, "symbols": list(symbols)}


def unreadable(reader, writer):
    return AvroDefinition.parse(reader).unreadable(AvroDefinition.parse(writer))


@pytest.mark.parametrize("data", [b"not json", b'{"type":"zzz"}', b"[" * 30_000, b"\xff", b"{}"])
def test_what_is_no_definition_is_refused(data):
    with pytest.raises(InvalidSchema):
        AvroDefinition.parse(data)


def test_a_logical_type_that_is_not_known_is_no_error():
    AvroDefinition.parse(record(("a", {"type": "int", "logicalType": "moon-phase"})))


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (record(("a", "long")), record(("a", "int"))),
        (record(("a", "bytes")), record(("a", "string"))),
        (record(("a", "int"), ("b", "int", 0)), record(("a", "int"))),
        (record(("a", "int")), record(("a", "int"), ("b", "int"))),
        (record(("a", ["null", "int"])), record(("a", "int"))),
        (record(name="Next"), record()),
        (record(("kind", enum("A", "B"))), record(("kind", enum("A", "C")))),
    ],
    ids=[
        *("promoted", "bytes", "added with default", "taken out", "made optional", "renamed"),
        "symbol taken out",
    ],
)
def test_what_can_be_read_clashes_nowhere(reader, writer):
    assert unreadable(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "clashes"),
    [
        (
            record(("a", "string")),
            record(("a", "int")),
            ["field a is string for the reader and int in the data"],
        ),
        (
            record(("a", "int"), ("b", "int")),
            record(("a", "int")),
            ["field b has no default and is not in the data"],
        ),
        (
            record(("a", "int"), ("b", "int")),
            record(("a", "long")),
            [
                "field a is int for the reader and long in the data",
                "field b has no default and is not in the data",
            ],
        ),
        (
            record(("a", "string")),
            record(("a", OPTIONAL)),
            ["field a is string for the reader and [null, string] in the data"],
        ),
        (
            record(("kind", enum("A"))),
            record(("kind", enum("A", name="Sort"))),
            ["field kind is enum shop.Kind for the reader and enum shop.Sort in the data"],
        ),
        (
            record(("a", ["string", "null"], None)),
            record(),
            ["field a has a default that is none of its type"],
        ),
        (
            record(("a", "int", 0, ["b"])),
            record(("a", "int"), ("b", "int")),
            ["it has two fields that are one by the aliases of the reader"],
        ),
    ],
    ids=["type", "new", "two", "optional", "name", "default", "aliases"],
)
def test_what_clashes_is_named(reader, writer, clashes):
    assert unreadable(reader, writer) == clashes


def test_a_field_deep_inside_is_named_with_its_path():
    def order(zip_type):
        address = {
            "type": "record",
            "name": "Address",
            "fields": [{"name": "zip", "type": zip_type}],
        }
        customer = {
            "type": "record",
            "name": "Customer",
            "fields": [{"name": "address", "type": ["null", address]}],
        }
        return record(("customer", customer))

    assert unreadable(order("int"), order("string")) == [
        "field customer.address.zip is int for the reader and string in the data"
    ]


def test_a_record_within_itself_is_compared():
    def tree(kind):
        return record(("value", kind), ("next", ["null", "shop.R"], None))

    assert unreadable(tree("long"), tree("int")) == []
    assert unreadable(tree("int"), tree("long"))[0].startswith("field value is int")


def test_not_every_field_of_very_many_is_named():
    many = record(*((f"f{n}", "int") for n in range(CLASHES_NAMED_MAX + 5)))
    found = unreadable(many, record())
    assert len(found) == CLASHES_NAMED_MAX + 1
    assert found[-1] == "and 5 more"


def union_of(kind, count, name="r"):
    named = [
        {"type": "record", "name": f"{name}{number}", "fields": [{"name": "a", "type": kind}]}
        for number in range(count)
    ]
    return record(("u", named))


def test_large_unions_are_compared_by_name():
    assert unreadable(union_of("long", 500), union_of("int", 500)) == []
    (clash,) = unreadable(union_of("int", 500), union_of("long", 500))
    assert clash == "field u.a is int for the reader and long in the data"


def test_of_a_long_union_not_every_branch_is_shown():
    (clash,) = unreadable(record(("u", "int")), union_of("int", 500))
    assert clash.startswith("field u is int for the reader and [record shop.r0, record shop.r1, ")
    assert len(clash) < 300


def nested(kind, count):
    """Records that hold the one before them twice, by default."""
    for number in range(count):
        again, default = (f"r{number - 1}", {}) if number else (kind, "")
        fields = [{"name": "a", "type": kind, "default": default}]
        fields.append({"name": "b", "type": again, "default": default})
        kind = {"type": "record", "name": f"r{number}", "fields": fields}
    return record(("top", kind, {}))


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (union_of("int", 500, name="s"), union_of("int", 500)),
        (nested("string", 40), record()),
    ],
    ids=["records of other names", "defaults"],
)
def test_what_would_take_too_long_is_refused(reader, writer):
    with pytest.raises(InvalidSchema, match=f"more than {PAIRS_COMPARED_MAX} pairs"):
        unreadable(reader, writer)


def test_a_clash_deep_down_is_named_up_to_a_depth():
    def chain(kind):
        for number in range(30):
            kind = {"type": "record", "name": f"r{number}", "fields": [{"name": "a", "type": kind}]}
        return record(("top", kind))

    (clash,) = unreadable(chain("int"), chain("long"))
    assert clash == f"field top{'.a' * 19}... is int for the reader and long in the data"
