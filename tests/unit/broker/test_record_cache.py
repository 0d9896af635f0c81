import asyncio

import pytest

from magnetar.broker.record_cache import JsonObjects, RecordCache
from magnetar.errors import Conflict
from magnetar.model.records import PartitionedTopicMetadata
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.codec.json_object import encode
from magnetar.storage.metadata.memory import MemoryMetadataStore

PATH = "/admin/x/a"
parse = PartitionedTopicMetadata.from_json
PATH = "/admin/things"


def record(partitions: int) -> PartitionedTopicMetadata:
    return PartitionedTopicMetadata(partitions)


def stored(partitions: int) -> bytes:
    return encode(record(partitions).to_json())


class CountingStore(MemoryMetadataStore):
    """Counts reads, and can hold one up between the read and its answer."""

    def __init__(self):
        super().__init__()
        self.reads = 0
        self.answers = asyncio.Event()
        self.answers.set()
        self.read = asyncio.Event()

    async def get(self, path):
        found = await super().get(path)
        self.reads += 1
        self.read.set()
        await self.answers.wait()
        return found


@pytest.fixture
async def store():
    store = CountingStore()
    yield store
    await store.close()


@pytest.fixture
async def cache(store):
    cache = RecordCache(store, "/admin", codec=JsonCodec())
    yield cache
    cache.close()


async def test_a_record_is_read_once(cache, store):
    await store.put(PATH, stored(3))
    await asyncio.sleep(0)  # The watch of the put above fires before anything is kept.
    assert await cache.get(PATH, parse) == record(3)
    reads = store.reads
    assert await cache.get(PATH, parse) == record(3)
    assert store.reads == reads


async def test_that_there_is_no_record_is_kept_too(cache, store):
    assert await cache.get(PATH, parse) is None
    reads = store.reads
    assert await cache.get(PATH, parse) is None
    assert store.reads == reads


async def test_a_change_by_somebody_else_is_seen_once_the_watch_has_fired(cache, store):
    assert await cache.get(PATH, parse) is None
    await store.put(PATH, stored(3))
    await asyncio.sleep(0)
    assert await cache.get(PATH, parse) == record(3)
    await store.delete(PATH)
    await asyncio.sleep(0)
    assert await cache.get(PATH, parse) is None


async def test_what_was_read_before_a_change_is_not_kept_after_it(cache, store):
    await store.put(PATH, stored(1))
    await asyncio.sleep(0)
    store.answers.clear()
    store.read.clear()
    slow = asyncio.gather(cache.get(PATH, parse))
    await store.read.wait()
    await cache.delete(PATH)
    store.answers.set()
    assert await slow == [record(1)]
    assert await cache.get(PATH, parse) is None


async def test_one_of_two_creates(cache):
    assert await cache.create(PATH, record(1))
    assert not await cache.create(PATH, record(2))
    assert await cache.get(PATH, parse) == record(1)


async def test_what_is_written_is_read_back_at_once(cache):
    assert await cache.get(PATH, parse) is None
    await cache.create(PATH, record(1))
    assert await cache.get(PATH, parse) == record(1)
    assert await cache.change(PATH, parse, lambda _: record(2))
    assert await cache.get(PATH, parse) == record(2)
    await cache.delete(PATH)
    assert await cache.get(PATH, parse) is None


async def test_there_is_nothing_to_change_where_there_is_no_record(cache):
    assert not await cache.change(PATH, parse, lambda _: record(2))


async def test_a_change_is_made_again_on_what_somebody_faster_wrote(cache, store):
    await cache.create(PATH, record(1))
    get = store.get

    async def get_and_lose_once(path):
        found = await get(path)
        store.get = get
        await store.put(PATH, stored(10))
        return found

    store.get = get_and_lose_once
    assert await cache.change(PATH, parse, lambda old: record(old.partitions + 1))
    assert await cache.get(PATH, parse) == record(11)


async def test_a_change_gives_up_against_others_without_end(cache, store):
    await cache.create(PATH, record(1))
    get = store.get

    async def get_and_lose(path):
        found = await get(path)
        await store.put(PATH, stored(2))
        return found

    store.get = get_and_lose
    with pytest.raises(Conflict, match=PATH):
        await cache.change(PATH, parse, lambda old: old)


async def test_a_change_that_raises_changes_nothing(cache):
    await cache.create(PATH, record(1))

    def refuse(_):
        raise Conflict("no")

    with pytest.raises(Conflict, match="no"):
        await cache.change(PATH, parse, refuse)
    assert await cache.get(PATH, parse) == record(1)


async def test_no_more_than_so_many_records_are_kept(store):
    cache = RecordCache(store, "/admin", records_max=2, codec=JsonCodec())
    for name in ("a", "b", "c"):
        await cache.get(f"/admin/{name}", parse)
    reads = store.reads
    await cache.get("/admin/c", parse)
    await cache.get("/admin/b", parse)
    assert store.reads == reads
    await cache.get("/admin/a", parse)
    assert store.reads == reads + 1


async def test_a_closed_cache_watches_no_more(cache, store):
    cache.close()
    assert await cache.get(PATH, parse) is None
    await store.put(PATH, stored(1))
    await asyncio.sleep(0)
    assert await cache.get(PATH, parse) is None


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
