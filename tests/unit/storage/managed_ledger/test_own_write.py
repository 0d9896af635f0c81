"""A write whose answer was lost is found again, and what others wrote is not taken for it."""

import pytest

from magnetar.errors import VersionMismatch
from magnetar.storage.managed_ledger.own_write import put_or_find
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.storage.metadata.store import ABSENT

PATH = "/a"


@pytest.fixture
def metadata():
    return MemoryMetadataStore(MemoryTree())


async def test_what_was_written_is_ours(metadata):
    version = await metadata.put(PATH, b"mine", expected_version=ABSENT)
    assert await put_or_find(metadata, PATH, b"mine", expected_version=ABSENT) == version
    later = await metadata.put(PATH, b"more", expected_version=version)
    assert await put_or_find(metadata, PATH, b"more", expected_version=version) == later


@pytest.mark.parametrize("others", [[b"theirs"], [b"mine", b"mine"]])
async def test_what_another_broker_wrote_is_not(metadata, others):
    for value in others:
        await metadata.put(PATH, value)
    with pytest.raises(VersionMismatch):
        await put_or_find(metadata, PATH, b"mine", expected_version=ABSENT)


async def test_what_was_deleted_is_not(metadata):
    with pytest.raises(VersionMismatch):
        await put_or_find(metadata, PATH, b"mine", expected_version=3)
