"""client/send_future.py: what Python's futures promise, whoever comes first."""

import asyncio
import concurrent.futures
import sys
import threading

import pytest

from magnetar.client.send_future import SendFuture
from magnetar.errors import TimedOut
from magnetar.model.position import MessageId

ID = MessageId(1, 2, -1, 3, 4)
SETTLED_FIRST, ASKED_FIRST = pytest.param(True, id="settled"), pytest.param(False, id="asked")


@pytest.fixture(params=[SETTLED_FIRST, ASKED_FIRST])
def future(request):
    """One that has been settled, or one whose condition has been made before it was."""
    found = SendFuture()
    if not request.param:
        assert found.running()
    found.set_result(ID)
    return found


def test_it_has_its_result(future):
    assert isinstance(future, concurrent.futures.Future)
    assert future.done()
    assert not future.running()
    assert not future.cancelled()
    assert not future.cancel()
    assert future.result() == future.result(0) == ID
    assert future.exception() is None
    assert "finished returned MessageId" in repr(future)


def test_it_is_settled_once(future):
    with pytest.raises(concurrent.futures.InvalidStateError):
        future.set_result(ID)
    with pytest.raises(concurrent.futures.InvalidStateError):
        future.set_exception(TimedOut("late"))
    assert future.result() == ID


def test_a_callback_is_called_at_once(future):
    seen = []
    future.add_done_callback(seen.append)
    assert seen == [future]


async def test_it_may_be_awaited(future):
    assert await asyncio.wrap_future(future) == ID


@pytest.mark.parametrize("asked", [True, False])
def test_it_raises_what_went_wrong(asked):
    future, seen = SendFuture(), []
    if asked:
        future.add_done_callback(seen.append)
    future.set_exception(TimedOut("no answer"))
    assert seen == [future] * asked
    assert isinstance(future.exception(), TimedOut)
    with pytest.raises(TimedOut, match="no answer"):
        future.result()


def test_who_waits_is_woken_and_does_not_wait_longer_than_it_wants():
    future = SendFuture()
    assert not future.done()
    with pytest.raises(concurrent.futures.TimeoutError):
        future.result(0.001)
    assert not future.cancel()
    thread = threading.Timer(0.01, future.set_result, [ID])
    thread.start()
    assert future.result(20) == ID
    thread.join()


def test_none_is_missed_by_who_waits_while_they_are_settled():
    futures = [SendFuture() for _ in range(5000)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        thread = threading.Thread(target=lambda: [each.set_result(ID) for each in futures])
        thread.start()
        seen = set(concurrent.futures.as_completed(futures, timeout=30))
        thread.join()
        again = concurrent.futures.wait(futures, timeout=30)
    finally:
        sys.setswitchinterval(before)
    assert seen == again.done == set(futures)
