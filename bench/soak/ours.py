"""Load by our own client, and the network in between: one event loop in a thread of its own."""

import asyncio
import itertools
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, TypeVar

from magnetar import Client, InitialPosition
from magnetar.client.consumers.consumer import Consumer
from magnetar.errors import MagnetarError
from magnetar.message.compression import CompressionType
from tests.support.network import Proxy

from .flows import SUBSCRIPTION, Flow
from .pace import TICK_S, Pace
from .tally import Stream, Tally

UPKEEP_S = 4.0
SEEK_BACK_S = 8.0
READ_MAX = 2000
READ_PAUSE_S = 3.0
CUT_PAUSE_S = 12.0
CUT_SHARE = 0.3
HOLD_S = 2.0
CLOSE_S = 20.0
T = TypeVar("T")


class Loop:
    """An event loop in a thread; ``run`` from any other."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def spawn(self, work: Coroutine[Any, Any, None]) -> "Future[None]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


class Network(Proxy):
    """Everything that clients say goes through here; some connections break, some are silent."""

    def leads_to(self, host: str, port: int) -> None:
        """Where it connects to from now on."""
        self._target = (host, port)

    connections_cut = 0
    silences = 0

    def cut_some(self, chance: Random, share: float) -> None:
        """Break so many, as ``cut`` does all."""
        for writer in list(self._open):
            if chance.random() < share:
                writer.transport.abort()
                self.connections_cut += 1

    async def calm(self) -> None:
        """Behave from now on."""
        self.release()

    async def misbehave(self, chance: Random) -> None:
        """Until cancelled."""
        for turn in itertools.count(1):
            await asyncio.sleep(chance.uniform(0.5, 1.5) * CUT_PAUSE_S)
            if turn % 4:
                self.cut_some(chance, CUT_SHARE)
            else:
                self.hold()
                self.silences += 1
                await asyncio.sleep(chance.random() * HOLD_S)
                self.release()


class OurFlow:
    """One flow with our client: the same promises as ``OfficialFlow``, in tasks."""

    def __init__(self, flow: Flow, url: str, tally: Tally, seed: int) -> None:
        self.flow = flow
        self._tally = tally
        self._chance = Random(seed)
        self._client = Client(url, backoff_max_s=2.0)
        self._producers: dict[str, tuple[Any, Stream]] = {}
        self._consumers: dict[str, list[Consumer]] = {topic: [] for topic in flow.all_topics}
        # When the last message that came was published: seeking beyond it would leave some out.
        self._published_ms = dict.fromkeys(flow.all_topics, 0)
        self._sending: list[asyncio.Task[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count()

    @classmethod
    async def started(cls, flow: Flow, url: str, tally: Tally, seed: int) -> "OurFlow":
        """Made in the loop that it is to live in."""
        made = cls(flow, url, tally, seed)
        await made._start()
        return made

    async def _start(self) -> None:
        for topic in self.flow.all_topics:
            for _ in range(self.flow.consumers):
                await self._subscribe(topic)
            await self._produce_to(topic)
        self._sending.append(asyncio.create_task(self._produce()))
        self._sending.append(asyncio.create_task(self._read()))
        if self.flow.renewed or self.flow.seeks:
            self._sending.append(asyncio.create_task(self._keep_up()))

    async def stop_sending(self) -> None:
        await _end(self._sending)
        for topic, consumers in self._consumers.items():
            if not consumers:  # It was to be renewed right then.
                await self._subscribe(topic)

    async def close(self) -> None:
        await _end(list(self._tasks))
        async with asyncio.timeout(CLOSE_S):
            await self._client.close()

    # Producing.

    async def _produce_to(self, topic: str) -> None:
        flow = self.flow
        producer = await self._client.create_producer(
            topic,
            batching=flow.batching,
            chunking=flow.chunking,
            batch_delay_s=0.02,
            batch_by_key=flow.lanes > 1,
            compression=CompressionType.LZ4 if flow.compressed else CompressionType.NONE,
        )
        stream = self._tally.stream(
            f"{topic.rpartition('/')[2]}.{next(self._numbers)}",
            flow.sizes,
            {SUBSCRIPTION: flow.ordered},
            lanes=flow.lanes,
        )
        self._producers[topic] = producer, stream

    async def _produce(self) -> None:
        pace = Pace(self.flow, time.monotonic())
        while True:
            await asyncio.sleep(TICK_S)
            pace.send_due(time.monotonic(), self._send)

    def _send(self, topic: str) -> bool:
        if topic not in self._producers:
            return False  # It is being renewed.
        producer, stream = self._producers[topic]
        number = stream.sent
        key = stream.key(number) if stream.lanes > 1 else None
        try:
            receipt = producer.submit(stream.body(number), key=key)
        except MagnetarError as error:
            self._tally.expected(f"our send: {type(error).__name__}")
            return False
        stream.sent = number + 1
        receipt.add_done_callback(partial(self._answer, stream, number))
        return True

    def _answer(self, stream: Stream, number: int, receipt: "asyncio.Future[Any]") -> None:
        if receipt.cancelled() or (error := receipt.exception()) is None:
            if not receipt.cancelled():
                stream.on_answer(number)
            return
        stream.failed += 1
        self._tally.expected(f"our send answered: {type(error).__name__}")

    # Consuming.

    async def _subscribe(self, topic: str) -> None:
        consumer = await self._client.subscribe(
            topic, SUBSCRIPTION, type=self.flow.type, initial_position=InitialPosition.EARLIEST
        )
        self._consumers[topic].append(consumer)
        task = asyncio.create_task(self._consume(consumer, topic))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _consume(self, consumer: Consumer, topic: str) -> None:
        """Until it is closed."""
        refused_share = self.flow.refused_share
        try:
            while True:
                messages = await consumer.receive_many(100)
                refused = []
                accepted = []
                for message in messages:
                    taken = self._tally.take(SUBSCRIPTION, message.data, consumer.topic)
                    self._published_ms[topic] = message.publish_time_ms
                    if self._chance.random() < refused_share:
                        refused.append(message)
                        continue
                    accepted.append(message)
                    if taken is not None:
                        self._tally.on_acknowledgement(SUBSCRIPTION, *taken)
                consumer.acknowledge(accepted)
                if refused:
                    await consumer.redeliver_unacknowledged(refused)
                    self._tally.did("negative acknowledgements", len(refused))
        except Exception as error:
            if consumer in self._consumers[topic]:  # Nobody closed it.
                self._tally.complaints.add("consumer ended", f"{topic}: {error!r}")
                raise

    async def _read(self) -> None:
        """A reader now and then, from the earliest message on: what it finds is in order."""
        while True:
            await asyncio.sleep(self._chance.uniform(0.5, 1.5) * READ_PAUSE_S)
            topic = self._chance.choice(self.flow.all_topics)
            highest: dict[str, int] = {}
            seen: set[tuple[str, int]] = set()
            with suppress(MagnetarError):
                reader = await self._client.create_reader(topic)
                self._tally.did("readers")
                try:
                    while len(seen) < READ_MAX and (found := await reader.receive_many(200, 0.5)):
                        for message in found:
                            self._check_read(message.data, topic, seen, highest)
                finally:
                    await reader.close()

    def _check_read(
        self, data: bytes, topic: str, seen: set[tuple[str, int]], highest: dict[str, int]
    ) -> None:
        taken = self._tally.take("reader", data, topic)
        if taken is None:
            return
        stream, number = taken
        if (stream.name, number) not in seen and number < highest.get(stream.name, -1):
            self._tally.complaints.add("out of order", f"{stream.name}/{number} by a reader")
        seen.add((stream.name, number))
        highest[stream.name] = max(number, highest.get(stream.name, -1))

    # What goes on beside.

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0.5, 1.5) * UPKEEP_S)
            topic = self._chance.choice(self.flow.all_topics)
            consumers = self._consumers[topic]
            try:
                if self.flow.seeks and self._published_ms[topic]:
                    back_ms = int(self._chance.uniform(0, SEEK_BACK_S) * 1000)
                    await consumers[0].seek_time(self._published_ms[topic] - back_ms)
                    self._tally.did("seeks")
                elif self._chance.random() < 0.3:
                    producer, _ = self._producers.pop(topic)
                    await producer.flush()
                    await producer.close()
                else:
                    await consumers.pop(self._chance.randrange(len(consumers))).close()
                    self._tally.did("consumers renewed")
                await self._mend()
            except MagnetarError as error:
                self._tally.expected(f"our upkeep: {type(error).__name__}")

    async def _mend(self) -> None:
        """Put back what is missing."""
        for topic, consumers in self._consumers.items():
            if topic not in self._producers:
                await self._produce_to(topic)
            if len(consumers) < self.flow.consumers:
                await self._subscribe(topic)


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    for each in done:
        if isinstance(each, Exception):
            raise each
