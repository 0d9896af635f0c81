import pytest

from magnetar.broker.admin.messages.stored import StoredMessage
from magnetar.broker.admin.messages.wanted import Wanted, time_ms
from magnetar.errors import InvalidValue
from magnetar.model.position import Position

MESSAGE = StoredMessage(
    Position(1, 2),
    publish_time_ms=1000,
    key="YQ==",
    key_b64=True,
    properties={"colour": "red", "n": "17"},
    payload=b"some text=here",
)


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(),
        Wanted(key="YQ=="),
        Wanted(key="a"),
        Wanted(contains="ome te"),
        Wanted(contains="text=here"),
        Wanted(contains="colour=red"),
        Wanted(contains="17"),
        Wanted(contains="YQ"),
        Wanted(properties=(("n", "17"),)),
        Wanted(since_ms=1000, until_ms=1001),
    ],
)
def test_it_takes_what_fits(wanted):
    assert wanted.takes(MESSAGE)
    assert wanted.everything is (wanted == Wanted())


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(key="b"),
        Wanted(contains="blue"),
        Wanted(contains="colour=re"),
        Wanted(properties=(("n", "17"), ("colour", "blue"))),
        Wanted(since_ms=1001),
        Wanted(until_ms=1000),
        Wanted(key="a", contains="blue"),
    ],
)
def test_it_takes_nothing_else(wanted):
    assert not wanted.takes(MESSAGE)


@pytest.mark.parametrize(
    ("wanted", "data"),
    [
        (Wanted(key="a"), b"-YQ==-"),
        (Wanted(key="YQ=="), b"-YQ==-"),
        (Wanted(contains="n=3"), b"n...3"),
        (Wanted(contains="n=3"), b"n=3"),
        (Wanted(properties=(("n", "3"),)), b"n...3"),
        (Wanted(since_ms=5), b""),
    ],
)
def test_what_fits_may_be_in_bytes_that_have_its_parts(wanted, data):
    assert wanted.may_be_in(data)
    assert wanted == Wanted(since_ms=5) or not wanted.may_be_in(b"other")


def test_times_are_milliseconds_or_in_iso_s_form():
    assert time_ms("1795363200000") == 1795363200000
    assert time_ms("2026-11-22T16:00:00Z") == 1795363200000
    assert time_ms("2026-11-22T16:00:00") == 1795363200000
    assert time_ms("2026-11-22T17:00:00+01:00") == 1795363200000
    for text in ("yesterday", "\u00b2", "9" * 20, "9" * 5000):
        with pytest.raises(InvalidValue, match="is no time"):
            time_ms(text)
