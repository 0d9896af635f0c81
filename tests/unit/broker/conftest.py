import pytest
from unit.broker.peer import Peer

from magnetar.broker.resources import Resources
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.testing.local_broker import LocalBroker

SETTINGS = {"webServicePort": -1, "connectionLivenessCheckTimeoutMillis": 150}


@pytest.fixture
async def broker():
    """A broker in this loop, in memory, without the admin API."""
    async with LocalBroker(settings=SETTINGS) as local:
        yield local


@pytest.fixture
async def peer(broker):
    connection = await Peer.open(broker.port)
    yield connection
    connection.wire.close()


@pytest.fixture
async def other(broker):
    connection = await Peer.open(broker.port)
    yield connection
    connection.wire.close()


@pytest.fixture
def tree():
    """What a metadata store in memory keeps; several stores on it are several processes."""
    return MemoryTree()


@pytest.fixture
async def metadata(tree):
    store = MemoryMetadataStore(tree)
    yield store
    await store.close()


@pytest.fixture
async def resources(metadata):
    resources = Resources(metadata, codec=JsonCodec())
    await resources.ensure_defaults("standalone", "http://h:8080", "pulsar://h:6650")
    yield resources
    resources.close()
