"""The end of an iteration of the event loop."""

import asyncio

import pytest
from support.loop import iterations

from magnetar.loop_iteration import LoopIteration, Phase


@pytest.fixture
async def iteration():
    return LoopIteration(asyncio.get_running_loop())


async def test_phases_come_in_order_at_the_end_of_the_iteration(iteration):
    done = []
    iteration.at_end(Phase.SEND, lambda: done.append("send"))
    iteration.at_end(Phase.LOG, lambda: done.append("log"))
    iteration.at_end(Phase.APPEND, lambda: done.append("append"))
    assert done == []
    await iterations(3)
    assert done == ["append", "log", "send"]


async def test_a_later_phase_that_an_earlier_one_brings_is_of_the_same_iteration(iteration):
    def append():
        iteration.at_end(Phase.LOG, lambda: done.append(1))

    done = []
    iteration.run(lambda: iteration.at_end(Phase.APPEND, append))
    assert done == [1]


async def test_what_a_phase_brings_to_itself_waits_for_the_next_iteration(iteration):
    done = []

    def send():
        done.append(len(done))
        if len(done) < 3:
            iteration.at_end(Phase.SEND, send)

    iteration.at_end(Phase.SEND, send)
    await iterations(1)
    first = list(done)
    await iterations(5)
    assert first == [0]
    assert done == [0, 1, 2]


async def test_run_ends_the_iteration_with_what_waited_before(iteration):
    done = []
    iteration.at_end(Phase.SEND, lambda: done.append("waited"))
    iteration.run(lambda: iteration.at_end(Phase.LOG, lambda: done.append("brought")))
    assert done == ["brought", "waited"]
    await iterations(3)
    assert done == ["brought", "waited"]


async def test_what_run_leaves_is_done_in_the_next_iteration(iteration):
    done = []

    def send():
        iteration.at_end(Phase.SEND, lambda: done.append(1))

    iteration.run(lambda: iteration.at_end(Phase.SEND, send))
    assert done == []
    await iterations(3)
    assert done == [1]


async def test_a_failure_stops_nothing_else(iteration, caplog):
    done = []
    iteration.at_end(Phase.LOG, lambda: 1 // 0)
    iteration.at_end(Phase.LOG, lambda: done.append(1))
    await iterations(3)
    assert done == [1]
    assert "loop_iteration.defect" in caplog.text
