"""Two brokers in one loop, over one metadata store and one ledger store in memory."""

from contextlib import AsyncExitStack, asynccontextmanager

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
async def two_brokers(**settings):
    tree, ledgers = MemoryTree(), MemoryLedgerStore()
    async with AsyncExitStack() as stack:
        brokers, sessions = [], []
        for _ in range(2):
            sessions.append(MemoryMetadataStore(tree))
            stack.push_async_callback(sessions[-1].close)
            broker = LocalBroker(settings=settings, stores=Stores(sessions[-1], ledgers))
            brokers.append(await stack.enter_async_context(broker))
        yield Pair(brokers, sessions)
