import asyncio

from magnetar.turns import batches, in_turns, yield_to_loop


async def test_others_are_served_in_between():
    said, loop = [], asyncio.get_running_loop()
    async for number in in_turns(range(5), 2):
        said += [number]
        loop.call_soon(said.append, f"after {number}")
    await yield_to_loop()
    assert said == [0, 1, "after 0", "after 1", 2, 3, "after 2", "after 3", 4, "after 4"]


def test_batches_have_everything_once():
    assert list(batches([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(batches([], 2)) == []
