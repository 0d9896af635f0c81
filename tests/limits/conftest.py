import contextlib

import pytest
from limits.bystander import Bystander

from magnetar.testing.processes import BrokerProcess

SETTINGS = {
    "webServicePort": -1,
    "keepAliveIntervalSeconds": 5,
    "managedLedgerCacheSizeMB": 8,  # So that what grows is not the cache.
}


@pytest.fixture
def broker(tmp_path):
    with BrokerProcess(tmp_path / "data", settings=SETTINGS) as process:
        yield process


@pytest.fixture
async def bystander(broker):
    client = await Bystander.open(broker.port, "persistent://public/default/bystander")
    yield client
    client.close()


@pytest.fixture
async def alone(bystander):
    """The bystander's pace before anybody else is there."""
    await bystander.pace()
    return await bystander.pace()


@pytest.fixture
def peers():
    """Closes, in the end, the connections it is given."""
    with contextlib.ExitStack() as stack:
        yield stack
