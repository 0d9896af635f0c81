import asyncio

import pytest
from support.loop import iterations, until_idle

from magnetar.client.gather_all import gather_all


async def test_results_come_in_order():
    async def later(number):
        await iterations(3 - number)
        return number

    assert await gather_all(later(n) for n in range(3)) == [0, 1, 2]
    assert await gather_all([]) == []


async def test_an_error_waits_for_the_others():
    ended = []

    async def slow():
        await iterations(5)
        ended.append("slow")

    async def wrong():
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await gather_all([wrong(), slow()])
    assert ended == ["slow"]


async def test_cancelling_cancels_all():
    cancelled = []

    async def endless(name):
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(name)

    task = asyncio.ensure_future(gather_all([endless("a"), endless("b")]))
    await until_idle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_idle()
    assert sorted(cancelled) == ["a", "b"]
