"""Two brokers in one loop, over one metadata store and one ledger store in memory."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pulsar

from magnetar.broker.assemble.stores import Stores
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.testing.local_broker import LocalBroker


class Pair:
    """The brokers, and each one's session of the metadata store."""

    def __init__(self, brokers, sessions):
        self.brokers = brokers
        self.sessions = sessions
        self.moves = 0

    @property
    def registries(self):
        return [each.broker.registry for each in self.brokers]

    async def move_one(self, random):
        """Unload a bundle, or hand it to the other broker."""
        here, there = random.sample(self.registries, 2)
        if here.ownership.bundles:
            bundle = random.choice(here.ownership.bundles)
            await here.unload_bundle(bundle, random.choice([None, there.ownership.own]))
            self.moves += 1

    def served_twice(self):
        """Bundles that both brokers say they serve."""
        mine, other = (set(each.ownership.bundles) for each in self.registries)
        return mine & other


@asynccontextmanager
async def two_brokers(*, over=None, count=2, change_events=False, **settings):
    """Or another number of them; ``over`` are the tree and the ledgers of some that went before."""
    tree, ledgers = over or (MemoryTree(), MemoryLedgerStore())
    async with AsyncExitStack() as stack:
        brokers, sessions = [], []
        for _ in range(count):
            sessions.append(MemoryMetadataStore(tree))
            stack.push_async_callback(sessions[-1].close)
            stores = Stores(
                sessions[-1],
                ledgers,
                change_events=change_events,
                load_balanced="loadBalancerEnabled" in settings,
            )
            broker = LocalBroker(settings=settings, stores=stores)
            brokers.append(await stack.enter_async_context(broker))
        yield Pair(brokers, sessions)


async def handed_over_to_and_fro(pair, service_url=None):
    """The official client publishes and reads 60 numbers while its topic is handed over six times.

    It connects to the first broker, or where it is told. Returns what it received, each once, and
    the owners there were.
    """
    here, there = pair.brokers
    loop = asyncio.get_running_loop()
    owners = []

    def talk():
        """Publish and read by one of the brokers, whichever has the topic."""
        client = pulsar.Client(service_url or here.service_url)
        producer = client.create_producer("official")
        consumer = client.subscribe("official", "s")
        received = []
        for number in range(60):
            producer.send(b"%d" % number)
            while number not in received:  # What was not acknowledged yet comes again.
                message = consumer.receive(10_000)
                received.append(int(message.data()))
                consumer.acknowledge(message)
            if number % 10 == 5:
                asyncio.run_coroutine_threadsafe(move(), loop).result()
        client.close()
        return list(dict.fromkeys(received))

    async def move():
        """Hand the topic to the broker that does not have it."""
        owner, other = (here, there) if here.broker.registry.loaded else (there, here)
        owners.append(owner)
        for bundle in owner.broker.registry.ownership.bundles:
            await owner.broker.registry.unload_bundle(bundle, other.broker.address)

    return await asyncio.wait_for(asyncio.to_thread(talk), 60), owners
