"""Waiting for what a put answers."""

import asyncio

import pytest

from magnetar.errors import LedgerFenced
from magnetar.storage.ledger.answers import answer_to, fenced


class Putting:
    """A put whose answer is given by the test."""

    def __init__(self):
        self.answered = None

    def __call__(self, answered):
        self.answered = answered


async def test_the_answer_is_the_first_entry():
    put = Putting()
    waiting = asyncio.ensure_future(answer_to(put))
    await asyncio.sleep(0)
    assert not waiting.done()
    put.answered(7, None)
    assert await waiting == 7


async def test_an_error_is_raised():
    put = Putting()
    waiting = asyncio.ensure_future(answer_to(put))
    await asyncio.sleep(0)
    put.answered(-1, fenced(3, "it was closed"))
    with pytest.raises(LedgerFenced, match="ledger 3 takes no more entries: it was closed"):
        await waiting


async def test_nobody_waiting_any_more_is_no_mistake():
    put = Putting()
    waiting = asyncio.ensure_future(answer_to(put))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    put.answered(7, None)
    put.answered(-1, fenced(3, "it was closed"))
