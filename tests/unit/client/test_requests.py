import asyncio
import itertools

import pytest

from magnetar.client import requests as room
from magnetar.client.requests import Requests
from magnetar.errors import ConnectionLost, NotReady, TimedOut
from magnetar.wire.commands import BaseCommand
from magnetar.wire.frames import Frame

ANSWER = Frame(BaseCommand())


@pytest.fixture
def requests():
    return Requests(itertools.count(1).__next__)


async def asked(requests, timeout_s=5.0):
    """A question on its way, and the request ids that were written."""
    written = []
    asking = asyncio.ensure_future(requests.ask(lambda n: b"%d" % n, written.append, timeout_s))
    await asyncio.sleep(0)
    return asking, written


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
    assert len(requests) == 0


async def test_a_refusal_is_raised(requests):
    asking, _ = await asked(requests)
    requests.failed(1, NotReady("later"))
    with pytest.raises(NotReady, match="later"):
        await asking


async def test_it_times_out_and_ignores_a_late_answer(requests):
    with pytest.raises(TimedOut, match=r"request 1 within 0\.01 s"):
        await requests.ask(build, drop, 0.01)
    requests.answered(1, ANSWER)
    assert len(requests) == 0


async def test_a_cancelled_question_is_forgotten(requests):
    asking, _ = await asked(requests)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(requests) == 0


async def test_a_lost_connection_fails_them_all(requests):
    askings = [(await asked(requests))[0] for _ in range(3)]
    requests.fail_all(ConnectionLost("gone"))
    for asking in askings:
        with pytest.raises(ConnectionLost, match="gone"):
            await asking


async def test_there_is_a_bound(requests, monkeypatch):
    monkeypatch.setattr(room, "REQUESTS_PENDING_MAX", 1)
    asking, _ = await asked(requests)
    with pytest.raises(TimedOut, match="1 requests wait"):
        await requests.ask(build, drop, 1.0)
    asking.cancel()


async def test_a_command_that_cannot_be_built_leaves_nothing_behind(requests):
    def fail(_request_id):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await requests.ask(fail, drop, 1.0)
    assert len(requests) == 0
