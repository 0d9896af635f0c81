"""Writers are looked at as long as they wait, and the loop does nothing when none does."""

import pytest
from support.clock import ManualClock
from support.loop import until_idle

from magnetar.storage.ledger.bookkeeper.waiting_writers import LOOK_S, WaitingWriters
from magnetar.tasks import Tasks


class Writer:
    def __init__(self):
        self.looks = 0

    def look(self, now, late_s):
        self.looks += 1
        self.late_s = late_s


async def test_those_that_wait_are_looked_at_and_nothing_runs_when_none_does():
    clock, tasks, writer = ManualClock(), Tasks("test"), Writer()
    waiting = WaitingWriters(clock, tasks)
    for looks in (2, 3):
        waiting.add(writer)
        waiting.add(writer)
        await until_idle()
        assert len(tasks) == 1
        before = writer.looks
        for _ in range(looks):
            await clock.advance(LOOK_S)
        assert writer.looks == before + looks
        waiting.discard(writer)
        await clock.advance(LOOK_S)
        assert writer.looks == before + looks
        assert len(tasks) == 0
    await tasks.close()


async def test_a_process_that_stood_still_says_for_how_long():
    clock, tasks, writer = ManualClock(), Tasks("test"), Writer()
    waiting = WaitingWriters(clock, tasks)
    waiting.add(writer)
    await clock.advance(LOOK_S)
    assert writer.late_s == pytest.approx(0)
    clock.move(2.0)
    await clock.advance(0)
    assert writer.late_s == pytest.approx(2.0 - LOOK_S)
    await tasks.close()
