"""Consumers and readers under load: what comes, in lists."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

from magnetar.client.client import Client
from magnetar.client.consumers.consumer import Consumer
from magnetar.client.consumers.receiver import Receiver
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.tools.connection import Connection

from .running import Load, Opening, Worker, names_of

WAIT_S: Final = 0.1
"""How long it may take until a load that is over is noticed."""
AT_ONCE: Final = 1000


def opening(connection: Connection, topic: str, given: dict[str, Any]) -> Opening:
    """What opens the consumers."""

    async def opened(stack: AsyncExitStack) -> Sequence[Worker]:
        client = await _client(stack, connection, given)
        count = given["num_subscriptions"]
        base = given["subscription"]
        names = [base] if count == 1 else [f"{base}-{index}" for index in range(count)]
        workers: list[Worker] = []
        for each in names_of(topic, given["topics"]):
            for name in names * given["num_consumers"]:
                consumer = await stack.enter_async_context(
                    await client.subscribe(
                        each,
                        name,
                        type=SubscriptionType[given["subscription_type"].upper()],
                        initial_position=InitialPosition[given["subscription_position"].upper()],
                        receiver_queue_size=given["receiver_queue_size"],
                        ack_group_time_s=given["acks_delay_millis"] / 1000,
                    )
                )
                workers.append(partial(_receive, consumer, given["rate"]))
        return workers

    return opened


def reading(connection: Connection, topic: str, given: dict[str, Any]) -> Opening:
    """What opens the readers."""

    async def opened(stack: AsyncExitStack) -> Sequence[Worker]:
        client = await _client(stack, connection, given)
        start = EARLIEST_MESSAGE if given["start_message_id"] == "earliest" else LATEST_MESSAGE
        readers = [
            await stack.enter_async_context(
                await client.create_reader(
                    each, start, receiver_queue_size=given["receiver_queue_size"]
                )
            )
            for each in names_of(topic, given["topics"])
        ]
        return [partial(_receive, reader, given["rate"]) for reader in readers]

    return opened


async def _client(stack: AsyncExitStack, connection: Connection, given: dict[str, Any]) -> Client:
    settings = connection.client | {"connections_per_broker": given["max_connections"]}
    return await stack.enter_async_context(Client(**settings))


async def _receive(receiver: Receiver[bytes], rate: float, load: Load) -> None:
    clock, statistics = load.clock, load.statistics
    began, count = clock.now(), 0
    while not load.over:
        most = AT_ONCE if load.left is None else min(AT_ONCE, load.left)
        if rate > 0:
            await clock.sleep(max(began + count / rate - clock.now(), 0))
            most = min(most, max(int(rate / 100), 1))
        messages = await receiver.receive_many(most, WAIT_S)
        messages = messages[: load.take(len(messages))]
        now_ms = clock.wall_ms()
        count += len(messages)
        statistics.passed(len(messages), sum(len(each.data) for each in messages))
        for message in messages:
            statistics.latency((now_ms - message.publish_time_ms) / 1000)
            if isinstance(receiver, Consumer):
                receiver.acknowledge(message)
