"""Key_Shared under consumers that come, go, stop reading and ask again: a key keeps its order.

In all modes but with out-of-order delivery: there only no entry is with two consumers at once. A
consumer that crashes is one that leaves without a word.
"""

import random

import pytest
from support.loop import iterations

from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType

CONSUMERS_MAX = 4
SETTINGS = {
    "cache_bytes": [0, 3_000, 1_000_000],
    "unacked_per_consumer_max": [0, 3, 20],
    "look_ahead_per_consumer_max": [5, 2_000],
    "read_entries_max": [2, 7, 1_000],
    "replay_entries_max": [1, 5, 100],
    "returned_at_once_max": [1, 3, 2_000],
    "iteration_entries_max": [1, 5, 2_000],
}
MODES = {
    "consistent": {"key_shared_consistent_hashing": True},
    "auto-split": {"key_shared_consistent_hashing": False},
    "sticky": {},
    "out-of-order": {"key_shared_consistent_hashing": False},
}
QUARTERS = [(start, start + 16_383) for start in range(0, 65_536, 16_384)]


class Storm:
    """Random steps on one subscription, and what is known of every entry."""

    def __init__(self, mode, bench, make_entry, chance):
        self.mode = mode
        self.bench = bench
        self.make_entry = make_entry
        self.chance = chance
        self.keys = {}  # Of every entry, by position.
        self.acknowledged = set()
        self.members = {}
        self.joined = 0
        self.wrong = []
        self.from_disk = False  # What expires while it is being read may still go out.

    def delivered(self, consumer_id, position):
        """Nobody else holds any of its key, and nothing of its key before it is left behind."""
        member = self.members.get(consumer_id)
        if member is None:  # It gets its first entries while it joins.
            return
        consumer, key = member[2], self.keys[position]
        if position in self.acknowledged and not self.from_disk:
            self.wrong.append(f"{position} went out after it was acknowledged")
        if self.mode == "out-of-order":
            others = [other for _, _, other in self.members.values() if other is not consumer]
            if any(position in self.held(other) for other in others):
                self.wrong.append(f"{position} went out to two consumers")
            return
        for _, _, other in self.members.values():
            if other is not consumer and key in {self.keys[held] for held in self.held(other)}:
                self.wrong.append(f"{position} of {key} went out while {other} held some of it")
        known = self.acknowledged.union(self.held(consumer))
        left = [p for p, its in self.keys.items() if its == key and p < position and p not in known]
        if left:
            self.wrong.append(f"{position} of {key} went out before {left}")

    def held(self, consumer):
        """The entries that a consumer holds."""
        dispatch = self.bench.topic.subscriptions["s"].dispatch
        held = dispatch.strategy.table.held(consumer) if dispatch else {}
        return [Position(ledger, entry) for ledger, entries in held.items() for entry in entries]

    def some(self, member, count_max):
        """A few of the entries that a consumer holds."""
        held = self.held(member[2])
        return self.chance.sample(held, min(len(held), self.chance.randint(1, count_max)))

    async def publish(self):
        some = [None, *(f"key-{number}" for number in range(10))]
        keys = self.chance.choices(some, k=self.chance.randint(1, 8))
        ledger_id, entry_id = self.bench.topic.ledger.last_position
        for number, key in enumerate(keys, 1):
            self.keys[Position(ledger_id, entry_id + number)] = key
        await self.bench.publish(*(self.make_entry(f"of {key}", key=key) for key in keys))

    def free_quarters(self):
        declared = [consumer.hash_ranges for _, _, consumer in self.members.values()]
        return [one for one in QUARTERS if not any(one in ranges for ranges in declared)]

    async def join(self, end, *, all_ranges=False):
        fields = {"allow_out_of_order": self.mode == "out-of-order"}
        if self.mode == "sticky":
            free = self.free_quarters()
            if not free:
                return
            count = len(free) if all_ranges else self.chance.randint(1, len(free))
            fields["hash_ranges"] = tuple(self.chance.sample(free, count))
        self.joined += 1
        made = await self.bench.consumer(
            SubscriptionType.KEY_SHARED, consumer_id=self.joined, permits=0, end=end, **fields
        )
        self.members[self.joined] = made
        self.flow(made)

    async def leave(self):
        consumer_id = self.chance.choice(list(self.members))
        _, subscription, consumer = self.members.pop(consumer_id)
        await self.bench.topic.leave(subscription, consumer)

    def flow(self, member):
        _, subscription, consumer = member
        subscription.flow(consumer, self.chance.choice([1, 2, 10, 100]))

    def acknowledge(self, member, count_max=6):
        _, subscription, consumer = member
        positions = self.some(member, count_max)
        self.acknowledged.update(positions)
        subscription.acknowledge(consumer, positions)

    def redeliver(self, member):
        _, subscription, consumer = member
        subscription.redeliver(consumer, self.chance.choice([None, self.some(member, 3)]))

    def expire(self, member):
        """Some of the backlog is acknowledged whoever holds it, seldom much of it."""
        left = sorted(self.keys.keys() - self.acknowledged)
        if left:
            until = left[min(len(left) - 1, self.chance.randrange(6))]
            self.acknowledged.update(position for position in left if position <= until)
            member[1].expire(until)

    def read_or_not(self, member):
        end = member[0]
        if end.writable:
            end.writable = False
        else:
            end.reads_again()

    async def settle(self, end):
        """Everybody reads, gives permits and acknowledges, until nothing is left."""
        await self.join(end, all_ranges=True)
        cursor = self.bench.topic.subscriptions["s"].cursor
        for _ in range(len(self.keys) + 1):
            for one in list(self.members.values()):
                if not one[0].writable:
                    one[0].reads_again()
                one[1].flow(one[2], 100)
                self.acknowledge(one, len(self.keys))
            await iterations(5)
            if not cursor.backlog:
                return
        self.wrong.append(f"{cursor.backlog} were left: {one[1].blocked_reason()}")


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("mode", MODES)
async def test_a_key_keeps_its_order_whatever_its_consumers_do(
    open_bench, client_end, make_entry, mode, seed
):
    chance = random.Random(seed)
    settings = {name: chance.choice(some) for name, some in SETTINGS.items()}
    bench = await open_bench(**settings, **MODES[mode])
    storm = Storm(mode, bench, make_entry, chance)
    storm.from_disk = settings["cache_bytes"] < 1_000_000

    class Watched(client_end):
        def _note(self, *what):
            super()._note(*what)
            if what[0] == "entry":
                storm.delivered(what[1], what[2])

    steps = {
        storm.flow: 20,
        storm.acknowledge: 22,
        storm.redeliver: 7,
        storm.read_or_not: 7,
        storm.expire: 3,
    }
    for _ in range(150):
        draw = chance.random()
        if draw < 0.25:
            await storm.publish()
        elif draw < 0.36 and len(storm.members) < CONSUMERS_MAX:
            await storm.join(Watched())
        elif storm.members and draw < 0.44:
            await storm.leave()
        elif storm.members:
            [step] = chance.choices(list(steps), list(steps.values()))
            step(chance.choice(list(storm.members.values())))
        await iterations(chance.choice([0, 0, 1, 3, 10]))
        assert not storm.wrong
    await storm.settle(Watched())
    assert not storm.wrong
