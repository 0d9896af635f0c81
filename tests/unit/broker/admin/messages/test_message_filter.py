import pytest

from magnetar.broker.admin.messages.message_filter import MessageFilter, time_ms
from magnetar.broker.admin.messages.stored import StoredMessage
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
        MessageFilter(),
        MessageFilter(key="YQ=="),
        MessageFilter(key="a"),
        MessageFilter(contains="ome te"),
        MessageFilter(contains="text=here"),
        MessageFilter(contains="colour=red"),
        MessageFilter(contains="17"),
        MessageFilter(contains="YQ"),
        MessageFilter(properties=(("n", "17"),)),
        MessageFilter(since_ms=1000, until_ms=1001),
    ],
)
def test_it_takes_what_fits(wanted):
    assert wanted.takes(MESSAGE)
    assert wanted.everything is (wanted == MessageFilter())


@pytest.mark.parametrize(
    "wanted",
    [
        MessageFilter(key="b"),
        MessageFilter(contains="blue"),
        MessageFilter(contains="colour=re"),
        MessageFilter(properties=(("n", "17"), ("colour", "blue"))),
        MessageFilter(since_ms=1001),
        MessageFilter(until_ms=1000),
        MessageFilter(key="a", contains="blue"),
    ],
)
def test_it_takes_nothing_else(wanted):
    assert not wanted.takes(MESSAGE)


@pytest.mark.parametrize(
    ("wanted", "data"),
    [
        (MessageFilter(key="a"), b"-YQ==-"),
        (MessageFilter(key="YQ=="), b"-YQ==-"),
        (MessageFilter(contains="n=3"), b"n...3"),
        (MessageFilter(contains="n=3"), b"n=3"),
        (MessageFilter(properties=(("n", "3"),)), b"n...3"),
        (MessageFilter(since_ms=5), b""),
    ],
)
def test_what_fits_may_be_in_bytes_that_have_its_parts(wanted, data):
    assert wanted.may_be_in(data)
    assert wanted == MessageFilter(since_ms=5) or not wanted.may_be_in(b"other")


def test_times_are_milliseconds_or_in_iso_s_form():
    assert time_ms("1795363200000") == 1795363200000
    assert time_ms("2026-11-22T16:00:00Z") == 1795363200000
    assert time_ms("2026-11-22T16:00:00") == 1795363200000
    assert time_ms("2026-11-22T17:00:00+01:00") == 1795363200000
    for text in ("yesterday", "\u00b2", "9" * 20, "9" * 5000):
        with pytest.raises(InvalidValue, match="is no time"):
            time_ms(text)
