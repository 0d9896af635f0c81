import asyncio

import pytest
from support.loop import until_idle

from magnetar.broker.handlers.request_limiter import REQUESTS_AT_ONCE_MAX, RequestLimiter
from magnetar.tasks import Tasks


class Hall:
    """Sessions here are names; a job is an event that ends it, or None: it needs no time."""

    def __init__(self) -> None:
        self.tasks = Tasks("test")
        self.limiter = RequestLimiter(self.tasks, work=self._work, drop=self._drop)
        self.begun: list[tuple[str, object]] = []
        self.dropped: list[tuple[str, object]] = []
        self.broken: set[str] = set()

    async def _work(self, session, job) -> bool:
        self.begun.append((session, job))
        if job is not None:
            await job.wait()
        return session not in self.broken

    def _drop(self, session, job) -> None:
        self.dropped.append((session, job))


@pytest.fixture
async def hall():
    hall = Hall()
    yield hall
    await hall.tasks.close()
    assert len(hall.limiter) == 0


@pytest.mark.parametrize("over", [-1, 0, 1])
async def test_so_many_are_worked_on_at_once_and_the_next_waits(hall, over):
    jobs = [asyncio.Event() for _ in range(REQUESTS_AT_ONCE_MAX + over)]
    for job in jobs:
        hall.limiter.take("a", "test", job)
    await until_idle()
    assert len(hall.begun) == min(len(jobs), REQUESTS_AT_ONCE_MAX)
    jobs[5].set()
    await until_idle()
    assert [job for _, job in hall.begun] == jobs
    for job in jobs:
        job.set()
    await until_idle()
    assert len(hall.limiter) == 0


async def test_others_do_not_wait_for_one_that_has_much_to_do(hall):
    for _ in range(2 * REQUESTS_AT_ONCE_MAX):
        hall.limiter.take("a", "test", asyncio.Event())
    hall.limiter.take("b", "test", job := asyncio.Event())
    await until_idle()
    assert ("b", job) in hall.begun


async def test_between_two_jobs_that_take_no_time_the_loop_serves_others(hall):
    for _ in range(50 * REQUESTS_AT_ONCE_MAX):
        hall.limiter.take("a", "test", None)
    turns = 0
    while len(hall.begun) < 50 * REQUESTS_AT_ONCE_MAX:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 49


async def test_what_waits_is_dropped_when_its_connection_is_of_no_more_use(hall):
    jobs = [asyncio.Event() for _ in range(REQUESTS_AT_ONCE_MAX + 3)]
    for job in jobs:
        hall.limiter.take("a", "test", job)
    await until_idle()
    hall.broken.add("a")
    jobs[0].set()
    await until_idle()
    assert hall.dropped == [("a", job) for job in jobs[-3:]]
    for job in jobs:
        job.set()
    await until_idle()
    assert len(hall.begun) == REQUESTS_AT_ONCE_MAX


async def test_what_waits_is_dropped_when_the_broker_stops(hall):
    jobs = [asyncio.Event() for _ in range(REQUESTS_AT_ONCE_MAX + 3)]
    for job in jobs:
        hall.limiter.take("a", "test", job)
    await until_idle()
    await hall.tasks.close()
    assert hall.dropped == [("a", job) for job in jobs[-3:]]
