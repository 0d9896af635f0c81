import asyncio

import pytest

from magnetar.client.gather_all import gather_all


async def test_results_come_in_order():
    async def later(number):
        for _ in range(3 - number):
            await asyncio.sleep(0)
        return number

    assert await gather_all(later(n) for n in range(3)) == [0, 1, 2]
    assert await gather_all([]) == []


async def test_an_error_waits_for_the_others():
    ended = []

    async def slow():
        await asyncio.sleep(0.01)
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
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert sorted(cancelled) == ["a", "b"]
