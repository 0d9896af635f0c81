from support.clock import LoopClock
from support.loop import pass_time

from magnetar.client.consumers.timer import Timer


async def test_it_rings_once_at_the_earliest_of_its_times():
    clock, rung = LoopClock(), []
    start = clock.now()
    timer = Timer(clock, lambda: rung.append(clock.now() - start))
    for seconds in (9.0, 5.0, 7.0):
        timer.set(start + seconds)
    await pass_time(4.9)
    assert rung == []
    await pass_time(10)
    assert len(rung) == 1
    assert 5.0 <= rung[0] < 5.1


async def test_it_may_be_set_again_when_it_rings_and_not_rings_when_it_is_closed():
    clock, rung = LoopClock(), []

    def ring():
        rung.append(clock.now())
        timer.set(clock.now() - 1)  # What is due already does not ring for ever at one time.

    timer = Timer(clock, ring)
    timer.set(clock.now() + 1)
    await pass_time(1.1)
    count = len(rung)
    assert 2 <= count <= 110
    timer.close()
    await pass_time(1)
    assert len(rung) == count
