from dataclasses import replace

import pytest
from unit.storage.managed_ledger.logs import Logs

from magnetar.model.position import EARLIEST


@pytest.fixture
async def logs():
    made = Logs()
    yield made
    await made.tasks.close()


@pytest.fixture
async def ledger(logs):
    """An empty, open managed ledger."""
    return await logs.open()


@pytest.fixture
async def cursor(ledger):
    """A durable cursor at the start of the log."""
    return await ledger.open_cursor("s", EARLIEST)


@pytest.fixture
async def small(logs):
    """Five entries to a ledger, at once."""
    logs.settings = replace(logs.settings, entries_per_ledger_max=5, ledger_age_min_s=0)
    return await logs.open()
