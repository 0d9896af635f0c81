"""The end of a turn of the loop."""

import asyncio
import gc
import weakref

import pytest

from magnetar.loop_iteration import LoopIteration, Stage, this_iteration


@pytest.fixture
async def turn():
    return LoopIteration()


async def turns(count=3):
    for _ in range(count):
        await asyncio.sleep(0)


async def test_stages_come_in_order_at_the_end_of_the_turn(turn):
    done = []
    turn.at_end(Stage.SEND, lambda: done.append("send"))
    turn.at_end(Stage.LOG, lambda: done.append("log"))
    turn.at_end(Stage.APPEND, lambda: done.append("append"))
    assert done == []
    await turns()
    assert done == ["append", "log", "send"]


async def test_a_later_stage_that_an_earlier_one_brings_is_of_the_same_turn(turn):
    def append():
        turn.at_end(Stage.LOG, lambda: done.append(1))

    done = []
    turn.run(lambda: turn.at_end(Stage.APPEND, append))
    assert done == [1]


async def test_what_a_stage_brings_to_itself_waits_for_the_next_turn(turn):
    done = []

    def send():
        done.append(len(done))
        if len(done) < 3:
            turn.at_end(Stage.SEND, send)

    turn.at_end(Stage.SEND, send)
    await turns(1)
    first = list(done)
    await turns(5)
    assert first == [0]
    assert done == [0, 1, 2]


async def test_run_ends_the_turn_with_what_waited_before(turn):
    done = []
    turn.at_end(Stage.SEND, lambda: done.append("waited"))
    turn.run(lambda: turn.at_end(Stage.LOG, lambda: done.append("brought")))
    assert done == ["brought", "waited"]
    await turns()
    assert done == ["brought", "waited"]


async def test_what_run_leaves_is_done_in_the_next_turn(turn):
    done = []

    def send():
        turn.at_end(Stage.SEND, lambda: done.append(1))

    turn.run(lambda: turn.at_end(Stage.SEND, send))
    assert done == []
    await turns()
    assert done == [1]


async def test_a_failure_stops_nothing_else(turn, caplog):
    done = []
    turn.at_end(Stage.LOG, lambda: 1 // 0)
    turn.at_end(Stage.LOG, lambda: done.append(1))
    await turns()
    assert done == [1]
    assert "loop_iteration.defect" in caplog.text


async def test_each_loop_has_one():
    assert this_iteration() is this_iteration()


def test_a_loop_that_is_gone_is_forgotten():
    async def loop_seen():
        this_iteration().at_end(Stage.SEND, lambda: None)
        return weakref.ref(asyncio.get_running_loop())

    with asyncio.Runner() as runner:
        seen = runner.run(loop_seen())
    del runner
    gc.collect()
    assert seen() is None
