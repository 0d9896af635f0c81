import click
import pytest
from support.keys import write_keys

from magnetar.errors import InvalidValue
from magnetar.schemas import AutoConsumeSchema, KeyValue, KeyValueSchema, StringSchema
from magnetar.tools.messaging.values import (
    OneKey,
    pair_of,
    paired,
    properties_of,
    receiving,
    schema_of,
)

RECORD = '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}'


def test_schemas_have_names():
    assert schema_of("bytes", "-vs")[0] is None
    schema, parse = schema_of("string", "-vs")
    assert (type(schema), parse(b"x")) == (StringSchema, "x")
    for kind in ("json", "avro"):
        schema, parse = schema_of(f"{kind}:{RECORD}", "-vs")
        assert schema.decode(schema.encode(parse(b'{"n": 5}'))) == {"n": 5}
        with pytest.raises(InvalidValue, match="is not JSON"):
            parse(b"n")


@pytest.mark.parametrize("text", ["text", "json", "avro:", "string:x", "json:{"])
def test_anything_else_is_no_schema(text):
    with pytest.raises(InvalidValue, match=r"no schema|no Avro schema"):
        schema_of(text, "-vs")


def test_pairs_have_a_schema_of_both():
    schema = pair_of(StringSchema(), None, "separated")
    assert isinstance(schema, KeyValueSchema)
    assert schema.encode(paired("k", b"v")) == b"v"
    assert paired("k", "v") == KeyValue("k", "v")


def test_values_are_read_by_the_topics_schema_where_that_is_asked_for():
    assert isinstance(receiving("auto_consume"), AutoConsumeSchema)
    assert receiving("bytes") is None


def test_properties_are_pairs():
    assert properties_of(["a=b,c=d", "e=f=g", "h="]) == {"a": "b", "c": "d", "e": "f=g", "h": ""}
    for odd in ("a", "=b", "a=b,c"):
        with pytest.raises(click.BadParameter, match="name=value"):
            properties_of([odd])


def test_one_key_is_for_every_name(tmp_path):
    write_keys(tmp_path, "alice")
    pem = (tmp_path / "alice.public.pem").read_bytes()
    key = OneKey(f"file://{tmp_path}/alice.public.pem")
    assert key.public_key("anybody").pem == key.private_key("x", {}).pem == pem
    assert OneKey("data:application/x-pem-file;base64,YQ==").public_key("x").pem == b"a"
    with pytest.raises(InvalidValue, match="is not base64"):
        OneKey("data:;base64,%")
    with pytest.raises(InvalidValue, match="No such file"):
        OneKey(str(tmp_path / "none"))
