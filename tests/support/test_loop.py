"""The loop and the clock of all tests."""

import asyncio
import socket
import threading

import pytest
from support import loop as support
from support.clock import LoopClock, ManualClock
from support.elsewhere import until_elsewhere, wait_until
from support.loop import iterations, pass_time, until, until_idle


async def test_idle_is_when_all_has_been_done():
    done = []

    async def in_many_steps():
        for number in range(100):
            await asyncio.sleep(0)
            done.append(number)

    work = asyncio.ensure_future(in_many_steps())
    await until_idle()
    assert len(done) == 100
    assert work.done()


async def test_idle_is_when_what_was_sent_has_been_read():
    one, other = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=one)
    reading = asyncio.ensure_future(reader.readexactly(3))
    other.send(b"abc")
    await until_idle()
    assert reading.result() == b"abc"
    other.close()
    writer.close()
    await writer.wait_closed()


async def test_a_loop_that_is_kept_awake_is_no_secret():
    async def for_ever():
        while True:
            await iterations()

    awake = asyncio.ensure_future(for_ever())
    with pytest.raises(AssertionError, match="keeps the loop from being idle"):
        await until_idle()
    awake.cancel()


async def test_iterations_are_counted():
    seen = []

    def again():
        seen.append(len(seen))
        asyncio.get_running_loop().call_soon(again)

    again()
    await iterations(5)
    assert len(seen) == 6


async def test_a_condition_is_awaited():
    numbers = []
    asyncio.get_running_loop().call_later(0.01, numbers.append, 1)
    await until(lambda: numbers)
    assert numbers == [1]


async def test_a_condition_that_another_thread_meets_is_seen_when_it_wakes_the_loop():
    loop, numbers = asyncio.get_running_loop(), []
    thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(numbers.append, 1))
    thread.start()
    await until(lambda: numbers)
    thread.join()


async def test_a_condition_that_is_never_met_or_fails_says_so():
    with pytest.raises(TimeoutError):
        await until(lambda: False, 0.01)
    numbers = []
    asyncio.get_running_loop().call_soon(numbers.append, 0)
    with pytest.raises(ZeroDivisionError):
        await until(lambda: numbers and 1 // numbers[0])


async def test_timers_see_time_pass():
    loop, called = asyncio.get_running_loop(), []
    began = loop.time()

    def every_ten_seconds():
        called.append(round(loop.time() - began))
        if len(called) < 5:
            loop.call_later(10, every_ten_seconds)

    loop.call_later(10, every_ten_seconds)
    await pass_time(9)
    assert called == []
    await pass_time(21)
    assert called == [10, 20, 30]
    late = asyncio.ensure_future(asyncio.sleep(3600))
    await pass_time(3600)
    assert late.done()
    assert called == [10, 20, 30, 40, 50]


def test_a_loop_of_ones_own():
    async def answer():
        await until_idle()
        return 42

    assert support.run(answer()) == 42


async def test_sleepers_wake_at_their_time():
    clock, woken = ManualClock(), []

    async def sleeper(seconds, times):
        for _ in range(times):
            await clock.sleep(seconds)
            woken.append((seconds, clock.now()))

    work = asyncio.gather(sleeper(2, 3), sleeper(3, 2))
    await clock.until_asleep(2)
    await clock.advance(1)
    assert woken == []
    await clock.advance(3.5)
    assert woken == [(2, 1002), (3, 1003), (2, 1004)]
    assert (clock.now(), clock.wall_ms(), clock.sleepers) == (1004.5, 1_004_500, 2)
    await clock.advance(2)
    assert sorted(woken[3:]) == [(2, 1006), (3, 1006)]
    await work


async def test_a_jump_wakes_nobody_until_time_passes():
    clock = ManualClock()
    sleeping = asyncio.ensure_future(clock.sleep(1))
    await until_idle()
    clock.move(-5)
    await until_idle()
    assert not sleeping.done()
    clock.move(100)
    await until_idle()
    assert not sleeping.done()
    await clock.advance(0)
    assert sleeping.done()
    assert clock.now() == 1095


async def test_who_sleeps_for_no_time_is_not_held():
    await ManualClock().sleep(0)


async def test_the_loops_clock_sees_its_time_pass():
    clock = LoopClock()
    before, before_ms = clock.now(), clock.wall_ms()
    sleeping = asyncio.ensure_future(clock.sleep(60))
    await pass_time(60)
    assert sleeping.done()
    assert 60 <= clock.now() - before < 70
    assert 60_000 <= clock.wall_ms() - before_ms + 1 < 70_000


def test_what_tells_nobody_is_looked_at_again():
    numbers = iter(range(100))
    assert wait_until(lambda: next(numbers), "a number", met=lambda n: n == 3, pause_s=0) == 3
    with pytest.raises(AssertionError, match=r"a star: not within 0.01 s, it is None"):
        wait_until(lambda: None, "a star", timeout_s=0.01)


async def test_what_tells_nobody_is_looked_at_again_while_the_loop_goes_on():
    thread = threading.Thread(target=list)
    thread.start()
    assert await until_elsewhere(lambda: not thread.is_alive(), "a thread's end")
    with pytest.raises(AssertionError, match="a star"):
        await until_elsewhere(lambda: None, "a star", timeout_s=0.01)
