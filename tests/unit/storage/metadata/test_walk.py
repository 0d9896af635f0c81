from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.storage.metadata.walk import records_below


async def test_what_is_so_far_below_a_path_is_found_in_order():
    store = MemoryMetadataStore()
    for path in ("/a/y/2", "/a/x/1", "/a/x/1/deeper", "/a/x", "/b/x/1"):
        await store.put(path, b"")
    assert [path async for path in records_below(store, "/a", 2)] == ["/a/x/1", "/a/y/2"]
    assert [path async for path in records_below(store, "/a", 1)] == ["/a/x", "/a/y"]
    assert [path async for path in records_below(store, "/none", 2)] == []
    await store.close()
