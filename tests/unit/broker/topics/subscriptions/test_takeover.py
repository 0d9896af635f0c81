"""Who is active next, who hears of it, and when."""

import pytest
from support.clock import ManualClock
from support.loop import until_idle
from unit.broker.topics.conftest import attached

from magnetar.broker.dispatch.single import Single
from magnetar.broker.topics.subscriptions.takeover import Takeover
from magnetar.model.subscriptions import SubscriptionType
from magnetar.tasks import Tasks


class World:
    """A takeover, and when it had somebody served."""

    def __init__(self, delay_s):
        self.clock, self.tasks, self.served = ManualClock(), Tasks("takeover"), []
        self.strategy = Single(lambda consumers: min(consumers, key=lambda each: each.name))
        self.takeover = Takeover(
            self.strategy,
            served=lambda: self.served.append(self.strategy.active.name),
            delay_s=delay_s,
            tasks=self.tasks,
            clock=self.clock,
        )

    async def join(self, name):
        consumer = attached(SubscriptionType.FAILOVER, name)
        self.strategy.join(consumer)
        self.takeover.joined(consumer)
        await until_idle()  # Whoever waits looks at the clock.
        return consumer

    async def leave(self, consumer):
        self.strategy.leave(consumer)
        self.takeover.elected()
        await until_idle()


@pytest.fixture
async def world():
    world = World(1.0)
    yield world
    await world.tasks.close()


async def test_the_first_one_waits_as_well_and_hears_that_it_is_active(world):
    a = await world.join("a")
    await world.clock.advance(0.5)
    assert (world.served, a.connection.sent) == ([], [])
    await world.clock.advance(0.5)
    assert (world.served, a.connection.sent) == (["a"], [("active", 1, True)])


async def test_a_standby_hears_at_once_and_again_when_another_takes_over(world):
    a, c = await world.join("a"), await world.join("c")
    assert c.connection.sent == [("active", 1, False)]
    await world.clock.advance(1.0)
    b = await world.join("b")
    await world.leave(a)
    await world.clock.advance(1.0)
    assert world.served == ["a", "b"]
    assert (b.connection.sent[-1], c.connection.sent[-1]) == (
        ("active", 1, True),
        ("active", 1, False),
    )


async def test_a_later_takeover_ends_the_wait_of_an_earlier_one(world):
    await world.join("b")
    await world.clock.advance(0.5)
    await world.join("a")
    await world.clock.advance(0.5)
    assert world.served == []
    await world.clock.advance(0.5)
    assert world.served == ["a"]


async def test_nobody_is_served_after_the_end(world):
    await world.join("a")
    world.takeover.close()
    await world.clock.advance(1.0)
    assert world.served == []


async def test_without_a_delay_nobody_waits_and_nobody_hears():
    world = World(None)
    a = await world.join("a")
    b = await world.join("b")
    await world.leave(a)
    assert (world.served, a.connection.sent, b.connection.sent) == (["a", "b"], [], [])
