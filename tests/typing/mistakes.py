"""Mistakes that a type checker must find: each ``type: ignore`` here is needed, or mypy says so."""

from magnetar import Client, Producer


async def mistakes(client: Client, producer: Producer) -> None:
    await producer.send("text")  # type: ignore[arg-type]
    await producer.send(b"data", kye="k")  # type: ignore[call-arg]
    await producer.send(b"data", event_time_ms="now")  # type: ignore[arg-type]
    await producer.send_many(b"data")  # type: ignore[arg-type]
    await client.subscribe("orders")  # type: ignore[call-arg]
    await client.create_producer("orders", compresion=1)  # type: ignore[call-arg]
