import contextlib

import pytest
from limits.bystander import Bystander

from magnetar.testing.processes import BrokerProcess

SETTINGS = {
    "webServicePort": -1,
    "keepAliveIntervalSeconds": 5,
    "managedLedgerCacheSizeMB": 8,  # So that what grows is not the cache.
}


@pytest.fixture(scope="module")
def settings():
    return SETTINGS


@pytest.fixture
def broker(tmp_path, settings):
    with BrokerProcess(tmp_path / "data", settings=settings) as process:
        yield process


@pytest.fixture(scope="module")
def quiet_broker(tmp_path_factory, settings):
    """A broker that nobody does any harm to."""
    with BrokerProcess(tmp_path_factory.mktemp("quiet") / "data", settings=settings) as process:
        yield process


@pytest.fixture
async def bystander(broker):
    client = await Bystander.open(broker.port, "persistent://public/default/bystander")
    yield client
    client.close()


@pytest.fixture
async def alone(quiet_broker):
    """A client like the bystander, on a broker of its own."""
    client = await Bystander.open(quiet_broker.port, "persistent://public/default/alone")
    yield client
    client.close()


@pytest.fixture
def peers():
    """Closes, in the end, the connections it is given."""
    with contextlib.ExitStack() as stack:
        yield stack
