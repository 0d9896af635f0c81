"""The ways in which an application sends and receives, with our client and with the official one.

    python -m bench.client_ways WAY URL TOPIC SIZE KEYED SECONDS MESSAGES

Runs one of them in this process and prints what came of it as JSON: messages, seconds, and the CPU
of this process. Sending counts until the last receipt. Receiving looks at each payload, as any
application does. ``bench/clients.py`` starts these processes and compares them.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

from magnetar.client import blocking
from magnetar.client.client import Client
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import NotReady
from magnetar.model.subscriptions import InitialPosition

VARY: Final = 0.3
ROUND: Final = 5_000  # Messages that are made or taken between two looks at the clock.
LIST: Final = 1_000
AT_ONCE: Final = 1_000  # Sends that wait for their receipts at the same time.
WARM_UP_PART: Final = 0.25
OFFICIAL_QUEUE: Final = 50000
KEYS: Final = [f"customer-{number}" for number in range(500)]
PROPERTIES: Final = {"source": "bench", "trace": "0af7651916cd43dd8448eb211c80319c"}


@dataclass(frozen=True, slots=True)
class Load:
    """What is sent, or was: ``messages`` of it, where it is to be received."""

    url: str
    topic: str
    size: int
    keyed: bool  # With a key and two properties.
    seconds: float
    messages: int

    def bodies(self) -> list[bytes]:
        chance = random.Random(7)
        spread = round(self.size * VARY)
        sizes = (chance.randint(self.size - spread, self.size + spread) for _ in range(ROUND))
        return [chance.randbytes(size) for size in sizes]


@dataclass(frozen=True, slots=True)
class Outcome:
    messages: int
    seconds: float
    cpu_s: float  # Of the whole process, all threads.


class Stretch:
    """What is measured: it begins when the warm-up is over."""

    def __init__(self, seconds: float, messages_max: int = 1 << 62) -> None:
        self._warm = time.perf_counter() + seconds * WARM_UP_PART
        self._end = self._warm + seconds
        self._left = messages_max - ROUND  # The next round is to be whole.
        self._began: tuple[float, float] | None = None
        self._messages = 0

    def goes_on(self, messages: int) -> bool:
        """Count these; whether there are to be more."""
        now = time.perf_counter()
        self._left -= messages
        if self._began is not None:
            self._messages += messages
        elif now >= self._warm:
            self._began = now, time.process_time()
        return now < self._end and self._left >= 0

    def outcome(self) -> Outcome:
        assert self._began is not None, "nothing was left after the warm-up"
        wall, cpu = self._began
        seconds, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
        return Outcome(self._messages, seconds, cpu_s)


Values = Sequence[bytes | OutgoingMessage]


def detailed(bodies: Sequence[bytes]) -> list[OutgoingMessage]:
    return [
        OutgoingMessage(body, key=KEYS[number % 500], properties=PROPERTIES)
        for number, body in enumerate(bodies)
    ]


def our_details(number: int) -> Any:
    return {"key": KEYS[number % 500], "properties": PROPERTIES}


def official_details(number: int) -> dict[str, Any]:
    return {"partition_key": KEYS[number % 500], "properties": PROPERTIES}


async def send(load: Load, give: Callable[[Any, list[bytes]], Awaitable[None]]) -> Outcome:
    """``give`` sends a round of messages with an asyncio producer."""
    bodies, stretch = load.bodies(), Stretch(load.seconds)
    async with Client(load.url) as client, await client.create_producer(load.topic) as producer:
        while stretch.goes_on(len(bodies)):
            await give(producer, bodies)
        await producer.flush()
        return stretch.outcome()


async def send_many(load: Load) -> Outcome:
    async def give(producer: Any, bodies: list[bytes]) -> None:
        waiting = []
        for start in range(0, len(bodies), LIST):
            values = bodies[start : start + LIST]
            waiting.append(producer.send_many(detailed(values) if load.keyed else values))
        await asyncio.gather(*waiting)

    return await send(load, give)


async def fill(load: Load) -> Outcome:
    """Send what others are going to receive."""
    sent = 0

    async def give(producer: Any, bodies: list[bytes]) -> None:
        nonlocal sent
        await producer.enqueue(detailed(bodies) if load.keyed else bodies)
        sent += len(bodies)

    while sent < load.messages:
        outcome = await send(load, give)
    return outcome


async def enqueue(load: Load) -> Outcome:
    async def give(producer: Any, bodies: list[bytes]) -> None:
        for start in range(0, len(bodies), LIST):
            values = bodies[start : start + LIST]
            await producer.enqueue(detailed(values) if load.keyed else values)

    return await send(load, give)


async def send_nowait(load: Load) -> Outcome:
    return await send_one_a_call(load, "send_nowait")


async def submit(load: Load) -> Outcome:
    return await send_one_a_call(load, "submit")


async def send_one_a_call(load: Load, method: str) -> Outcome:
    async def give(producer: Any, bodies: list[bytes]) -> None:
        call = getattr(producer, method)
        for number, body in enumerate(bodies):
            details = our_details(number) if load.keyed else {}
            try:
                call(body, **details)
            except NotReady:
                await producer.ready()
                call(body, **details)
        await asyncio.sleep(0)

    return await send(load, give)


async def send_each(load: Load) -> Outcome:
    async def give(producer: Any, bodies: list[bytes]) -> None:
        left = iter(enumerate(bodies))

        async def one_by_one() -> None:
            for number, body in left:
                await producer.send(body, **(our_details(number) if load.keyed else {}))

        await asyncio.gather(*(one_by_one() for _ in range(AT_ONCE)))

    return await send(load, give)


def blocking_send(load: Load, give: Callable[[Any, list[bytes]], None]) -> Outcome:
    bodies, stretch = load.bodies(), Stretch(load.seconds)
    with blocking.Client(load.url) as client, client.create_producer(load.topic) as producer:
        while stretch.goes_on(len(bodies)):
            give(producer, bodies)
        producer.flush()
        return stretch.outcome()


def blocking_send_many(load: Load) -> Outcome:
    def give(producer: Any, bodies: list[bytes]) -> None:
        producer.send_many(detailed(bodies) if load.keyed else bodies)

    return blocking_send(load, give)


def blocking_enqueue(load: Load) -> Outcome:
    def give(producer: Any, bodies: list[bytes]) -> None:
        for start in range(0, len(bodies), LIST):
            values = bodies[start : start + LIST]
            producer.enqueue(detailed(values) if load.keyed else values)

    return blocking_send(load, give)


def blocking_each(load: Load, method: str) -> Outcome:
    def give(producer: Any, bodies: list[bytes]) -> None:
        call = getattr(producer, method)
        for number, body in enumerate(bodies):
            details = our_details(number) if load.keyed else {}
            try:
                call(body, **details)
            except NotReady:
                producer.ready()
                call(body, **details)

    return blocking_send(load, give)


def blocking_send_nowait(load: Load) -> Outcome:
    return blocking_each(load, "send_nowait")


def blocking_submit(load: Load) -> Outcome:
    return blocking_each(load, "submit")


async def receive(load: Load, take: Callable[[Any], Awaitable[int]]) -> Outcome:
    """``take`` receives a round of messages with an asyncio consumer, and says how many."""
    stretch = Stretch(load.seconds, load.messages)
    async with (
        Client(load.url) as client,
        await client.subscribe(
            load.topic, subscription(), initial_position=InitialPosition.EARLIEST
        ) as consumer,
    ):
        while stretch.goes_on(await take(consumer)):
            pass
        return stretch.outcome()


def subscription() -> str:
    return f"bench-{time.time_ns()}"


async def receive_each(load: Load) -> Outcome:
    async def take(consumer: Any) -> int:
        seen = 0
        for _ in range(ROUND):
            seen += len((await consumer.receive()).data)
        return ROUND

    return await receive(load, take)


async def receive_acknowledge_each(load: Load) -> Outcome:
    async def take(consumer: Any) -> int:
        seen = 0
        for _ in range(ROUND):
            message = await consumer.receive()
            seen += len(message.data)
            consumer.acknowledge(message)
        return ROUND

    return await receive(load, take)


async def iterate_acknowledge_each(load: Load) -> Outcome:
    async def take(consumer: Any) -> int:
        seen, count = 0, 0
        async for message in consumer:
            seen += len(message.data)
            consumer.acknowledge(message)
            count += 1
            if count == ROUND:
                break
        return count

    return await receive(load, take)


async def receive_many(load: Load) -> Outcome:
    async def take(consumer: Any) -> int:
        messages = await consumer.receive_many(LIST)
        sum(len(message.data) for message in messages)
        return len(messages)

    return await receive(load, take)


async def receive_many_acknowledge(load: Load) -> Outcome:
    async def take(consumer: Any) -> int:
        messages = await consumer.receive_many(LIST)
        sum(len(message.data) for message in messages)
        consumer.acknowledge(messages)
        return len(messages)

    return await receive(load, take)


def blocking_receive(load: Load, take: Callable[[Any], int]) -> Outcome:
    stretch = Stretch(load.seconds, load.messages)
    with (
        blocking.Client(load.url) as client,
        client.subscribe(
            load.topic, subscription(), initial_position=InitialPosition.EARLIEST
        ) as consumer,
    ):
        while stretch.goes_on(take(consumer)):
            pass
        return stretch.outcome()


def blocking_receive_each(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        seen = 0
        for _ in range(LIST):
            seen += len(consumer.receive().data)
        return LIST

    return blocking_receive(load, take)


def blocking_receive_acknowledge_each(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        seen = 0
        for _ in range(LIST):
            message = consumer.receive()
            seen += len(message.data)
            consumer.acknowledge(message)
        return LIST

    return blocking_receive(load, take)


def blocking_iterate_acknowledge_each(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        seen = 0
        for message in islice(consumer, LIST):
            seen += len(message.data)
            consumer.acknowledge(message)
        return LIST

    return blocking_receive(load, take)


def blocking_receive_many_acknowledge(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        messages = consumer.receive_many(LIST)
        sum(len(message.data) for message in messages)
        consumer.acknowledge(messages)
        return len(messages)

    return blocking_receive(load, take)


def official_client(load: Load) -> Any:
    import pulsar  # noqa: PLC0415 - only these processes need it.

    return pulsar.Client(load.url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))


def official_send_async(load: Load) -> Outcome:
    client = official_client(load)
    producer = client.create_producer(
        load.topic,
        batching_enabled=True,
        block_if_queue_full=True,
        max_pending_messages=OFFICIAL_QUEUE,
    )
    answered = 0

    def on_answer(result: Any, _: object) -> None:
        nonlocal answered
        assert result.value == 0, result
        answered += 1

    bodies, stretch = load.bodies(), Stretch(load.seconds)
    while stretch.goes_on(len(bodies)):
        for number, body in enumerate(bodies):
            details = official_details(number) if load.keyed else {}
            producer.send_async(body, on_answer, **details)
    producer.flush()
    return stretch.outcome()


def official_asyncio_send(load: Load) -> Outcome:
    async def run() -> Outcome:
        import pulsar.asyncio  # noqa: PLC0415 - only these processes need it.

        client = pulsar.asyncio.Client(
            load.url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
        )
        producer = await client.create_producer(
            load.topic,
            batching_enabled=True,
            block_if_queue_full=True,
            max_pending_messages=OFFICIAL_QUEUE,
        )
        bodies, stretch = load.bodies(), Stretch(load.seconds)
        while stretch.goes_on(len(bodies)):
            left = iter(enumerate(bodies))

            async def one_by_one(left: Any = left) -> None:
                for number, body in left:
                    await producer.send(body, **(official_details(number) if load.keyed else {}))

            await asyncio.gather(*(one_by_one() for _ in range(AT_ONCE)))
        return stretch.outcome()

    return asyncio.run(run())


def official_receive(load: Load, take: Callable[[Any], int]) -> Outcome:
    import pulsar  # noqa: PLC0415 - only these processes need it.

    client = official_client(load)
    consumer = client.subscribe(
        load.topic,
        subscription(),
        initial_position=pulsar.InitialPosition.Earliest,
        batch_receive_policy=pulsar.ConsumerBatchReceivePolicy(LIST, -1, 100),
    )
    stretch = Stretch(load.seconds, load.messages)
    while stretch.goes_on(take(consumer)):
        pass
    return stretch.outcome()


def official_receive_each(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        seen = 0
        for _ in range(ROUND):
            seen += len(consumer.receive().data())
        return ROUND

    return official_receive(load, take)


def official_receive_acknowledge_each(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        seen = 0
        for _ in range(ROUND):
            message = consumer.receive()
            seen += len(message.data())
            consumer.acknowledge(message)
        return ROUND

    return official_receive(load, take)


def official_batch_receive(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        messages = consumer.batch_receive()
        sum(len(message.data()) for message in messages)
        return len(messages)

    return official_receive(load, take)


def official_batch_receive_acknowledge(load: Load) -> Outcome:
    def take(consumer: Any) -> int:
        messages = consumer.batch_receive()
        sum(len(message.data()) for message in messages)
        for message in messages:
            consumer.acknowledge(message)
        return len(messages)

    return official_receive(load, take)


def run(way: str, load: Load) -> Outcome:
    function = globals()[way]
    if not asyncio.iscoroutinefunction(function):
        return function(load)
    try:
        import uvloop  # noqa: PLC0415 - as the guide advises.
    except ImportError:
        return asyncio.run(function(load))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(function(load))


if __name__ == "__main__":
    url, topic, size, keyed, seconds, messages = sys.argv[2:]
    load = Load(url, topic, int(size), keyed == "True", float(seconds), int(messages))
    print(json.dumps(asdict(run(sys.argv[1], load))), flush=True)
    os._exit(0)  # The official asyncio client aborts where it is closed as its guide says.
