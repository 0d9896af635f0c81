"""Arguments of another type are refused as theirs."""

from collections.abc import Callable

import pytest

from magnetar.compat.checks import check_range, check_type, check_type_or_none, checked


def test_the_argument_is_named():
    check_type(int, 5, "five")
    with pytest.raises(ValueError, match="five is expected to be of type 'int' and not 'str'"):
        check_type(int, "5", "five")
    check_type_or_none(str, None, "name")
    with pytest.raises(ValueError, match="name is expected to be either None or of type 'str'"):
        check_type_or_none(str, 5, "name")


def test_a_number_has_its_range():
    check_range("size", 0, 0)
    with pytest.raises(ValueError, match="size is -1; it must be from 0"):
        check_range("size", -1, 0)


def call(
    name: str,
    *,
    size: int = 5,
    properties: dict[str, str] | None = None,
    listener: Callable[[], None] | None = None,
    topic: str | list[str] = "t",
    anything=None,
) -> None:
    """What is looked at is what can be of one type."""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": None}, "name is expected to be of type 'str' and not 'NoneType'"),
        ({"name": "n", "size": "5"}, "size is expected to be of type 'int'"),
        ({"name": "n", "properties": []}, "properties is expected to be either None or of type"),
    ],
)
def test_types_are_those_of_the_signature(given, said):
    with pytest.raises(ValueError, match=said):
        checked(call, given)


def test_what_is_not_given_has_its_default():
    found = checked(call, {"name": "n", "listener": 5, "topic": 5, "anything": 5, "self": 5})
    assert found == {
        "name": "n",
        "size": 5,
        "properties": None,
        "listener": 5,
        "topic": 5,
        "anything": 5,
    }
