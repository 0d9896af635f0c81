"""What may be done with the thing that ``create_producer`` and its like return."""

import asyncio

import pytest

from magnetar.client.opening import opening


class Door:
    """Something to close."""

    def __init__(self):
        self.states = []

    async def __aenter__(self):
        self.states.append("entered")
        return self

    async def __aexit__(self, *exc):
        self.states.append("closed")


class House:
    @opening
    async def door(self, *, locked=False):
        """A door."""
        await asyncio.sleep(0)
        if locked:
            raise PermissionError("it is locked")
        return Door()


async def test_it_can_be_awaited_and_the_door_stays_open():
    assert (await House().door()).states == []


async def test_it_can_be_entered_and_the_door_is_closed_at_the_end():
    async with House().door() as door:
        assert door.states == ["entered"]
    assert door.states == ["entered", "closed"]


async def test_it_can_be_awaited_and_then_entered():
    async with await House().door() as door:
        pass
    assert door.states == ["entered", "closed"]


async def test_it_is_a_coroutine_for_all_that_take_one():
    async with asyncio.TaskGroup() as group:
        task = group.create_task(House().door())
    assert task.result().states == []
    assert len(await asyncio.gather(House().door(), House().door())) == 2
    assert (await asyncio.wait_for(House().door(), 5)).states == []


async def test_what_fails_to_open_is_not_closed():
    with pytest.raises(PermissionError, match="locked"):
        await House().door(locked=True)
    with pytest.raises(PermissionError, match="locked"):
        async with House().door(locked=True):
            raise AssertionError("it was entered")


async def test_one_that_is_cancelled_ends():
    task = asyncio.ensure_future(House().door())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_one_that_is_given_up_leaves_no_warning():
    House().door().close()


def test_it_keeps_its_name_and_text():
    assert (House.door.__name__, House.door.__doc__) == ("door", "A door.")


async def test_one_that_is_never_awaited_is_reported():
    forgotten = House().door()
    with pytest.warns(RuntimeWarning, match=r"House\.door' was never awaited"):
        del forgotten
