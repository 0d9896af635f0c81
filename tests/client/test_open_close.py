"""Opening and closing leaves nothing behind; ``python -m bench.open_close`` does it more often."""

import gc

from magnetar import Client
from magnetar.client import blocking

WARM_UP = 20
CYCLES = 100
OBJECTS_MAX = 100
"""In all: as many as an object of each cycle that stays. The broker is in this process, too."""
ATTEMPTS = 3
"""What others in this process make meanwhile, they make once. What a cycle keeps, each does."""


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
        more = []
        while not more or (more[-1] >= OBJECTS_MAX and len(more) < ATTEMPTS):
            before = kept()
            for _ in range(CYCLES):
                await cycle()
            more.append(kept() - before)
        assert more[-1] < OBJECTS_MAX, more


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
        more = []
        while not more or (more[-1] >= OBJECTS_MAX and len(more) < ATTEMPTS):
            before = kept()
            for _ in range(CYCLES):
                cycle()
            more.append(kept() - before)
        assert more[-1] < OBJECTS_MAX, more
