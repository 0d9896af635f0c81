"""Producers under load: as many messages as are due, or as there is room for."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from magnetar.client.client import Client
from magnetar.client.producers.producer import Producer
from magnetar.errors import QueueFull
from magnetar.message.compression import CompressionType
from magnetar.tools.connection import Connection

from .running import Load, Opening, Worker, names_of

if TYPE_CHECKING:
    from magnetar.client.producers.config import ProducerOptions

AT_ONCE: Final = 200
"""Messages that one producer sends before others have their turn."""
TICK_S: Final = 0.001


def opening(connection: Connection, topic: str, given: dict[str, Any]) -> Opening:
    """What opens the producers."""

    async def opened(stack: AsyncExitStack) -> Sequence[Worker]:
        settings = connection.client | {"connections_per_broker": given["max_connections"]}
        client = await stack.enter_async_context(Client(**settings))
        names = names_of(topic, given["topics"]) * given["num_producers"]
        options = _options(given)
        producers = [
            await stack.enter_async_context(await client.create_producer(name, **options))
            for name in names
        ]
        rate = given["rate"] / len(producers)
        return [partial(_send, producer, rate, _Messages(given)) for producer in producers]

    return opened


def _options(given: dict[str, Any]) -> "ProducerOptions":
    return {
        "batching": not (given["disable_batching"] or given["chunking"] or not given["batch_ms"]),
        "batch_delay_s": given["batch_ms"] / 1000,
        "batch_messages_max": given["batch_max_messages"],
        "batch_bytes_max": given["batch_max_bytes"],
        "compression": CompressionType[given["compression"].upper()],
        "chunking": given["chunking"],
        "max_pending_messages": given["max_outstanding"],
    }


class _Messages:
    """The messages to send, one after the other."""

    def __init__(self, given: dict[str, Any]) -> None:
        payloads = [secrets.token_bytes(given["size"])]
        if given["payload_file"] is not None:
            payloads = given["payload_file"].read_bytes().splitlines() or payloads
        self._payloads = cycle(payloads)
        self._keys = given["keys"]
        self._delay_s = given["delay"]
        self._count = 0

    def next(self) -> tuple[bytes, dict[str, Any]]:
        details: dict[str, Any] = {}
        if self._keys:
            self._count += 1
            details["key"] = (
                str(self._count) if self._keys == "autoIncrement" else secrets.token_hex(4)
            )
        if self._delay_s:
            details["deliver_after_s"] = self._delay_s
        return next(self._payloads), details


async def _send(producer: Producer[bytes], rate: float, messages: _Messages, load: Load) -> None:
    clock, statistics = load.clock, load.statistics
    began, sent = clock.now(), 0

    def stored(began: float, size: int, receipt: "asyncio.Future[Any]") -> None:
        if receipt.cancelled() or receipt.exception() is not None:
            statistics.failed()
        else:
            statistics.passed(1, size)
            statistics.latency(clock.now() - began)

    while not load.over:
        due = AT_ONCE if rate <= 0 else min(int((clock.now() - began) * rate) + 1 - sent, AT_ONCE)
        if due <= 0:
            await clock.sleep(max((sent - 0.5) / rate - (clock.now() - began), TICK_S))
            continue
        for _ in range(load.take(due)):
            payload, details = messages.next()
            now = clock.now()
            while True:
                try:
                    receipt = producer.submit(payload, **details)
                    break
                except QueueFull:
                    await producer.ready()
            receipt.add_done_callback(partial(stored, now, len(payload)))
            sent += 1
        await clock.sleep(0)
    await producer.flush()
