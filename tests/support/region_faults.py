"""Clusters that all publish while their brokers fail: what is published, what is done to them, and
what must be true afterwards.

All publish so much, then one fault begins within a moment, and when all is published and the broker
is back the next part begins: faults meet traffic, and what piled up while somebody was away.
"""

import asyncio
import os
import signal
import time
from collections import Counter

from magnetar import InitialPosition, OutgoingMessage
from magnetar.errors import MagnetarError

TOGETHER = 100
END = b"end"
WITHIN_S = 0.3
"""So soon after publishing begins a fault does."""
SENT_S = 300.0
"""So long after the last fault everything is everywhere."""


class Traffic:
    """Numbers from 0 on, of one producer for each topic and region."""

    def __init__(self, regions, topics, count, faults):
        """``count`` for each producer; ``faults`` are coroutine functions, by what they do."""
        self._regions = regions
        self._topics = topics
        self._count = count
        self._faults = faults
        self._together = asyncio.Barrier(len(regions) * len(topics) + 1)

    async def run(self, random):
        """Return when everything is published, and has arrived everywhere."""
        for region in self._regions:
            for topic in self._topics:
                earliest = InitialPosition.EARLIEST
                await (
                    await region.client.subscribe(topic, "all", initial_position=earliest)
                ).close()
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._trouble(random))
            for region in self._regions:
                for topic in self._topics:
                    tasks.create_task(self._publish(region, topic))
        published_s = time.monotonic() - began
        async with asyncio.timeout(SENT_S):
            while await self._unsent():  # noqa: ASYNC110 - processes tell it when they are asked
                await asyncio.sleep(0.1)
        print(f"published in {published_s:.0f} s, sent {time.monotonic() - began:.0f} s")

    async def check(self, *, once):
        """All is in each cluster, in the order of its producer, and ``once``; none came back."""
        count, names = self._count, {each.name for each in self._regions}
        for region in self._regions:
            repeated = Counter()
            for topic in self._topics:
                got = await received(region, topic)
                assert got.keys() == {f"of {name}" for name in names}
                for producer, numbers in got.items():
                    first_times = list(dict.fromkeys(numbers))
                    assert first_times == list(range(count)), f"{producer} in {region.name}"
                    repeated[producer] += len(numbers) - len(first_times)
            for producer, number in sorted(repeated.items()):
                of_all = count * len(self._topics)
                print(f"{region.name}: {of_all} {producer}, {number} repeated")
            assert not (once and repeated.total())

    async def _publish(self, region, topic):
        """Send numbers, and go on when they are answered, whatever happens to brokers."""
        name, parts = f"of {region.name}", len(self._faults) + 1
        async with await region.client.create_producer(
            topic, name=name, send_timeout_s=0
        ) as producer:
            for part in range(parts):
                end = self._count * (part + 1) // parts
                await self._together.wait()
                for first in range(self._count * part // parts, end, TOGETHER):
                    numbers = range(first, min(first + TOGETHER, end))
                    await producer.send_many([b"%d" % number for number in numbers])

    async def _trouble(self, random):
        for name, fault in self._faults:
            await self._together.wait()
            await asyncio.sleep(random.random() * WITHIN_S)
            began = time.monotonic()
            await fault()
            print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
        await self._together.wait()

    async def _unsent(self):
        for here in self._regions:
            for topic in self._topics:
                try:
                    found = await here.replication(topic)
                except MagnetarError:
                    return True  # It is opened again.
                for there in self._regions:
                    if there is not here:
                        told = found.get(there.name, {})
                        if told.get("replicationBacklog") != 0:
                            return True
        return False


async def received(region, topic):
    """By producer, all numbers that are there, in their order."""
    async with await region.client.create_producer(topic) as producer:
        await producer.send(OutgoingMessage(END, replication_clusters=()))
    got = {}
    async with await region.client.subscribe(topic, "all") as consumer:
        while (message := await consumer.receive(60)).data != END:
            got.setdefault(message.producer_name, []).append(int(message.data))
            consumer.acknowledge_cumulative(message)
    return got


async def killed(process, away_s):
    """Kill a broker, and start it again after a while."""
    await asyncio.to_thread(process.kill)
    await asyncio.sleep(away_s)
    await asyncio.to_thread(process.start)


async def stopped(process, away_s):
    """Let a broker do nothing for a while."""
    os.kill(process.pid, signal.SIGSTOP)
    await asyncio.sleep(away_s)
    os.kill(process.pid, signal.SIGCONT)


async def silent(relay, away_s):
    """Let nothing through a relay for a while."""
    relay.hold()
    await asyncio.sleep(away_s)
    relay.release()


async def cut(relay, away_s):
    """Cut what goes through a relay, and refuse what comes for a while."""
    relay.refusing = True
    relay.cut()
    await asyncio.sleep(away_s)
    relay.refusing = False
