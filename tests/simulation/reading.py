"""What is still to be read when all is well: the rest of a subscription, and all that is stored."""

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

    Chunks of a message whose producer died are given up, and acknowledged, before the end. All is
    received first: what takes long between two chunks of a message would have it given up as well.
    """
    consumer = await again(
        process, lambda: subscribe(client, subscribing, chunk_age_max_s=LEFT_S / 2)
    )
    since, received = history.now, []
    while True:
        try:
            message = await consumer.receive(timeout_s=LEFT_S)
        except TimedOut:
            break
        received.append((message, *history.was_delivered(subscribing, READER, since, message)))
    for message, number, entry in received:
        await consumer.acknowledge(message)
        history.was_acknowledged(subscribing, READER, number, entry)
    await consumer.close()


async def all_of(client, topic, process, **options):
    """All that a reader finds in a topic."""
    reader = await again(process, lambda: client.create_reader(topic, EARLIEST_MESSAGE, **options))
    found = []
    while await again(process, reader.has_message_available):
        found.append(await reader.receive())
    await reader.close()
    return found


async def again(process, ask):
    """What is answered to who asks until it is."""
    while True:
        try:
            return await ask()
        except MagnetarError:
            await process.clock.sleep(1.0)
