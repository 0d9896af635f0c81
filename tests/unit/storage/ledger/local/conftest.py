"""A store over a disk that fails on demand."""

import pytest
from support.faults import FaultyFiles

from magnetar.storage.ledger.local.store import LocalLedgerStore


@pytest.fixture
def files():
    return FaultyFiles()


@pytest.fixture
async def store(request, tmp_path, files):
    """A store with the ``SETTINGS`` of the test's module."""
    store = await LocalLedgerStore.start(tmp_path, settings=request.module.SETTINGS, files=files)
    yield store
    await store.close()
