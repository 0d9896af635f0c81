"""Filling topics of a real broker in this process."""

from magnetar.model.subscriptions import InitialPosition

PARTITIONS = 3  # Of each topic that ``partitioned_client`` makes.


async def put(client, topic, *payloads):
    """Each payload as an entry of its own."""
    async with await client.create_producer(topic, batching=False) as producer:
        return await producer.send_many(payloads)


async def subscribe(client, *topics, **options):
    options = {"initial_position": InitialPosition.EARLIEST, **options}
    return await client.subscribe(list(topics), "s", **options)
