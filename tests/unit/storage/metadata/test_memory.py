from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree

# tests/contract/test_metadata_store.py holds it to the contract.


async def test_a_store_has_a_tree_of_its_own_unless_told_otherwise():
    tree = MemoryTree()
    one, other, alone = MemoryMetadataStore(tree), MemoryMetadataStore(tree), MemoryMetadataStore()
    await one.put("/a", b"1")
    assert (await other.get("/a")).value == b"1"
    assert await alone.get("/a") is None


async def test_nothing_is_kept_for_records_that_are_gone():
    tree = MemoryTree()
    store = MemoryMetadataStore(tree)
    await store.put("/a/b/c", b"", ephemeral=True)
    await store.put("/a/b", b"")
    await store.delete("/a/b/c")
    await store.delete("/a/b")
    assert (tree.records, tree.owners, await store.children("/")) == ({}, {}, [])
    await store.close()
    assert tree.watches == []
