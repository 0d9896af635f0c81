"""A blocking call ends with a result for its caller, or without one that is left over."""

import asyncio
from functools import partial

import pytest
from support.loop import until

from magnetar.client.loop_call import LoopCall
from magnetar.tasks import Tasks


async def value(outcome, begun=None, more=None):
    if begun is not None:
        begun.set()
        await more.wait()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


@pytest.fixture
def tasks():
    return Tasks("test")


async def ended(tasks):
    await asyncio.gather(*tasks._running, return_exceptions=True)


async def test_the_result_or_the_error_reaches_another_thread(tasks):
    for outcome in (7, ValueError("wrong")):
        call = LoopCall(partial(value, outcome), tasks)
        call.begin()
        waiting = asyncio.to_thread(call.result)
        if outcome == 7:
            assert await waiting == 7
        else:
            with pytest.raises(ValueError, match="wrong"):
                await waiting


async def test_a_call_that_is_given_up_is_cancelled(tasks):
    undone, begun = [], asyncio.Event()
    call = LoopCall(lambda: value(7, begun, asyncio.Event()), tasks, undone.append)
    call.begin()
    await begun.wait()
    call.give_up()
    await ended(tasks)
    assert (undone, len(tasks)) == ([], 0)


async def test_a_result_that_nobody_gets_is_undone(tasks):
    undone = []
    call = LoopCall(lambda: value(7), tasks, undone.append)
    call.begin()
    await ended(tasks)
    call.give_up()
    assert undone == [7]


async def test_so_is_one_that_comes_in_spite_of_the_cancellation(tasks):
    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return 7

    undone = []
    call = LoopCall(stubborn, tasks, undone.append)
    call.begin()
    await asyncio.sleep(0)
    call.give_up()
    await ended(tasks)
    assert undone == [7]


async def test_an_error_that_nobody_gets_is_dropped(tasks):
    undone = []
    call = LoopCall(lambda: value(ValueError("wrong")), tasks, undone.append)
    call.begin()
    await ended(tasks)
    call.give_up()
    assert undone == []


async def test_a_result_that_is_on_its_way_is_undone_once(tasks):
    undone = []
    call = LoopCall(lambda: value(7), tasks, undone.append)
    call.begin()
    await until(call._task.done)
    call.give_up()
    await asyncio.sleep(0)
    call.give_up()
    assert undone == [7]


async def test_what_the_coroutine_function_raises_ends_the_call(tasks):
    def broken():
        raise ValueError("at once")

    call = LoopCall(broken, tasks)
    call.begin()
    with pytest.raises(ValueError, match="at once"):
        await asyncio.to_thread(call.result)


def test_waiting_may_have_an_end(tasks):
    with pytest.raises(TimeoutError, match=r"not ended within 0\.01 s"):
        LoopCall(lambda: value(7), tasks).result(0.01)


async def test_beginning_twice_is_once_and_not_after_the_end(tasks):
    call = LoopCall(lambda: value(7), tasks)
    call.begin()
    call.begin()
    assert len(tasks) == 1
    assert await asyncio.to_thread(call.result) == 7
    given_up = LoopCall(lambda: value(7), tasks)
    given_up.give_up()
    given_up.begin()
    assert len(tasks) == 0


async def test_one_that_never_began_leaves_no_warning(tasks):
    LoopCall(lambda: value(7), tasks).give_up()
