"""Subscriptions."""

import asyncio

from golden.admin.groups.shared import NOT_OURS, TOPICS, listen
from support.loop import until
from unit.storage.managed_ledger.logs import append

from magnetar import CompressionType, OutgoingMessage
from magnetar.clock import SystemClock
from magnetar.message import metadata
from magnetar.message.entry import join
from magnetar.message.entry_traits import EntryTraits

FIRST_REFUSAL = "of several subscriptions that are refused, it is the first that is named"

BETWEEN_MS = 1795226494578
"""When the recorder had sent the first ten messages, and none of the next five."""


async def data(world):
    """Ten messages with all they may have, five without, and a batch of eight."""
    producer = await world.client.create_producer(
        f"{TOPICS}/data", name="prod-1", batching=False, properties={"pp": "3"}
    )
    await listen(world, f"{TOPICS}/data", "sub-shared", receiver_queue_size=5)
    for index in range(10):
        receipt = await producer.send(
            b"msg-%d" % index,
            key=f"k{index % 3}",
            properties={"n": str(index)},
            event_time_ms=1_700_000_000_000 + index,
        )
    await asyncio.sleep(0.002)  # The later ones have a later time.
    world.times[BETWEEN_MS] = SystemClock().wall_ms()
    for index in range(5):
        await producer.send(b"late-%d" % index)
    batches = await world.client.create_producer(
        f"{TOPICS}/data", name="prod-batch", compression=CompressionType.LZ4
    )
    await batches.send_many(
        OutgoingMessage(
            b"batch-%d" % index + b"x" * 50, key=f"bk{index}", properties={"bi": str(index)}
        )
        for index in range(8)
    )
    world.ledgers[20] = receipt.ledger_id


async def active_subscription(world):
    world.kept["active"] = await world.client.subscribe(f"{TOPICS}/data", "sub-act")


async def peeked(world):
    """Pulsar made the subscription that it was asked to peek at."""
    await world.make(("PUT", "persistent/golden/topics/data/subscription/no-such-peek", None))


async def back_again(world):
    """Its client subscribes again by itself."""
    topic = await world.topic(f"{TOPICS}/data")
    await until(lambda: "sub-act" in topic.subscriptions)


async def other_topic(world):
    await world.make(("PUT", "namespaces/golden/ex", None))
    await world.make(("PUT", "persistent/golden/ex/t/subscription/s", "earliest"))
    topic = await world.topic("persistent://golden/ex/t")
    published_ms = SystemClock().wall_ms() - 2000
    entries = [
        join(metadata.build("standalone-0-23", index, published_ms), b"m%d" % index)
        for index in range(10)
    ]
    await append(topic.ledger, entries, EntryTraits([1] * len(entries)))
    world.ledgers[186] = topic.last_position.ledger_id


async def other_topic_from_its_start(world):
    await world.make(("POST", "persistent/golden/ex/t/subscription/s/resetcursor/0", None))


async def other_topic_in_use(world):
    """Its consumer has one message to go, which is two seconds old."""
    topic = await world.topic("persistent://golden/ex/t")
    await topic.create_subscription("conn", topic.last_position)
    await listen(world, "persistent://golden/ex/t", "conn")


BEFORE = {
    "create_s-latest": data,
    "delete_active": active_subscription,
    "list_after_peek_unknown": peeked,
    "list_after": back_again,
    "reset2_id3": other_topic,
    "expire2_isExcluded": other_topic_from_its_start,
    "expire_connected_small_backlog_3600": other_topic_in_use,
}
DIFFERENCES = {
    "expire_id_excluded": "ours has finished with the one before",
    "reset_id_no_body": NOT_OURS,
}
