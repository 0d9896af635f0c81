"""Every task has an owner, who hears of its failure and ends it."""

import asyncio
import logging

import pytest

from magnetar.errors import WriteFailed
from magnetar.tasks import Closing, Tasks


async def test_a_task_runs_under_its_owners_name():
    tasks = Tasks("owner")

    async def name():
        return asyncio.current_task().get_name()

    assert await tasks.spawn("job", name()) == "owner:job"
    assert len(tasks) == 0


async def test_closing_ends_what_still_runs():
    tasks = Tasks("owner")
    ended = asyncio.Event()

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = tasks.spawn("job", forever())
    await asyncio.sleep(0)
    await tasks.close()
    assert ended.is_set()
    assert task.cancelled()


async def test_a_failure_is_logged(caplog):
    tasks = Tasks("owner")

    async def fail():
        raise ValueError("broken")

    with caplog.at_level(logging.ERROR):
        task = tasks.spawn("job", fail())
        await asyncio.wait([task])
        await asyncio.sleep(0)
    assert "task.failed name=owner:job" in caplog.text
    assert "Traceback" in caplog.text


async def test_the_failure_of_one_that_is_waited_for_is_not(caplog):
    tasks = Tasks("owner")

    async def fail():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await tasks.start("job", fail())
    assert not caplog.text
    assert len(tasks) == 0


async def test_a_failure_that_says_what_to_do_is_logged_in_one_line(caplog):
    tasks = Tasks("owner")

    async def fail():
        raise WriteFailed("the disk is full: make space")

    task = tasks.spawn("job", fail())
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert "the disk is full: make space" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_task_may_close_its_own_owner():
    tasks = Tasks("owner")
    task = tasks.spawn("job", tasks.close())
    await task
    assert not task.cancelled()


class Door:
    """Closes when it may, and counts how often."""

    def __init__(self):
        self.may_close = asyncio.Event()
        self.closed = 0
        self.close = Closing("door", self._close)

    async def _close(self, timeout_s):
        self.timeout_s = timeout_s
        await self.may_close.wait()
        self.closed += 1


async def test_something_is_closed_once_and_everybody_waits_for_it():
    door = Door()
    first, second = asyncio.ensure_future(door.close(7)), asyncio.ensure_future(door.close(1))
    await asyncio.sleep(0)
    assert not first.done()
    assert not second.done()
    door.may_close.set()
    await asyncio.gather(first, second)
    await door.close()
    assert (door.closed, door.timeout_s) == (1, 7)


@pytest.mark.parametrize("turns", range(4))
async def test_what_is_being_closed_is_closed_without_who_waited_for_it(turns):
    door = Door()
    waiting = asyncio.ensure_future(door.close())
    for _ in range(turns):
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    door.may_close.set()
    await door.close()
    assert door.closed == 1
