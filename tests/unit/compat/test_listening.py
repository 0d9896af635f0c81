"""A listener gets messages in order; what comes while it is paused is kept."""

from types import SimpleNamespace

from magnetar.compat.listening import Listening
from magnetar.compat.schema import BytesSchema


def message(number):
    return SimpleNamespace(data=b"%d" % number, message_id=number)


def test_what_is_kept_comes_first():
    found = []
    listening = Listening(lambda who, each: found.append((who, each.data())), "me", BytesSchema())
    listening.hand(None, message(0))
    listening.pause()
    for number in (1, 2):
        listening.hand(None, message(number))
    assert found == [("me", b"0")]
    listening.resume()
    listening.go_on()
    listening.hand(None, message(3))
    assert [data for _, data in found] == [b"0", b"1", b"2", b"3"]


def test_one_that_pauses_itself_gets_no_more():
    found = []

    def listener(_, each):
        found.append(each.data())
        listening.pause()

    listening = Listening(listener, None, BytesSchema())
    listening.hand(None, message(0))
    listening.hand(None, message(1))
    listening.resume()
    listening.go_on()
    assert found == [b"0", b"1"]


def test_one_that_raises_gets_the_next(caplog):
    def listener(_, each):
        raise ValueError(each.data())

    listening = Listening(listener, None, BytesSchema())
    listening.hand(None, message(0))
    listening.hand(None, message(1))
    assert caplog.text.count("listener.failed") == 2
