"""Pages over a topic's log in memory."""

import pytest
from unit.broker.admin.messages.entries import batch_of, entry_of
from unit.storage.managed_ledger.logs import append

from magnetar.broker.admin.messages import page as pages
from magnetar.broker.admin.messages.message_filter import MessageFilter
from magnetar.broker.admin.messages.page import PageCursor, find_page
from magnetar.clock import SystemClock
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import EARLIEST

NAME = "persistent://public/default/x"


@pytest.mark.parametrize(
    ("place", "text"), [((7, 3), "7:3"), ((7, 3, 0), "7:3:0"), ((7, 3, 2), "7:3:2")]
)
def test_a_place_is_written_as_the_id_of_its_message(place, text):
    assert str(PageCursor(*place)) == text


@pytest.fixture
async def topic(world):
    """Entries 0, 1, [2, 3, 4], 5 and [6, 7]: messages by their payloads."""
    topic = await world.topic(NAME)
    for data in (
        entry_of(b"0"),
        entry_of(b"1", publish_time_ms=1001),
        batch_of(b"2", b"3", b"4", publish_time_ms=1002),
        entry_of(b"5", publish_time_ms=1003),
        batch_of(b"6", b"7", publish_time_ms=1004),
    ):
        await append(topic.ledger, [data], EntryTraits([1]))
    return topic


async def page(topic, start, count=20, *, backwards=False, wanted=None):
    return await find_page(
        topic.log,
        SystemClock(),
        start,
        count=count,
        backwards=backwards,
        wanted=(wanted or MessageFilter()).takes,
        may_have=(wanted or MessageFilter()).may_be_in,
    )


def payloads(found):
    return b"".join(each.data for each in found.messages).decode()


async def test_pages_follow_each_other_without_gaps(topic):
    place, seen = PageCursor(*EARLIEST), []
    while place is not None:
        found = await page(topic, place, 2)
        seen.append(payloads(found))
        place = found.next
    assert seen == ["01", "23", "45", "67"]


async def test_backwards_too(topic):
    place, seen = PageCursor(*topic.log.end), []
    while place is not None:
        found = await page(topic, place, 3, backwards=True)
        seen.append(payloads(found))
        place = found.next
    assert seen == ["765", "432", "10"]


async def test_a_page_may_begin_within_a_batch(topic):
    ledger_id, _ = topic.log.first
    assert payloads(await page(topic, PageCursor(ledger_id, 2, 1), 2)) == "34"
    assert payloads(await page(topic, PageCursor(ledger_id, 2, 1), 9, backwards=True)) == "3210"
    assert payloads(await page(topic, PageCursor(ledger_id, 2), 9, backwards=True)) == "43210"


async def test_what_is_not_wanted_is_passed_over_and_counted(topic):
    found = await page(topic, PageCursor(*EARLIEST), wanted=MessageFilter(contains="5"))
    assert (payloads(found), found.next) == ("5", None)
    assert (found.scan.entries, found.scan.messages) == (5, 8)
    assert found.scan.last.position.entry_id == 4


async def test_a_search_ends_somewhere_and_says_where(topic, monkeypatch):
    ledger_id, _ = topic.log.first
    wanted = MessageFilter(contains="nothing")
    for name, value in (
        ("SCANNED_ENTRIES_MAX", 2),
        ("SCANNED_BYTES_MAX", len(entry_of(b"0")) * 2 + 1),
        ("SCANNED_S_MAX", -1.0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(pages, name, value)
            found = await page(topic, PageCursor(*EARLIEST), wanted=wanted)
        assert found.next == PageCursor(ledger_id, found.scan.entries)
        assert found.scan.entries in (1, 2)


async def test_the_payloads_of_a_page_are_bounded_and_one_message_always_fits(topic, monkeypatch):
    monkeypatch.setattr(pages, "PAGE_BYTES_MAX", 0)
    assert payloads(await page(topic, PageCursor(*EARLIEST))) == "0"
