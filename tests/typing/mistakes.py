"""Mistakes that a type checker must find: each ``type: ignore`` here is needed, or mypy says so."""

import magnetar
from magnetar import Cleint, Client, Consumer, Message, Producer  # type: ignore[attr-defined]
from magnetar.client import blocking
from magnetar.errors import TimeOut  # type: ignore[attr-defined]


async def mistakes(client: Client, producer: Producer) -> None:
    await producer.send("text")  # type: ignore[arg-type]
    await producer.send(b"data", kye="k")  # type: ignore[call-arg]
    await producer.send(b"data", event_time_ms="now")  # type: ignore[arg-type]
    await producer.send_many(b"data")  # type: ignore[arg-type]
    await client.subscribe("orders")  # type: ignore[call-arg]
    await client.create_producer("orders", compresion=1)  # type: ignore[call-arg]
    async with client.create_producer("orders") as entered:
        await entered.sned(b"data")  # type: ignore[attr-defined]
    forgotten = client.create_producer("orders")
    await forgotten.send(b"data")  # type: ignore[arg-type]
    await forgotten.send_many([b"data"])  # type: ignore[attr-defined]
    async with client.create_producer("orders", topic="t"):  # type: ignore[misc]
        pass
    async with client.subscribe("orders", "s", type="SHARED"):  # type: ignore[arg-type]
        pass
    magnetar.Consummer()  # type: ignore[attr-defined]
    Cleint()
    TimeOut()


async def transactions_of_the_other_kind(
    consumer: Consumer, producer: Producer, txn: blocking.Transaction, message: Message
) -> None:
    await producer.send(b"data", txn=txn)  # type: ignore[arg-type]
    await consumer.acknowledge(message, txn=txn)  # type: ignore[arg-type]


def blocking_mistakes(client: blocking.Client) -> None:
    client.create_producer("orders").send(1)  # type: ignore[arg-type]
    client.subscribe("orders", "s", typo=1)  # type: ignore[call-arg]
