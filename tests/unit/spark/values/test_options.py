import pytest

from magnetar.errors import InvalidValue
from magnetar.spark.values.options import CORRUPT_COLUMN, ValueOptions


def parse(*, default=False, **options):
    return ValueOptions.parse(options, registry_by_default=default)


def test_values_are_bytes_unless_the_registry_is_asked():
    assert parse() == ValueOptions(registry=False)
    assert parse(SCHEMA="registry") == ValueOptions(registry=True)
    assert parse(schema="none", default=True) == ValueOptions(registry=False)
    assert parse(default=True) == ValueOptions(registry=True)
    assert parse(default=True, allowDifferentTopicSchemas="true") == ValueOptions(registry=False)


def test_a_bad_message_fails_is_null_or_goes_elsewhere():
    assert parse(schema="registry", mode="failfast") == ValueOptions(registry=True)
    assert parse(schema="registry", mode="PERMISSIVE").corrupt_column == CORRUPT_COLUMN
    named = parse(schema="registry", mode="PERMISSIVE", columnNameOfCorruptRecord="bad")
    assert named.corrupt_column == "bad"
    dead = parse(schema="registry", deadLetterTopic="bad")
    assert dead.dead_letter_topic == "persistent://public/default/bad"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"schema": "avro"}, "has to be none, for values in binary, or registry"),
        ({"mode": "PERMISSIVE"}, "mode is for schema=registry"),
        ({"deadLetterTopic": "x"}, "deadLetterTopic is for schema=registry"),
        ({"schema": "registry", "mode": "DROPMALFORMED"}, "set deadLetterTopic instead"),
        ({"schema": "registry", "mode": "lenient"}, "FAILFAST or PERMISSIVE"),
        ({"schema": "registry", "columnNameOfCorruptRecord": "x"}, "is for mode=PERMISSIVE"),
        ({"schema": "registry", "deadLetterTopic": "x", "mode": "PERMISSIVE"}, "one of"),
        ({"schema": "registry", "deadLetterTopic": "non-persistent://a/b/c"}, "persistent"),
        ({"schema": "registry", "allowDifferentTopicSchemas": "true"}, "remove schema=registry"),
        ({"allowDifferentTopicSchemas": "maybe"}, "true or false"),
    ],
)
def test_what_cannot_be_is_refused(options, says):
    with pytest.raises(InvalidValue, match=says):
        parse(**options)
