"""Two brokers that share the metadata, as far as ownership goes."""

import pytest
from unit.broker.admin.conftest import world  # noqa: F401 - a fixture
from unit.broker.topics.conftest import client_end, make_entry, make_run  # noqa: F401 - fixtures

from magnetar.broker.cluster.membership import Membership
from magnetar.broker.cluster.ownership import Ownership
from magnetar.clock import SystemClock
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.tasks import Tasks


class Owner:
    """A broker's session, and the bundles that it has."""

    def __init__(self, tree, number, clock=None):
        self.metadata = MemoryMetadataStore(tree)
        self.tasks = Tasks(f"broker {number}")
        self.address = BrokerAddress.of("localhost", 6650 + number, 8080 + number)
        self.member = Membership(
            self.metadata, self.address, JsonCodec(), clock or SystemClock(), self.tasks
        )
        self.ownership = Ownership(self.member)

    async def close(self):
        self.ownership.close()
        await self.tasks.close()
        await self.metadata.close()


@pytest.fixture
async def brokers(tree):
    brokers = [Owner(tree, number) for number in range(2)]
    yield brokers
    for broker in brokers:
        await broker.close()
