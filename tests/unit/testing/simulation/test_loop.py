import asyncio

import pytest

from magnetar.testing.simulation.loop import BEGIN_S, SimulatedLoop, Stuck
from magnetar.testing.simulation.processes import WALL_MS, Process


@pytest.fixture
def loop():
    loop = SimulatedLoop()
    yield loop
    loop.close()


def test_time_passes_only_from_timer_to_timer(loop):
    async def wait():
        seen = []
        for seconds in (3600, 0.5, 0):
            await asyncio.sleep(seconds)
            seen.append(loop.time() - BEGIN_S)
        return seen

    assert loop.run_until_complete(wait()) == [3600, 3600.5, 3600.5]


def test_who_waits_for_nothing_is_stuck(loop):
    async def forever():
        await loop.create_future()

    with pytest.raises(Stuck, match="nothing more can happen"):
        loop.run_until_complete(forever())


def test_what_calls_itself_again_and_again_is_stuck(loop, monkeypatch):
    monkeypatch.setattr("magnetar.testing.simulation.loop.CALLS_AT_ONCE_MAX", 100)

    async def busy():
        for _ in range(101):
            await asyncio.sleep(0)

    with pytest.raises(Stuck, match="time does not pass"):
        loop.run_until_complete(busy())


def test_what_blocks_is_done_at_once(loop):
    async def ask():
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 / 0)
        return await asyncio.to_thread(sum, [1, 2])

    assert loop.run_until_complete(ask()) == 3


def test_tasks_are_in_sets_in_the_order_in_which_they_were_made(loop):
    async def make():
        tasks = {loop.create_task(asyncio.sleep(0)) for _ in range(100)}
        numbers = [hash(task) for task in tasks]
        await asyncio.wait(tasks)
        return numbers

    first, second = (loop.run_until_complete(make()) for _ in range(2))
    assert len(set(first)) == 100
    assert [number - first[0] for number in first] == [number - second[0] for number in second]


def test_what_nobody_handles_is_kept(loop):
    loop.call_soon(lambda: 1 / 0)
    loop.run_until_complete(asyncio.sleep(0))
    assert isinstance(loop.failures[0]["exception"], ZeroDivisionError)


def test_a_process_that_dies_does_nothing_more_and_cleans_nothing_up(loop):
    told = []

    async def work(process):
        try:
            for number in range(10):
                told.append(number)
                await process.clock.sleep(1)
        finally:
            told.append("cleaned up")

    async def kill():
        process = Process("one")
        process.run(work(process))
        await asyncio.sleep(2.5)
        process.alive = False
        await asyncio.sleep(10)
        return process

    process = loop.run_until_complete(kill())
    assert told == [0, 1, 2]
    assert len(process.tasks) == 1
    next(iter(process.tasks))._log_destroy_pending = False


def test_a_paused_process_does_later_what_came_meanwhile(loop):
    told = []

    async def pause():
        process = Process("one")
        process.paused = True
        for number in range(3):
            process.call(told.append, number)
            await asyncio.sleep(1)
        assert told == []
        loop.resume(process)
        await asyncio.sleep(1)

    loop.run_until_complete(pause())
    assert told == [0, 1, 2]


def test_a_clock_may_be_fast_and_jump(loop):
    async def look():
        process = Process("one")
        process.clock.rate = 2.0
        began, wall = process.clock.now(), process.clock.wall_ms()
        process.clock.ahead_ms = 60_000
        await process.clock.sleep(10)
        return loop.time() - BEGIN_S, process.clock.now() - began, process.clock.wall_ms() - wall

    assert loop.run_until_complete(look()) == (5, 10, 70_000)


def test_an_exception_that_nobody_awaited_counts_as_long_as_its_process_lives(loop):
    def leave(process):
        future = process.context.run(loop.create_future)
        future.set_exception(ValueError("nobody"))

    loop.run_until_complete(asyncio.sleep(0))
    lives, died = Process("lives"), Process("died")
    died.alive = False
    leave(died)
    assert loop.failures == []
    leave(lives)
    assert [str(each["exception"]) for each in loop.failures] == ["nobody"]


def test_a_clock_that_is_set_right_goes_neither_back_nor_wrong(loop):
    process = Process("fast")
    process.clock.rate, process.clock.ahead_ms = 1.1, 60_000

    async def look():
        await asyncio.sleep(100)
        before = process.clock.now()
        process.clock.set_right()
        assert process.clock.now() == before
        await asyncio.sleep(50)
        assert process.clock.now() == pytest.approx(before + 50)
        assert process.clock.wall_ms() == pytest.approx(WALL_MS + loop.time() * 1000, abs=2)

    loop.run_until_complete(look())
