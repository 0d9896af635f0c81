"""What ``test_ack_sender.py`` does not show of the receipts: several at once."""

import asyncio

import pytest

from magnetar.client.consumers.ack_receipts import ACKNOWLEDGED, AckReceipts, all_of
from magnetar.client.consumers.acknowledgements import AckBatch
from magnetar.errors import NotAllowed, TimedOut


def sent(receipts, request_id):
    """Something that is acknowledged and sent."""
    receipt = receipts.receipt()
    receipts.begin()(request_id, AckBatch([]))
    return receipt


async def test_nothing_to_wait_for_is_there_at_once():
    await ACKNOWLEDGED
    await asyncio.gather(ACKNOWLEDGED, ACKNOWLEDGED)
    assert all_of([]) is ACKNOWLEDGED
    assert all_of([ACKNOWLEDGED, ACKNOWLEDGED]) is ACKNOWLEDGED


async def test_several_receipts_are_one_that_ends_with_the_last():
    first, second = AckReceipts("a", 5.0, list), AckReceipts("b", 5.0, list)
    one, other = sent(first, 1), sent(second, 2)
    assert all_of([one, ACKNOWLEDGED, one]) is one
    joined = asyncio.ensure_future(all_of([one, other]))
    first.answered(1, NotAllowed("no"))
    await asyncio.sleep(0)
    assert not joined.done()
    second.answered(2, None)
    with pytest.raises(NotAllowed):
        await joined


async def test_what_is_sent_is_settled_when_it_is_answered_or_must_be_sent_again():
    receipts = AckReceipts("t", 5.0, list)
    await receipts.settled()
    for end in (lambda: receipts.answered(1, None), receipts.take_unanswered):
        sent(receipts, 1)
        settled = asyncio.ensure_future(receipts.settled())
        await asyncio.sleep(0)
        assert not settled.done()
        end()
        await settled


async def test_what_is_not_answered_is_not_waited_for_for_ever():
    receipts = AckReceipts("t", 0.01, list)
    sent(receipts, 1)
    with pytest.raises(TimedOut, match="acknowledgements on t"):
        await receipts.settled()
