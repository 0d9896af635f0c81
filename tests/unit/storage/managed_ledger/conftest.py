import pytest
from unit.storage.managed_ledger.logs import Logs


@pytest.fixture
async def logs():
    made = Logs()
    yield made
    await made.tasks.close()


@pytest.fixture
async def ledger(logs):
    """An empty, open managed ledger."""
    return await logs.open()
