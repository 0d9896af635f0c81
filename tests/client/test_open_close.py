"""Opening and closing leaves nothing behind; ``python -m bench.open_close`` does it more often."""

import gc

from magnetar import Client
from magnetar.client import blocking

WARM_UP = 20
CYCLES = 100
OBJECTS_MAX = 100
"""In all: as many as an object of each cycle that stays. The broker is in this process, too."""


def kept():
    gc.collect()
    return len(gc.get_objects())


async def test_the_asyncio_client_keeps_nothing_of_what_is_closed(broker, topic):
    async with Client(broker.service_url) as client, client.create_producer(topic):

        async def cycle():
            async with Client(broker.service_url) as another:
                await another.partitions(topic)
            async with (
                client.create_producer(topic),
                client.subscribe(topic, "s"),
                client.create_reader(topic),
            ):
                pass

        for _ in range(WARM_UP):
            await cycle()
        before = kept()
        for _ in range(CYCLES):
            await cycle()
        assert kept() - before < OBJECTS_MAX


def test_the_blocking_client_keeps_nothing_of_what_is_closed_or_dropped(broker, topic):
    with blocking.Client(broker.service_url) as client, client.create_producer(topic):

        def cycle():
            with blocking.Client(broker.service_url) as another:
                another.partitions(topic)
            client.create_producer(topic).close()
            client.subscribe(topic, "s").close()
            client.create_reader(topic)

        for _ in range(WARM_UP):
            cycle()
        before = kept()
        for _ in range(CYCLES):
            cycle()
        assert kept() - before < OBJECTS_MAX
