"""Kinds one by one; records of all kinds are in ``test_records.py``."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from unit.schemas.records import Colour, Size

from magnetar.errors import InvalidValue
from magnetar.schemas import kinds
from magnetar.schemas.kinds import ValueMismatch

WEST = timezone(timedelta(hours=-5))
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (kinds.null(), 0, "must be None, not int"),
        (kinds.boolean(), 1, "must be bool, not int"),
        (kinds.whole("int"), 1 << 31, "out of range for int: declare it as another type"),
        (kinds.whole("long"), True, "must be int, not bool"),
        (kinds.real("double", in_json=True), float("nan"), "JSON has no nan"),
        (kinds.real("double", in_json=False), "1", "must be float, not str"),
        (kinds.text(), b"x", "must be str, not bytes"),
        (kinds.text(), "\ud800", "lone surrogate"),
        (kinds.binary(in_json=True), "x", "must be bytes, not str"),
        (kinds.point_in_time(in_json=True), NOON.replace(tzinfo=None), "no time zone"),
        (kinds.point_in_time(in_json=True), datetime.max.replace(tzinfo=WEST), "out of range"),
        (kinds.point_in_time(in_json=False), NOON.date(), "must be datetime, not date"),
        (kinds.day(in_json=False), NOON, "must be date, not datetime"),
        (kinds.time_of_day(in_json=False), time(1, tzinfo=UTC), "has a time zone"),
        (kinds.decimal(), 1.5, "must be Decimal, not float"),
        (kinds.symbol(Colour, "Colour"), "RED", "must be one of RED, BLUE of Colour, not str"),
        (kinds.array(kinds.text(), list), "abc", "must be a list, not str"),
        (kinds.array(kinds.text(), list), ["a", 1], r"^\[1\]: must be str, not int"),
        (kinds.mapping(kinds.text()), {1: "a"}, "a key of type int: keys are str"),
        (kinds.union([kinds.null(), kinds.text()]), 1, "must be str, not int"),
    ],
)
def test_a_value_that_does_not_fit_is_named(kind, value, text):
    with pytest.raises(ValueMismatch) as misfit:
        kind.to_plain(value)
    assert misfit.match(text)


@pytest.mark.parametrize(
    ("kind", "plain", "text"),
    [
        (kinds.binary(in_json=True), "?", "is not base64"),
        (kinds.binary(in_json=True), 1, "must be text, not int"),
        (kinds.point_in_time(in_json=True), "noon", "'noon' is no datetime"),
        (kinds.decimal(), "much", "'much' is no Decimal"),
        (kinds.uuid(), "x", "'x' is no UUID"),
        (kinds.symbol(Colour, "Colour"), "GREEN", "'GREEN' is none of RED, BLUE of Colour"),
        (kinds.symbol(Size, "Size"), True, "True is none of SMALL, LARGE of Size"),
        (kinds.array(kinds.text(), set), {"a": 1}, "must be a list, not dict"),
    ],
)
def test_a_plain_value_of_another_kind_is_named(kind, plain, text):
    with pytest.raises(ValueMismatch, match=text):
        kind.of_plain(plain)


@pytest.mark.parametrize(
    ("kind", "value", "default"),
    [
        (kinds.binary(in_json=True), b"\xff", "\xff"),
        (kinds.binary(in_json=False), b"\xff", "\xff"),
        (kinds.point_in_time(in_json=False), NOON, 1_709_208_000_000_000),
        (kinds.point_in_time(in_json=True), NOON, "2024-02-29T12:00:00+00:00"),
        (kinds.day(in_json=False), date(1970, 1, 3), 2),
        (kinds.time_of_day(in_json=False), time(0, 0, 1), 1_000_000),
        (kinds.time_of_day(in_json=True), time(0, 0, 1), "00:00:01"),
        (kinds.decimal(), Decimal("1.50"), "1.50"),
        (kinds.union([kinds.text(), kinds.null()]), "x", "x"),
        (kinds.union([kinds.text(), kinds.null()]), None, None),
    ],
)
def test_defaults_are_written_as_avro_has_them(kind, value, default):
    assert kinds.default_of(kind, value) == default


def test_a_union_names_null_first_and_takes_what_fits():
    kind = kinds.union([kinds.whole("long"), kinds.null(), kinds.text()])
    assert kind.definition == ["null", "long", "string"]
    assert [kind.to_plain(value) for value in (1, "a", None)] == [1, "a", None]
    assert [kind.of_plain(value) for value in (1, "a", None)] == [1, "a", None]
    with pytest.raises(InvalidValue, match="several records"):
        kinds.union([kinds.mapping(kinds.text()), kinds.mapping(kinds.text())])


def test_members_are_known_by_name_and_by_value():
    kind = kinds.symbol(Colour, "Colour")
    assert kind.of_plain("BLUE") is kind.of_plain("#00f") is Colour.BLUE
    assert not kind.same_in_json


def test_identities_come_back_from_text_and_as_they_are():
    assert kinds.uuid().of_plain(str(UUID(int=1))) == kinds.uuid().of_plain(UUID(int=1))


def test_what_an_application_defines_is_left_as_it_is():
    kind = kinds.as_defined({"type": "fixed", "size": 2, "name": "f"})
    assert kind.of_plain(kind.to_plain(b"ab")) == b"ab"
