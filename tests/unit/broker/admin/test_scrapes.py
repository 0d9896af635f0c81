import asyncio

import pytest

from magnetar.broker.admin.scrapes import Scrapes
from magnetar.errors import NotReady


class Maker:
    """Makes answers of two pieces; the second waits for ``goes_on``."""

    def __init__(self, error=None):
        self.made = 0
        self.goes_on = asyncio.Event()
        self._error = error

    async def make(self):
        self.made += 1
        return self._pieces(), "text/plain"

    async def _pieces(self):
        yield b"a"
        await self.goes_on.wait()
        if self._error is not None:
            raise self._error
        yield b"b"


async def read(answer):
    assert await answer.begun() == "text/plain"
    return b"".join([piece async for piece in answer])


async def test_whoever_asks_while_an_answer_is_made_gets_that_one():
    scrapes, maker = Scrapes(), Maker()
    first = scrapes.ask("*/*", maker.make, now=1, keep_s=0)
    assert await first.begun() == "text/plain"
    reading = [
        asyncio.ensure_future(read(scrapes.ask("*/*", maker.make, now=now, keep_s=0)))
        for now in (1, 5, 99)
    ]
    reading.pop().cancel()  # One that goes changes nothing for the others.
    other = scrapes.ask("application/openmetrics-text", maker.make, now=1, keep_s=0)
    maker.goes_on.set()
    assert await asyncio.gather(*reading, read(other)) == [b"ab"] * 3
    assert maker.made == 2
    again = scrapes.ask("*/*", maker.make, now=1, keep_s=0)
    assert (again is first, await read(again), maker.made) == (False, b"ab", 3)


async def test_an_answer_may_be_kept():
    scrapes, maker = Scrapes(), Maker()
    maker.goes_on.set()
    first = scrapes.ask("*/*", maker.make, now=10, keep_s=60)
    assert [await read(first), await read(first)] == [b"ab", b"ab"]
    assert scrapes.ask("*/*", maker.make, now=69, keep_s=60) is first
    assert scrapes.ask("*/*", maker.make, now=70, keep_s=60) is not first


async def test_one_that_fails_fails_for_all_who_asked_and_is_made_anew():
    scrapes, maker = Scrapes(), Maker(NotReady("not now"))
    answer = scrapes.ask("*/*", maker.make, now=1, keep_s=60)
    maker.goes_on.set()
    for _ in range(2):
        with pytest.raises(NotReady):
            await read(answer)

    async def fails():
        raise NotReady("nor now")

    answer = scrapes.ask("*/*", fails, now=1, keep_s=60)
    with pytest.raises(NotReady, match="nor now"):
        await answer.begun()


async def test_what_is_being_made_ends_with_the_broker():
    scrapes, maker = Scrapes(), Maker()
    running = asyncio.ensure_future(scrapes.run())
    answer = scrapes.ask("*/*", maker.make, now=1, keep_s=0)
    await answer.begun()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert answer.done
