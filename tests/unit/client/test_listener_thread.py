"""The thread that calls listeners."""

import asyncio
import threading

import pytest

from magnetar.client.listener_thread import ListenerThread


async def test_calls_come_one_after_the_other_in_its_own_thread():
    thread, called = ListenerThread("listener-test"), []

    def listener(number):
        called.append((number, threading.current_thread().name))

    await asyncio.gather(*(thread.call(listener, number) for number in range(10)))
    assert called == [(number, "listener-test") for number in range(10)]
    thread.end()


async def test_what_it_raises_is_raised_and_the_next_is_called():
    thread = ListenerThread("listener-test")
    with pytest.raises(ZeroDivisionError):
        await thread.call(divmod, 1, 0)
    with pytest.raises(RuntimeError, match="SystemExit"):
        await thread.call(exit)
    await thread.call(divmod, 1, 1)
    thread.end()


async def test_its_end_comes_behind_what_was_asked_for():
    thread, called, free = ListenerThread("listener-test"), [], threading.Event()
    first = asyncio.ensure_future(thread.call(free.wait))
    given_up = asyncio.ensure_future(thread.call(called.append, "given up"))
    last = asyncio.ensure_future(thread.call(called.append, "last"))
    await asyncio.sleep(0)
    thread.end()
    given_up.cancel()
    await asyncio.sleep(0)
    free.set()
    await asyncio.gather(first, last)
    assert called == ["last"]
