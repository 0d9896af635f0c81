import asyncio
import itertools

import pytest
from support.loop import pass_time

from magnetar.client.connections.requests import Requests
from magnetar.errors import ConnectionLost, NotReady, TimedOut
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import Frame

ANSWER = Frame(BaseCommand())


@pytest.fixture
def requests():
    return Requests(itertools.count(1).__next__, pending_max=2)


async def asked(requests, timeout_s=5.0):
    """A question on its way, and the request ids that were written."""
    written = []
    asking = asyncio.ensure_future(requests.ask(lambda n: b"%d" % n, written.append, timeout_s))
    await asyncio.sleep(0)
    return asking, written


async def has_room(requests):
    """Nothing of what was asked before is left: there is room for as many as there may be."""
    askings = [(await asked(requests))[0] for _ in range(2)]
    assert not any(asking.done() for asking in askings)
    for asking in askings:
        asking.cancel()
    await asyncio.gather(*askings, return_exceptions=True)


def build(_request_id):
    return b""


def drop(_frame):
    """Nobody listens."""


async def test_an_answer_goes_to_who_asked(requests):
    first, _ = await asked(requests)
    second, written = await asked(requests)
    assert written == [b"2"]
    requests.answered(2, ANSWER)
    assert await second is ANSWER
    assert not first.done()
    requests.answered(1, ANSWER)
    assert await first is ANSWER
    await has_room(requests)


async def test_a_refusal_is_raised(requests):
    asking, _ = await asked(requests)
    requests.failed(1, NotReady("later"))
    with pytest.raises(NotReady, match="later"):
        await asking


async def test_it_times_out_and_ignores_a_late_answer(requests):
    with pytest.raises(TimedOut, match=r"request 1 within 0\.01 s"):
        await requests.ask(build, drop, 0.01)
    requests.answered(1, ANSWER)
    await has_room(requests)


async def test_an_answer_that_is_postponed_may_come_at_any_time(requests):
    told = []
    asking = asyncio.ensure_future(requests.ask(build, drop, 60.0, lambda: told.append("later")))
    await asyncio.sleep(0)
    requests.postponed(1)
    await pass_time(61.0)
    assert told == ["later"]
    assert not asking.done()
    requests.answered(1, ANSWER)
    assert await asking is ANSWER
    requests.postponed(1)  # It is over.


async def test_a_cancelled_question_is_forgotten(requests):
    asking, _ = await asked(requests)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await has_room(requests)


async def test_a_lost_connection_fails_them_all(requests):
    askings = [(await asked(requests))[0] for _ in range(2)]
    requests.fail_all(ConnectionLost("gone"))
    for asking in askings:
        with pytest.raises(ConnectionLost, match="gone"):
            await asking


async def test_there_is_a_bound(requests):
    askings = [(await asked(requests))[0] for _ in range(2)]
    with pytest.raises(TimedOut, match="2 requests wait"):
        await requests.ask(build, drop, 1.0)
    for asking in askings:
        asking.cancel()


async def test_a_command_that_cannot_be_built_leaves_nothing_behind(requests):
    def fail(_request_id):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await requests.ask(fail, drop, 1.0)
    await has_room(requests)
