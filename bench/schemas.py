"""Records as JSON and Avro, with our client and with the official one.

    python -m bench.schemas

Ten seconds. Each sends and receives 10,000 records of six fields, three times over: ours in lists,
the official one as it can, one by one with asynchronous sends. Receiving looks at each value. The
broker is ours, on the same cores. ``encode`` and ``decode`` are the schemas alone.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pulsar
import pulsar.schema as official

from magnetar.client.client import Client
from magnetar.schemas import AvroSchema, JsonSchema, Schema
from magnetar.testing.processes import BrokerProcess

RECORDS: Final = 10_000
LIST: Final = 1_000
ROUNDS: Final = 3


@dataclass
class Order:
    number: int
    customer: str
    price: float
    paid: bool
    note: str | None = None
    labels: dict[str, str] = field(default_factory=dict)


class TheirOrder(official.Record):  # type: ignore[misc]  # The official client has no types.
    number = official.Long(required=True)
    customer = official.String(required=True)
    price = official.Double(required=True)
    paid = official.Boolean(required=True)
    note = official.String()
    labels = official.Map(official.String(), required=True)


Seconds = dict[str, float]


def values(make: Callable[..., Any]) -> list[Any]:
    return [
        make(
            number=number,
            customer=f"customer-{number}",
            price=number / 7,
            paid=number % 2 == 0,
            note=None if number % 3 else "a note",
            labels={"source": str(number)},
        )
        for number in range(RECORDS)
    ]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    done = work()
    return done, time.perf_counter() - start


async def ours(url: str, topic: str, schema: Schema[Order], orders: list[Order]) -> Seconds:
    async with Client(url) as client:
        consumer = await client.subscribe(topic, "s", schema=schema)
        producer = await client.create_producer(topic, schema=schema)
        await producer.send(orders[0])
        assert (await consumer.receive()).value == orders[0]
        start = time.perf_counter()
        await producer.send_many(orders)
        sent = time.perf_counter()
        found: list[Order] = []
        while len(found) < RECORDS:
            found += [message.value for message in await consumer.receive_many(LIST)]
        received = time.perf_counter()
    assert found == orders
    return {"send": sent - start, "receive": received - sent}


def theirs(url: str, topic: str, schema: Any, orders: list[Any]) -> Seconds:
    client = pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    consumer = client.subscribe(topic, "s", schema=schema, receiver_queue_size=2 * RECORDS)
    producer = client.create_producer(
        topic, schema=schema, batching_enabled=True, max_pending_messages=2 * RECORDS
    )
    producer.send(orders[0])
    assert consumer.receive().value() == orders[0]
    start = time.perf_counter()
    for order in orders:
        producer.send_async(order, lambda *_: None)
    producer.flush()
    sent = time.perf_counter()
    found = [consumer.receive().value() for _ in orders]
    received = time.perf_counter()
    client.close()
    assert found == orders
    return {"send": sent - start, "receive": received - sent}


def alone(schema: Any, orders: list[Any]) -> Seconds:
    data, encoding = timed(lambda: [schema.encode(order) for order in orders])
    _, decoding = timed(lambda: [schema.decode(each) for each in data])
    return {"encode": encoding, "decode": decoding}


def main() -> None:
    kinds = {"JsonSchema": JsonSchema, "AvroSchema": AvroSchema}
    mine, yours = values(Order), values(TheirOrder)
    runs: dict[str, list[Seconds]] = defaultdict(list)
    with TemporaryDirectory() as folder, BrokerProcess(Path(folder)) as broker:
        url = broker.service_url
        for number, name in product(range(ROUNDS), kinds):
            schema, their_schema = kinds[name](Order), getattr(official, name)(TheirOrder)
            runs[f"ours {name}"].append(
                alone(schema, mine) | asyncio.run(ours(url, f"ours-{name}-{number}", schema, mine))
            )
            runs[f"official {name}"].append(
                alone(their_schema, yours)
                | theirs(url, f"theirs-{name}-{number}", their_schema, yours)
            )
    print(f"{'records/s, best of 3':24}{'encode':>11}{'decode':>11}{'send':>11}{'receive':>11}")
    for who, seconds in runs.items():
        best = (min(each[what] for each in seconds) for what in seconds[0])
        print(f"{who:24}" + "".join(f"{RECORDS / each:11,.0f}" for each in best))


if __name__ == "__main__":
    main()
