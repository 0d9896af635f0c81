"""What is still to be read when all is well: the rest of a subscription, and all that is stored."""

import asyncio
from contextlib import suppress

from simulation.checks import READER
from simulation.workload import subscribe

from magnetar.errors import MagnetarError, TimedOut
from magnetar.model.position import EARLIEST_MESSAGE

READ_S = 900.0
"""In so long all can be read."""
LEFT_S = 20.0
"""Who consumes last waits so long for one more."""


async def receive_left(client, subscribing, history, process):
    """Receive and acknowledge what is left of a subscription.

    Chunks of a message whose producer died are given up, and acknowledged, before the end. What is
    acknowledged is not waited for: what takes long between two chunks of a message would have it
    given up as well. Nor may it be put off: a consumer may be held to a few at a time.
    """
    consumer = await again(
        process, lambda: subscribe(client, subscribing, chunk_age_max_s=LEFT_S / 2)
    )
    since, acknowledged = history.now, []

    async def acknowledge(message, number, entry):
        await consumer.acknowledge(message)
        history.was_acknowledged(subscribing, READER, number, entry)

    while True:
        try:
            message = await consumer.receive(timeout_s=LEFT_S)
        except TimedOut:
            break
        delivered = history.was_delivered(subscribing, READER, since, message)
        acknowledged.append(asyncio.ensure_future(acknowledge(message, *delivered)))
    await asyncio.gather(*acknowledged)
    await consumer.close()


async def all_of(client, topic, process, **options):
    """All that a reader finds in a topic, of which something may be deleted before it is read."""
    reader = await again(process, lambda: client.create_reader(topic, EARLIEST_MESSAGE, **options))
    found = []
    while await again(process, reader.has_message_available):
        with suppress(TimedOut):
            found.append(await reader.receive(timeout_s=LEFT_S))
    await reader.close()
    return found


async def again(process, ask):
    """What is answered to who asks until it is."""
    while True:
        try:
            return await ask()
        except MagnetarError:
            await process.clock.sleep(1.0)
