"""Chunked messages on consumers that come, go, stop reading and ask again: none is torn.

Consumers do as clients do: they acknowledge a message when all its chunks are there, and throw away
a chunk that comes without those before it. Whatever is thrown away is lost.
"""

import random
from collections import Counter

import pytest
from support.clock import ManualClock
from support.loop import iterations

from magnetar.message.chunk import Reassembly
from magnetar.message.metadata import parse
from magnetar.model.subscriptions import SubscriptionType

CONSUMERS_MAX = 4
PRODUCERS = 4
SETTINGS = {
    "cache_bytes": [0, 3_000, 1_000_000],
    "read_entries_max": [2, 7, 1_000],
    "replay_entries_max": [1, 5, 100],
    "returned_at_once_max": [1, 3, 2_000],
    "iteration_entries_max": [1, 5, 2_000],
}
SHARED, KEY_SHARED = SubscriptionType.SHARED, SubscriptionType.KEY_SHARED
MODES = {
    "shared": (SHARED, {}, {}),
    "consistent": (KEY_SHARED, {"key_shared_consistent_hashing": True}, {}),
    "auto-split": (KEY_SHARED, {"key_shared_consistent_hashing": False}, {}),
    "out-of-order": (KEY_SHARED, {}, {"allow_out_of_order": True}),
}


class Storm:
    """Random steps on one subscription, and what became of every message."""

    def __init__(self, kind, options, bench, make_entry, chance, *, clock, late_s):
        self.kind = kind
        self.options = options
        self.bench = bench
        self.make_entry = make_entry
        self.chance = chance
        self.clock = clock
        self.late_s = late_s
        self.unfinished = {}  # By producer: uuid, key, when it is due, next chunk and how many.
        self.members = {}
        self.names = 0
        self.received = Counter()
        self.wrong = []

    async def publish(self, count=6):
        """Each of several producers publishes the next chunk of its message."""
        entries = []
        for producer in self.chance.choices(range(PRODUCERS), k=count):
            begun = self.unfinished.pop(producer, None) or self.message()
            uuid, key, due, index, total = begun
            entries.append(
                self.make_entry(
                    "x",
                    key=key,
                    deliver_at_time=due,
                    uuid=uuid,
                    chunk_id=index,
                    num_chunks_from_msg=total,
                    total_chunk_msg_size=total,
                )
            )
            if index + 1 < total:
                self.unfinished[producer] = uuid, key, due, index + 1, total
        await self.bench.publish(*entries, counts=[0] * len(entries))

    def message(self):
        self.names += 1
        due = round(self.clock.wall_ms() + self.chance.uniform(0.0, self.late_s) * 1000)
        return f"m{self.names}", f"key-{self.names % 5}", due, 0, self.chance.randint(2, 4)

    async def join(self, make_end):
        end = make_end(self)
        made = await self.bench.consumer(
            self.kind, consumer_id=end.number, permits=0, end=end, **self.options
        )
        self.members[end.number] = made
        self.flow(made)

    async def leave(self):
        consumer_id = self.chance.choice(list(self.members))
        _, subscription, consumer = self.members.pop(consumer_id)
        await self.bench.topic.leave(subscription, consumer)

    def flow(self, member, permits=None):
        _, subscription, consumer = member
        subscription.flow(consumer, permits or self.chance.choice([1, 2, 5, 20]))

    def acknowledge(self, member, count_max=3):
        end, subscription, consumer = member
        for _ in range(min(count_max, len(end.whole))):
            uuid, positions = end.whole.popitem()
            self.received[uuid] += 1
            subscription.acknowledge(consumer, positions)

    def redeliver(self, member):
        """A message, or everything that the consumer holds."""
        end, subscription, consumer = member
        if end.whole and self.chance.random() < 0.7:
            subscription.redeliver(consumer, end.whole.popitem()[1])
        else:
            end.forget()
            subscription.redeliver(consumer, None)

    def read_or_not(self, member):
        end = member[0]
        if end.writable:
            end.writable = False
        else:
            end.reads_again()

    async def settle(self, make_end):
        """All messages are finished, and everybody reads until nothing is left."""
        while self.unfinished:
            await self.publish()
        await self.join(make_end)
        subscription = self.members[max(self.members)][1]
        for _ in range(self.names * 4):
            for one in list(self.members.values()):
                if not one[0].writable:
                    one[0].reads_again()
                self.flow(one, 100)
                self.acknowledge(one, self.names)
            await self.clock.advance(self.late_s)
            await iterations(5)
            if not subscription.backlog:
                return
        self.wrong.append(f"{subscription.backlog} were left: {subscription.blocked_reason()}")


@pytest.fixture
def make_end(client_end):
    class Assembling(client_end):
        """A client that puts messages together."""

        def __init__(self, storm):
            super().__init__()
            self.storm = storm
            storm.joined = self.number = getattr(storm, "joined", 0) + 1
            self.forget()

        def forget(self):
            self.assembly = Reassembly(messages_max=1000, age_max_s=1e9, size_max=1000)
            self.whole = {}

        def send_entries(self, consumer_id, run, *, picked=None, **_):
            for index in range(len(run)) if picked is None else picked:
                place = parse(run.data[index]).chunk
                position = type(run.first)(run.ledger_id, run.first_entry_id + index)
                whole = self.assembly.add(place, b"x", position, 0.0)
                if self.assembly.take_dropped():
                    self.storm.wrong.append(f"{consumer_id} threw away {place}")
                if whole is not None:
                    self.whole[place.uuid] = list(whole[1])

    return Assembling


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mode", [*MODES, *map("{}, late".format, MODES)])
async def test_no_message_is_torn_whatever_its_consumers_do(
    open_bench, make_end, make_entry, mode, seed
):
    chance = random.Random(seed)
    settings = {name: chance.choice(some) for name, some in SETTINGS.items()}
    mode, _, late = mode.partition(", ")
    kind, changes, options = MODES[mode]
    clock = ManualClock()
    bench = await open_bench(clock=clock, **settings, **changes)
    storm = Storm(
        kind, options, bench, make_entry, chance, clock=clock, late_s=4.0 if late else 0.0
    )
    steps = {storm.flow: 20, storm.acknowledge: 22, storm.redeliver: 5, storm.read_or_not: 5}
    for _ in range(150):
        draw = chance.random()
        if draw < 0.25:
            await storm.publish()
        elif draw < 0.36 and len(storm.members) < CONSUMERS_MAX:
            await storm.join(make_end)
        elif storm.members and draw < 0.44:
            await storm.leave()
        elif storm.members:
            [step] = chance.choices(list(steps), list(steps.values()))
            step(chance.choice(list(storm.members.values())))
        if late and chance.random() < 0.3:
            await clock.advance(chance.uniform(0.0, 1.0))
        await iterations(chance.choice([0, 0, 1, 3, 10]))
        assert not storm.wrong
    await storm.settle(make_end)
    assert not storm.wrong
    assert len(storm.received) == storm.names
