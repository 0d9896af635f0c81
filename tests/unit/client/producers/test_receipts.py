import asyncio

import pytest

from magnetar.client.producers.receipts import ManyReceipts, SentIds, Stored
from magnetar.errors import NotAllowed, TimedOut
from magnetar.model.position import ChunkedMessageId, MessageId, Position


def test_ids_are_made_from_what_was_stored():
    ids = SentIds([Stored(1, 5, 0, 2, 3, 10), Stored(1, 6, 0, -1, 1, 0)])
    expected = [
        MessageId(1, 5, 0, 2, 10),
        MessageId(1, 5, 0, 3, 10),
        MessageId(1, 5, 0, 4, 10),
        MessageId(1, 6, 0, -1, 0),
    ]
    assert list(ids) == expected
    assert len(ids) == 4
    assert [ids[index] for index in range(4)] == expected
    assert (ids[-1], ids[-4], ids[1:3]) == (expected[3], expected[0], expected[1:3])
    assert list(reversed(ids)) == expected[::-1]
    for index in (4, -5):
        with pytest.raises(IndexError):
            ids[index]


def test_no_messages_have_no_ids():
    assert list(SentIds([])) == []
    assert len(SentIds([])) == 0


def test_a_chunked_message_is_named_by_its_last_entry_and_remembers_the_first():
    found = SentIds([Stored(1, 9, 3, -1, 1, 0, Position(1, 7))])[0]
    assert found == ChunkedMessageId.of(1, 9, 3, first_chunk=Position(1, 7))


async def test_receipts_come_together_in_the_order_of_the_messages():
    receipts = ManyReceipts()
    first, second = receipts.part(), receipts.part()
    waiting = asyncio.ensure_future(receipts.ids())
    second.settle(Stored(1, 1, -1, 0, 2, 2))
    await asyncio.sleep(0)
    assert not waiting.done()
    first.settle(Stored(1, 0, -1, -1, 1, 0))
    assert [found.entry_id for found in await waiting] == [0, 1, 1]


async def test_the_first_error_is_raised_when_all_is_settled():
    receipts = ManyReceipts()
    parts = [receipts.part() for _ in range(3)]
    waiting = asyncio.ensure_future(receipts.ids())
    parts[1].settle(TimedOut("first"))
    parts[2].settle(NotAllowed("second"))
    await asyncio.sleep(0)
    assert not waiting.done()
    parts[0].settle(Stored(1, 0, -1, -1, 1, 0))
    with pytest.raises(TimedOut, match="first"):
        await waiting


async def test_nothing_sent_is_settled_at_once():
    assert list(await ManyReceipts().ids()) == []
