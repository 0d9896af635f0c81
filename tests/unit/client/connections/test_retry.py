import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until_idle

from magnetar.client.connections.backoff import Backoff
from magnetar.client.connections.retry import retry, worth_retrying
from magnetar.clock import SystemClock
from magnetar.errors import (
    BacklogQuotaExceeded,
    BacklogQuotaHeld,
    ConnectionLost,
    ConsumerBusy,
    NotAllowed,
    NotAuthorized,
    NotReady,
    ProducerBusy,
    ProducerFenced,
    TimedOut,
    TopicNotFound,
    UnknownFailure,
    WriteFailed,
)


@pytest.mark.parametrize("error", [NotReady, ConnectionLost, WriteFailed, UnknownFailure])
def test_what_may_pass_is_tried_again(error):
    assert worth_retrying(error("x"), attached_before=False)
    assert worth_retrying(error("x"), attached_before=True)


@pytest.mark.parametrize("error", [NotAuthorized, TopicNotFound, NotAllowed])
def test_what_will_not_pass_is_not(error):
    assert not worth_retrying(error("x"), attached_before=False)
    assert not worth_retrying(error("x"), attached_before=True)


@pytest.mark.parametrize("error", [ProducerBusy, ConsumerBusy])
def test_who_was_attached_waits_for_its_own_last_connection_to_be_given_up(error):
    assert not worth_retrying(error("x"), attached_before=False)
    assert worth_retrying(error("x"), attached_before=True)


def test_who_is_fenced_does_not_come_back():
    assert not worth_retrying(ProducerFenced("another"), attached_before=True)


def test_who_is_kept_out_by_a_backlog_comes_back_when_it_is_gone():
    assert worth_retrying(BacklogQuotaHeld("held"), attached_before=False)
    assert worth_retrying(BacklogQuotaHeld("held"), attached_before=True)
    assert not worth_retrying(BacklogQuotaExceeded("told"), attached_before=False)
    assert worth_retrying(BacklogQuotaExceeded("told"), attached_before=True)


def failing(*errors):
    """Raises these, one each time; then it succeeds."""
    left = list(errors)

    async def attempt():
        if left:
            raise left.pop(0)
        return "done"

    return attempt


async def tried(attempt, *, timeout_s=5.0, clock=None):
    return await retry(
        attempt,
        limit=asyncio.timeout(timeout_s),
        timed_out="nothing happened in time",
        backoff=Backoff(lambda: 0.0, first_s=0.001, max_s=0.01),
        clock=clock or SystemClock(),
    )


async def test_it_is_tried_until_it_succeeds_with_delays_that_grow():
    clock = ManualClock()
    trying = asyncio.ensure_future(tried(failing(NotReady("1"), NotReady("2")), clock=clock))
    await clock.advance(0.0029)
    assert not trying.done()
    await clock.advance(0.0002)
    assert await trying == "done"


async def test_it_ends_with_what_never_helps():
    with pytest.raises(ProducerBusy, match="taken"):
        await tried(failing(NotReady("1"), ProducerBusy("taken")))


async def test_it_ends_with_its_time_and_the_last_error():
    with pytest.raises(NotReady, match="again and again"):
        await tried(failing(*[NotReady("again and again")] * 1000), timeout_s=0.05)


async def test_without_any_error_the_end_of_its_time_has_a_text_of_its_own():
    async def attempt():
        await asyncio.Event().wait()

    with pytest.raises(TimedOut, match="nothing happened in time"):
        await tried(attempt, timeout_s=0.01)


async def test_cancelled_it_stops():
    trying = asyncio.ensure_future(tried(failing(*[NotReady("later")] * 1000), clock=ManualClock()))
    await until_idle()
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying


async def test_the_last_error_says_how_long_it_was_tried():
    with pytest.raises(NotReady, match=r"^not yet; it took too long$"):
        await retry(
            failing(*[NotReady("not yet")] * 1000),
            limit=asyncio.timeout(0.05),
            timed_out="it took too long",
            backoff=Backoff(lambda: 0.5, first_s=0.01, max_s=0.01),
            clock=SystemClock(),
        )
