import pytest

from magnetar.broker.admin.messages.merged import merged, places_of, scanned, token
from magnetar.broker.admin.messages.page import PAGE_BYTES_MAX, Page, Place
from magnetar.broker.admin.messages.stored import StoredMessage
from magnetar.errors import InvalidValue
from magnetar.model.position import Position


def page(*times, next_=None, size=1):
    found = [StoredMessage(Position(1, at), publish_time_ms=at, size=size) for at in times]
    made = Page(found, next_)
    made.scan.entries = len(found)
    made.scan.first, made.scan.last = found[0], found[-1]
    return made


def test_pages_become_one_in_the_order_of_publishing():
    pages = {0: page(1, 4, 6), 1: page(2, 3, 7, next_=Place(1, 8))}
    found, places = merged(pages, 4, backwards=False)
    assert [(p, m.publish_time_ms) for p, m in found] == [(0, 1), (1, 2), (1, 3), (0, 4)]
    assert places == {0: Place(1, 6), 1: Place(1, 7)}
    total = scanned(pages)
    assert (total.entries, total.first.publish_time_ms, total.last.publish_time_ms) == (6, 1, 7)


def test_backwards_the_newest_come_first():
    found, places = merged({0: page(9, 5), 1: page(8, 2)}, 3, backwards=True)
    assert [m.publish_time_ms for _, m in found] == [9, 8, 5]
    assert places == {1: Place(1, 2)}


def test_the_payloads_of_a_page_are_bounded_and_one_message_always_fits():
    found, places = merged({0: page(1, 2, size=PAGE_BYTES_MAX)}, 9, backwards=False)
    assert (len(found), places) == (1, {0: Place(1, 2)})


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ({-1: Place(3, 7)}, "3:7"),
        ({-1: Place(3, 7, 2)}, "3:7:2"),
        ({0: Place(1, 2), 3: Place(4, 5, 6)}, "0=1:2,3=4:5:6"),
    ],
)
def test_where_to_go_on_is_text(places, text):
    assert (token(places), places_of(text)) == (text, places)


def test_nothing_left_is_no_text():
    assert token({}) is None


@pytest.mark.parametrize("text", ["", "1", "1:2:3:4", "a:b", "0=1", "x=1:2", "-1:2", "1:²"])
def test_anything_else_is_no_place(text):
    with pytest.raises(InvalidValue, match="is no place in a topic"):
        places_of(text)
