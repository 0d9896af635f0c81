import pytest

from magnetar.broker.json_objects import JsonObjects
from magnetar.broker.record_cache import RecordCache
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore

PATH = "/admin/things"


@pytest.fixture
async def objects():
    metadata = MemoryMetadataStore()
    records = RecordCache(metadata, "/admin", codec=JsonCodec())
    yield JsonObjects(records)
    records.close()
    await metadata.close()


async def test_an_object_is_there_from_its_first_change_until_it_is_deleted(objects):
    assert await objects.get(PATH) is None
    await objects.put(PATH, a=1, b=None)
    await objects.put(PATH, b={"c": 2})
    assert await objects.get(PATH) == {"a": 1, "b": {"c": 2}}
    await objects.put(PATH, a=None)
    await objects.change(PATH, lambda stored: {**stored, "d": len(stored)})
    assert await objects.get(PATH) == {"b": {"c": 2}, "d": 1}
    await objects.delete(PATH)
    await objects.delete(PATH)
    assert await objects.get(PATH) is None


async def test_a_change_that_raises_leaves_everything_as_it_is(objects):
    await objects.put(PATH, a=1)
    with pytest.raises(KeyError):
        await objects.change(PATH, lambda stored: {"a": stored["nothing"]})
    assert await objects.get(PATH) == {"a": 1}
