import json
import sys
from contextlib import closing

import pytest
from support.functions import CODE, configured

from magnetar.compat.message import Unreceived
from magnetar.errors import InvalidValue
from magnetar.functions.loading import UserCode
from magnetar.functions.values import Values
from magnetar.model.schemas import SchemaType
from magnetar.schemas.schema import Payload


@pytest.fixture(autouse=True)
def no_official_client(monkeypatch):
    """As in a process of functions: a program that has the official client would keep it."""
    for name in [name for name in sys.modules if name.split(".")[0] == "pulsar"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def code():
    with closing(UserCode(str(CODE))) as found:
        yield found


def decoded(values, data, topic="persistent://public/default/numbers"):
    return values.decoder(topic)(Unreceived(data=data, topic=topic))


def test_without_a_serde_numbers_are_numbers_and_text_is_text(code):
    values = Values(configured("Double"), code)
    assert decoded(values, b"21") == 21
    assert decoded(values, b"2.5") == 2.5
    assert decoded(values, b"a pen") == "a pen"
    assert values.output.encode(42) == b"42"
    assert values.output.schema is None


def test_serdes_are_those_of_the_input_and_of_the_output(code):
    config = configured(
        "Double",
        inputs=[],
        customSerdeInputs={"numbers": "user_code.Json", "words": "serde.IdentitySerDe"},
        outputSerdeClassName="user_code.Json",
    )
    values = Values(config, code)
    assert decoded(values, b"[1]") == [1]
    words = "persistent://public/default/words-partition-2"
    assert decoded(values, b"[1]", words) == "[1]"
    assert values.input_of(words) == "words"
    assert values.output.encode({"a": 1}) == b'{"a": 1}'


def test_primitive_schemas_decode_by_themselves_and_are_registered_for_the_output(code):
    config = configured(
        "Double", inputs=[], customSchemaInputs={"numbers": "INT32"}, outputSchemaType="string"
    )
    values = Values(config, code)
    assert decoded(values, (7).to_bytes(4)) == 7
    assert values.output.encode("ü") == "ü".encode()
    assert values.output.schema.info.type is SchemaType.STRING
    assert values.consumer_schema is None


def test_json_is_objects_with_and_without_a_schema_of_the_topic(code):
    config = configured(
        "Double", inputs=[], customSchemaInputs={"numbers": "json"}, outputSchemaType="json"
    )
    values = Values(config, code)
    assert decoded(values, b'{"a": 1}') == {"a": 1}
    assert json.loads(values.output.encode({"b": 2})) == {"b": 2}
    assert values.consumer_schema is not None


def test_a_schema_of_the_user_is_used_and_registered(tmp_path):
    (tmp_path / "shop.py").write_text(
        "from pulsar.schema import AvroSchema, Record, String\n"
        "class Order(Record):\n    item = String()\n"
        "ORDERS = AvroSchema(Order)\n"
    )
    config = configured(
        "Double",
        inputs=[],
        customSchemaInputs={"numbers": "shop.ORDERS"},
        outputSchemaType="shop.ORDERS",
    )
    with closing(UserCode(str(tmp_path / "shop.py"))) as code:
        values = Values(config, code)
        order = code.find("shop.Order")(item="a pen")
        assert decoded(values, values.output.encode(order)).item == "a pen"
        assert values.output.schema.info.type is SchemaType.AVRO


SHOP = """
from dataclasses import dataclass
from pulsar.schema import Record, String

class Order(Record):
    item = String()

@dataclass
class Sale:
    item: str
"""


@pytest.mark.parametrize("kind", ["avro", "json"])
@pytest.mark.parametrize("name", ["Order", "Sale"])
def test_records_are_of_the_class_that_is_named(tmp_path, kind, name):
    (tmp_path / "shop.py").write_text(SHOP)
    config = configured(
        "Double",
        inputs=[],
        customSchemaInputs={"numbers": kind.upper()},
        inputTypeClassName=f"shop.{name}",
        outputSchemaType=kind,
        outputTypeClassName=f"shop.{name}",
    )
    with closing(UserCode(str(tmp_path / "shop.py"))) as code:
        values = Values(config, code)
        order = code.find(f"shop.{name}")(item="a pen")
        data = values.output.encode(order)
        assert values.output.schema.info.type is SchemaType[kind.upper()]
        schema = values.consumer_schema
        assert schema is not None
        if kind == "json":
            assert decoded(values, data).item == "a pen"
        else:
            assert schema.decoder(values.output.schema.info)(Payload(data)).item == "a pen"


def test_records_that_nobody_describes_are_refused(code):
    with pytest.raises(InvalidValue, match="name their class as outputTypeClassName"):
        Values(configured("Double", outputSchemaType="avro"), code)


def test_patterns_and_strangers(code):
    config = configured("Double", inputs=[], topicsPattern="public/default/num.*")
    values = Values(config, code)
    topic = "persistent://public/default/num-7"
    assert values.input_of(topic) == "public/default/num.*"
    with pytest.raises(InvalidValue, match="none of the inputs"):
        values.input_of("persistent://public/default/words")
