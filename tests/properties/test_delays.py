"""Delays under random publishes, joins, leaves, acknowledgements, restarts and crashes.

Whatever happens, no message comes before its time, none is lost, and none comes twice to those who
are there.
"""

import random

import pytest
from scenarios.test_scenarios import Story
from support.loop import until_idle

from magnetar.broker.dispatch import delayed, delayed_bucket
from magnetar.broker.topics.settings import TopicSettings
from magnetar.model.policies import Policies
from magnetar.model.policy_values import DelayedDeliveryPolicies

STEPS = 80
TICK_MS = 500


class World:
    """A subscription that is told when each of its messages is due, and what came."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.story = Story()
        self.story.settings = TopicSettings(delayed_strict=True)
        self.story.policies = Policies(delayed_delivery=DelayedDeliveryPolicies(TICK_MS, True))
        self.kind = self.chance.choice(["shared", "key_shared"])
        self.due_ms = {}
        self.acked = set()
        self.held = {}  # By consumer: what it got and did not acknowledge.
        self.names = 0

    def look(self):
        """Take note of what came: nothing early, twice, or once it was acknowledged."""
        now = self.story.clock.wall_ms()
        for name, text in self.story.heard:
            text = text.partition("(")[0]  # noqa: PLW2901 - without how often it came before
            assert self.due_ms[text] <= now, f"{text} came early"
            assert text not in self.acked
            assert all(text not in held for held in self.held.values())
            self.held.setdefault(name, set()).add(text)
        self.story.heard.clear()

    async def publish(self):
        words = []
        for _ in range(self.chance.randrange(1, 8)):
            text = f"m{len(self.due_ms)}"
            delay = self.chance.choice([0, 0, self.chance.randrange(1, 20)])
            self.due_ms[text] = self.story.clock.wall_ms() + delay * 1000
            words.append(f"{text}:key={self.chance.randrange(5)}" + f":in={delay}" * bool(delay))
        await self.story.do_publish(*words)

    async def join(self):
        if len(self.story.members) < 3:
            self.names += 1
            permits = self.chance.choice([1, 5, 1000])
            await self.story.do_join(f"c{self.names}", self.kind, f"permits={permits}")

    async def leave(self):
        if self.story.members:
            name = self.chance.choice(list(self.story.members))
            self.held.pop(name, None)
            await self.story.do_leave(name)

    async def acknowledge(self):
        for name, held in self.held.items():
            some = {text for text in sorted(held) if self.chance.random() < 0.5}
            if some:
                await self.story.do_ack(name, *sorted(some))
            held.difference_update(some)
            self.acked |= some

    async def flow(self):
        for name in self.story.members:
            await self.story.do_flow(name, 20)

    async def wait(self):
        await self.story.do_wait(self.chance.choice([0.3, 1, 3]))

    async def restart(self):
        await self.story.do_wait(1.5)  # What is acknowledged is saved.
        self.look()
        self.held.clear()
        await self.chance.choice([self.story.do_restart, self.story.do_crash])()


@pytest.mark.parametrize("seed", range(12))
async def test_every_message_comes_in_time_and_once(seed, monkeypatch):
    monkeypatch.setattr(delayed, "RECENT_MAX", 7)
    monkeypatch.setattr(delayed_bucket, "SEGMENT_ENTRIES", 3)
    world = World(seed)
    chance = world.chance
    await world.story.open()
    usual = [world.publish, world.wait, world.acknowledge, world.flow]
    rare = [world.join, world.leave, world.restart]
    for _ in range(STEPS):
        await chance.choice(usual if chance.random() < 0.8 else rare)()
        await until_idle()
        world.look()
    for _ in range(30):
        await world.join()
        await world.flow()
        await world.story.do_wait(2)
        world.look()
        await world.acknowledge()
    assert world.acked == set(world.due_ms)
    assert world.story.subscription.cursor.backlog == 0
    await world.story.close()
