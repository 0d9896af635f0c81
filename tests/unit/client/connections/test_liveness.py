from support.clock import LoopClock
from support.loop import pass_time

from magnetar.client.connections.liveness import Liveness, LivenessResult

PING, DEAD, IDLE = LivenessResult


class World:
    """A connection that notes what it is told, and when."""

    def __init__(self, idle_max_s=0.0):
        self.clock, self.told, self.used = LoopClock(), [], True
        self.start = self.clock.now()
        self.liveness = Liveness(
            10.0,
            idle_max_s,
            self.clock,
            used=lambda: self.used,
            tell=self.note,
        )
        self.liveness.watch()

    def note(self, verdict):
        self.told.append((verdict, round(self.clock.now() - self.start)))


async def test_a_broker_that_says_nothing_between_two_pings_is_dead():
    world = World()
    await pass_time(15)
    world.liveness.received()
    await pass_time(100)
    assert world.told == [(PING, 10), (PING, 20), (DEAD, 30)]


async def test_what_is_not_used_for_long_is_idle():
    world = World(idle_max_s=15)
    await pass_time(11)
    world.liveness.received()
    world.used = False
    await pass_time(15)  # Unused since it was looked at, at 20.
    world.liveness.received()
    world.liveness.keep()
    await pass_time(10)
    world.liveness.received()
    await pass_time(10)
    world.liveness.received()
    await pass_time(100)
    assert world.told == [(PING, n) for n in (10, 20, 30, 40)] + [(IDLE, 50)]


async def test_after_the_end_nothing_is_told():
    world = World()
    await pass_time(11)
    world.liveness.stop()
    await pass_time(100)
    assert world.told == [(PING, 10)]
