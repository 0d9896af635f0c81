import pytest

from magnetar.errors import InvalidValue
from magnetar.pipelines.keys import Keys, suggestion


def test_a_key_that_is_not_known_names_the_near_one():
    with pytest.raises(InvalidValue, match=r"sinks\.copy\.form is not known: did you mean from\?"):
        Keys("sinks.copy", {"form": "x"}, ("from", "topic"))


def test_where_none_is_near_all_are_named():
    assert suggestion("zzz", ("from", "topic")) == "there are from, topic"


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_no_mapping_is_refused(value):
    with pytest.raises(InvalidValue, match="steps has to be a mapping"):
        Keys("steps", value, ())


def test_a_key_that_yaml_takes_for_something_else_is_refused():
    with pytest.raises(InvalidValue, match="the key True has to be text: quote it"):
        Keys("options", {True: "x"}, ())


def test_values_are_texts_as_spark_wants_them():
    keys = Keys("", {"a": True, "b": 3, "c": " x ", "d": ["x", 1], "e": {"f": False}}, "abcde")
    assert [keys.text(name) for name in "abc"] == ["true", "3", "x"]
    assert keys.texts("d") == ("x", "1")
    assert keys.texts("c") == ("x",)
    assert keys.options("e") == {"f": "false"}


def test_what_is_no_text_is_refused_by_its_place():
    keys = Keys("sinks.copy", {"options": {"a": ["x"]}}, ("options",))
    with pytest.raises(InvalidValue, match=r"sinks\.copy\.options\.a has to be a text, not a list"):
        keys.options("options")


def test_what_is_needed_and_missing_comes_with_an_example():
    with pytest.raises(InvalidValue, match="name is missing: give it, for example name: orders"):
        Keys("", {}, ("name",)).needed("name", "name: orders")
    assert "name" not in Keys("", {}, ("name",))
