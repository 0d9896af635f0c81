"""What is fit to be sent passes, and what is not is named; the whole story is told from outside in
tests/client/test_bad_messages.py.
"""

from collections import ChainMap
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from types import MappingProxyType

import pytest

from magnetar.checks import (
    NUMBER_MAX,
    check_all,
    check_bytes,
    check_count,
    check_data,
    check_instance,
    check_key,
    check_member,
    check_not_negative,
    check_positive,
    check_text,
    check_timeout,
    copy_properties,
    milliseconds,
    seconds,
    whole_number,
)
from magnetar.errors import InvalidValue


class Word(StrEnum):
    ONE = "one"


class Number(IntEnum):
    ONE = 1


class Mode(Enum):
    ONE = 1
    TWO = 2


class Index:
    """An int of another library."""

    def __index__(self):
        return 7


def test_what_can_be_sent_passes():
    check_data(b"")
    for key in (None, "", "key", "schlüssel", b"\xff", Word.ONE):
        check_key(key)
    check_bytes("ordering_key", b"\xff")
    check_text("name", "名前 \U0001f600")
    check_member("mode", Mode.ONE, Mode)
    for several in ([], ["a"], ("a", Word.ONE), {"a": 1}):
        check_all("names", several, str)
    for number in (1, 0.5, Fraction(1, 3), float("inf")):
        check_positive("count", number)
        check_not_negative("count", number)
    check_not_negative("count", 0)


def test_what_cannot_is_named_with_the_remedy():
    with pytest.raises(InvalidValue, match=r"data must be bytes, not memoryview: .* bytes\(\)"):
        check_data(memoryview(b""))
    with pytest.raises(InvalidValue, match="key must be str or bytes, not bytearray: convert it"):
        check_key(bytearray())
    with pytest.raises(InvalidValue, match="ordering_key must be bytes, not str: encode text"):
        check_bytes("ordering_key", "text")
    with pytest.raises(InvalidValue, match=r"name has the lone surrogate '\\ud800' at index 2"):
        check_text("name", "ab\ud800c")
    with pytest.raises(InvalidValue, match=r"mode is 1; it must be one of Mode\.ONE, Mode\.TWO"):
        check_member("mode", 1, Mode)
    for several in (None, 7, ["a", 1], [b"a"]):
        with pytest.raises(InvalidValue, match=r"names is .*; it must be a list of str"):
            check_all("names", several, str)
    for number in (0, -1, float("nan")):
        with pytest.raises(InvalidValue, match=r"count is .*; it must be more than 0"):
            check_positive("count", number)
    for number in (-0.1, float("nan")):
        with pytest.raises(InvalidValue, match=r"count is .*; it may not be negative"):
            check_not_negative("count", number)
    with pytest.raises(InvalidValue, match="count must be a number, not str"):
        check_positive("count", "1")


@pytest.mark.parametrize(
    ("number", "meant"), [(0, 0), (NUMBER_MAX, NUMBER_MAX), (Number.ONE, 1), (Index(), 7)]
)
def test_whole_numbers_are_those_of_every_library(number, meant):
    assert whole_number("sequence_id", number) == meant


@pytest.mark.parametrize("number", [-1, NUMBER_MAX + 1, 2**70])
def test_whole_numbers_have_bounds(number):
    with pytest.raises(InvalidValue, match=f"sequence_id is {number}; it must be from 0 to"):
        whole_number("sequence_id", number)


@pytest.mark.parametrize("number", [1.0, "1", True, None])
def test_nothing_else_is_a_whole_number(number):
    with pytest.raises(InvalidValue, match="sequence_id must be int, not"):
        whole_number("sequence_id", number)


@pytest.mark.parametrize(
    "properties",
    [{}, {"a": "b", "ä": "ö"}, {Word.ONE: Word.ONE}, MappingProxyType({"a": "b"}), ChainMap()],
)
def test_properties_are_copied(properties):
    copied = copy_properties("properties", properties)
    assert copied == dict(properties)
    assert copied is not properties
    assert type(copied) is dict


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ("ab", "properties must be a mapping of str to str, not str"),
        (None, "properties must be a mapping of str to str, not None"),
        ({"a": "b", "c": 5}, r"properties\['c'\] must be str, not int"),
        ({"a": "b", b"c": "d"}, r"the key b'c' of properties must be str, not bytes"),
        ({"a": "ä", "c": "\udfff"}, r"properties\['c'\] has the lone surrogate '\\udfff'"),
    ],
)
def test_properties_that_are_no_text_are_named(properties, says):
    with pytest.raises(InvalidValue, match=says):
        copy_properties("properties", properties)


def test_a_time_may_be_a_datetime_with_a_time_zone():
    assert milliseconds("t", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == 1_000
    assert milliseconds("t", datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    assert milliseconds("t", 7) == 7
    with pytest.raises(InvalidValue, match=r"t is 2024-01-01 00:00:00, which has no time zone"):
        milliseconds("t", datetime(2024, 1, 1))  # noqa: DTZ001 - it must not.
    with pytest.raises(InvalidValue, match="t is -1000"):
        milliseconds("t", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC))


def test_a_number_of_seconds_may_be_a_timedelta():
    assert seconds("t", timedelta(minutes=1, milliseconds=5), most=100) == 60.005
    assert seconds("t", 2, most=100) == 2
    for wrong in (timedelta(seconds=-1), 101, "5", None):
        with pytest.raises(InvalidValue, match="t "):
            seconds("t", wrong, most=100)


def test_an_object_is_of_one_of_some_classes():
    check_instance("it", 5, str, int)
    with pytest.raises(InvalidValue, match="it must be a str or int, not None"):
        check_instance("it", None, str, int)
    with pytest.raises(InvalidValue, match="it must be a str, not the class str"):
        check_instance("it", str, str)


def test_a_count_is_a_whole_number_from_one():
    check_count("n", 1)
    for wrong in (0, -1, 1.5, True, "1"):
        with pytest.raises(InvalidValue, match="n "):
            check_count("n", wrong)


def test_a_timeout_is_a_number_or_none():
    for right in (None, 0, 0.5):
        check_timeout(right)
    for wrong in (-1, float("nan"), "5"):
        with pytest.raises(InvalidValue, match="timeout_s"):
            check_timeout(wrong)
