import pytest

from magnetar.broker.admin.messages.merged import merged, places_of
from magnetar.broker.admin.messages.page import PAGE_BYTES_MAX, PageCursor
from magnetar.errors import InvalidValue


def message(at, size=1):
    place = {"ledgerId": 1, "entryId": at, "batchIndex": -1}
    return {"id": place, "publishTime": at, "size": size}


def page(*times, next_=None, size=1):
    found = [message(at, size) for at in times]
    scanned = {"entries": len(found), "messages": len(found), "bytes": 10}
    return {
        "messages": found,
        "next": next_,
        "scanned": {**scanned, "first": found[0], "last": found[-1]},
    }


def times(answer):
    return [each["publishTime"] for each in answer["messages"]]


def test_pages_become_one_in_the_order_of_publishing():
    answer = merged({0: page(1, 4, 6), 1: page(2, 3, 7, next_="1:8")}, 4, backwards=False)
    assert times(answer) == [1, 2, 3, 4]
    assert answer["next"] == "0=1:6,1=1:7"
    scanned = answer["scanned"]
    assert (scanned["entries"], scanned["bytes"], scanned["complete"]) == (6, 20, False)
    assert (scanned["first"]["publishTime"], scanned["last"]["publishTime"]) == (1, 7)


def test_backwards_the_newest_come_first():
    answer = merged({0: page(9, 5), 1: page(8, 2)}, 3, backwards=True)
    assert (times(answer), answer["next"]) == ([9, 8, 5], "1=1:2")


def test_the_payloads_of_a_page_are_bounded_and_one_message_always_fits():
    answer = merged({0: page(1, 2, size=PAGE_BYTES_MAX)}, 9, backwards=False)
    assert (times(answer), answer["next"]) == ([1], "0=1:2")


def test_nothing_left_is_said():
    answer = merged({0: page(1)}, 9, backwards=False)
    assert (answer["next"], answer["scanned"]["complete"]) == (None, True)
    assert merged({}, 9, backwards=False)["messages"] == []


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ({-1: PageCursor(3, 7)}, "3:7"),
        ({-1: PageCursor(3, 7, 2)}, "3:7:2"),
        ({0: PageCursor(1, 2), 3: PageCursor(4, 5, 6)}, "0=1:2,3=4:5:6"),
    ],
)
def test_where_to_go_on_is_text(places, text):
    assert places_of(text) == places


@pytest.mark.parametrize("text", ["", "1", "1:2:3:4", "a:b", "0=1", "x=1:2", "-1:2", "1:²"])
def test_anything_else_is_no_place(text):
    with pytest.raises(InvalidValue, match="is no place in a topic"):
        places_of(text)
