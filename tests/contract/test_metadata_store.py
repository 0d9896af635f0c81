"""What every metadata store promises, kept by every metadata store."""

import asyncio

import pytest
from support.simulated import SimulatedZooKeeper
from support.watches import Heard

from magnetar.errors import StorageError, VersionMismatch
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.store import ABSENT, Owner, Record
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings


class MemoryHome:
    """Sessions on one tree."""

    def __init__(self, folder):
        self._tree = MemoryTree()

    async def open(self):
        return MemoryMetadataStore(self._tree)


class SqliteHome:
    """Sessions on one file, as processes would open them."""

    def __init__(self, folder):
        self._path = folder / "metadata.sqlite"

    async def open(self):
        return await SqliteMetadataStore.open(self._path)


class ZooKeeperHome:
    """Sessions with one server, below a path that nobody used before."""

    def __init__(self, server, name):
        self._settings = ZooKeeperSettings(
            servers=f"{server.address}/{name}", session_timeout_s=5.0, operation_timeout_s=10.0
        )

    async def open(self):
        return await ZooKeeperMetadataStore.open(self._settings)


FAST = ["memory", "sqlite", "simulated"]


def home_of(kind, request, tmp_path):
    if kind == "memory":
        return MemoryHome(tmp_path)
    if kind == "simulated":
        return SimulatedZooKeeper()
    if kind == "sqlite":
        return SqliteHome(tmp_path)
    return ZooKeeperHome(request.getfixturevalue("zookeeper"), tmp_path.name)


@pytest.fixture(params=[*FAST, pytest.param("zookeeper", marks=pytest.mark.slow)])
async def sessions(request, tmp_path):
    """Opens sessions, and closes them in the end."""
    home = home_of(request.param, request, tmp_path)
    opened = []

    async def open_session():
        opened.append(await home.open())
        return opened[-1]

    yield open_session
    for session in opened:
        await session.close()
    if isinstance(home, SimulatedZooKeeper):
        await home.close()


@pytest.fixture
async def store(sessions):
    return await sessions()


@pytest.fixture
async def other(sessions):
    """Another session on the same records."""
    return await sessions()


async def test_what_was_put_is_got(store, other):
    assert await store.get("/a") is None
    assert await store.put("/a", b"1") == 0
    assert await store.get("/a") == await other.get("/a") == Record(b"1", 0)


async def test_any_bytes_are_kept(store):
    for value in (b"", b"\0", bytes(range(256)) * 1000):
        await store.put("/a", value)
        assert (await store.get("/a")).value == value


async def test_versions_count_the_puts(store, other):
    assert [await store.put("/a", b"x") for _ in range(3)] == [0, 1, 2]
    assert await other.put("/a", b"x") == 3


async def test_a_version_is_replaced_by_whom_comes_first(store, other):
    await store.put("/a", b"0")
    assert await store.put("/a", b"1", expected_version=0) == 1
    with pytest.raises(VersionMismatch, match="/a is at version 1, not 0"):
        await other.put("/a", b"2", expected_version=0)
    assert await other.get("/a") == Record(b"1", 1)


async def test_a_record_is_created_once(store, other):
    assert await store.put("/a", b"mine", expected_version=ABSENT) == 0
    with pytest.raises(VersionMismatch):
        await other.put("/a", b"theirs", expected_version=ABSENT)
    with pytest.raises(VersionMismatch):
        await other.put("/b", b"theirs", expected_version=0)
    assert await other.get("/b") is None


async def test_of_many_who_create_one_succeeds(store, other):
    results = await asyncio.gather(
        *(
            session.put("/a", b"x", expected_version=ABSENT)
            for session in (store, other)
            for _ in range(10)
        ),
        return_exceptions=True,
    )
    assert results.count(0) == 1
    assert sum(isinstance(result, VersionMismatch) for result in results) == 19


async def test_of_many_who_count_up_none_is_lost(store, other):
    await store.put("/n", b"0")

    async def add(session):
        while True:
            record = await session.get("/n")
            try:
                value = str(int(record.value) + 1).encode()
                return await session.put("/n", value, expected_version=record.version)
            except VersionMismatch:
                continue

    await asyncio.gather(*(add(session) for session in (store, other) for _ in range(10)))
    assert await store.get("/n") == Record(b"20", 20)


async def test_a_deleted_record_is_gone_and_begins_anew(store, other):
    await store.put("/a", b"1")
    await store.put("/a", b"2")
    await store.delete("/a", expected_version=1)
    assert await other.get("/a") is None
    assert await other.put("/a", b"3", expected_version=ABSENT) == 0


async def test_deleting_another_version_is_refused(store):
    await store.put("/a", b"1")
    with pytest.raises(VersionMismatch):
        await store.delete("/a", expected_version=5)
    with pytest.raises(VersionMismatch):
        await store.delete("/b", expected_version=0)
    assert await store.get("/a") is not None


async def test_deleting_what_is_not_there_is_fine(store):
    await store.delete("/a")


async def test_children_are_the_names_directly_below(store):
    for path in ("/a/x", "/a/y/deep/er", "/a/z", "/a/z/1", "/a-b", "/ab/c", "/b"):
        await store.put(path, b"")
    assert await store.children("/a") == ["x", "y", "z"]
    assert await store.children("/a/y") == ["deep"]
    assert await store.children("/a/z") == ["1"]
    assert await store.children("/a/x") == []
    assert await store.children("/nothing") == []
    assert await store.children("/") == ["a", "a-b", "ab", "b"]


async def test_a_record_stays_when_its_parent_goes(store):
    await store.put("/a", b"")
    await store.put("/a/x", b"")
    await store.delete("/a")
    assert await store.children("/") == ["a"]
    assert await store.get("/a/x") is not None
    await store.delete("/a/x")
    assert await store.children("/") == []


async def test_any_characters_may_be_in_a_path(store):
    names = ["%2Fx", "ünï", "a b", "0", "~"]
    for name in names:
        await store.put(f"/p/{name}", name.encode())
    assert await store.children("/p") == sorted(names)
    assert (await store.get("/p/ünï")).value == "ünï".encode()


async def test_ephemeral_records_go_with_their_session(store, other):
    await store.put("/mine", b"", ephemeral=True)
    await store.put("/kept", b"")
    await other.put("/theirs", b"", ephemeral=True)
    assert await other.get("/mine") is not None
    await store.close()
    assert await other.children("/") == ["kept", "theirs"]


async def test_who_puts_last_owns_the_record(store, other):
    await store.put("/a", b"", ephemeral=True)
    await store.put("/b", b"", ephemeral=True)
    await store.put("/c", b"")
    await other.put("/a", b"")
    await other.put("/b", b"", ephemeral=True)
    await store.put("/c", b"", ephemeral=True)
    await store.close()
    assert await other.children("/") == ["a", "b"]


async def test_a_watch_tells_of_changes_by_anybody(store, other):
    heard = Heard()
    store.watch("/a", heard)
    await store.get("/a")
    await store.put("/a/mine", b"")
    await other.put("/a/theirs", b"")
    await other.put("/a", b"")
    await heard.until("/a/mine", "/a/theirs", "/a")
    await other.delete("/a/mine")
    await store.delete("/a/theirs")
    await heard.until("/a/mine", "/a/theirs")


async def test_after_a_watch_told_a_read_shows_the_change(store, other):
    seen = asyncio.Queue()

    async def look(path):
        seen.put_nowait(await store.get(path))

    tasks = []
    store.watch("/a", lambda path: tasks.append(asyncio.ensure_future(look(path))))
    await store.get("/a")
    for number in range(5):
        await other.put("/a", str(number).encode())
        async with asyncio.timeout(10):
            while (await seen.get()).version < number:
                pass
    await asyncio.gather(*tasks)


async def test_who_has_put_was_told_of_all_that_was_put_before(store, other):
    heard = Heard()
    store.watch("/a", heard)
    await store.get("/a")
    for number in range(20):
        await other.put(f"/a/{number}", b"")
        await store.put(f"/b/{number}", b"", expected_version=ABSENT, ephemeral=True)
        assert f"/a/{number}" in heard.all


async def test_a_watch_tells_of_its_own_part_alone(store, other):
    heard, everything = Heard(), Heard()
    store.watch("/a", heard)
    store.watch("/", everything)
    await store.get("/a")
    for path in ("/ab", "/b", "/a-b/c", "/a/x"):
        await other.put(path, b"")
    await heard.until("/a/x")
    await everything.until("/ab", "/b", "/a-b/c", "/a/x")
    assert set(heard.all) - {"/a"} == {"/a/x"}  # A parent may be made for a record.


async def test_a_cancelled_watch_is_silent(store, other):
    heard, still = Heard(), Heard()
    watch = store.watch("/a", heard)
    store.watch("/a", still)
    await store.get("/a")
    watch.cancel()
    watch.cancel()
    await other.put("/a", b"")
    await still.until("/a")
    assert heard.paths == []


async def test_a_watch_may_cancel_itself_and_begin_another(store, other):
    heard, begun = Heard(), asyncio.Event()

    def first(_):
        watch.cancel()
        store.watch("/a", heard)
        begun.set()

    watch = store.watch("/a", first)
    await store.get("/a")
    await other.put("/a", b"1")
    await asyncio.wait_for(begun.wait(), 10)
    await store.get("/a")
    await other.put("/a", b"2")
    await heard.until("/a")


async def test_a_watch_tells_that_a_session_ended(store, other):
    heard = Heard()
    store.watch("/e", heard)
    await store.get("/e")  # The watch has begun.
    await other.put("/e/1", b"", ephemeral=True)
    await heard.until("/e/1")
    await other.close()
    await heard.until("/e/1")
    assert await store.get("/e/1") is None


async def test_many_changes_at_once_are_all_told(store, other):
    heard = Heard()
    store.watch("/many", heard)
    await store.get("/many")
    paths = [f"/many/{number}" for number in range(1000)]
    await asyncio.gather(*(other.put(path, b"") for path in paths))
    await heard.until(*paths)


async def test_a_closed_store_says_so(store):
    await store.close()
    await store.close()
    for attempt in (
        store.get("/a"),
        store.put("/a", b""),
        store.delete("/a"),
        store.children("/a"),
    ):
        with pytest.raises(StorageError, match="closed"):
            await attempt


async def test_cancelling_a_put_does_not_take_it_back(store):
    put = asyncio.ensure_future(store.put("/a", b"1"))
    await asyncio.sleep(0)
    put.cancel()
    assert await store.put("/a", b"2") == 1


async def test_an_ephemeral_record_says_whose_session_it_ends_with(store, other):
    await store.put("/a", b"", ephemeral=True)
    await store.put("/b", b"")
    assert (await store.get("/a")).owner is Owner.OURS
    assert (await other.get("/a")).owner is Owner.OTHER
    assert (await other.get("/b")).owner is Owner.NONE
    await other.put("/a", b"", ephemeral=True)
    assert (await store.get("/a")).owner is Owner.OTHER


async def test_a_session_that_lives_is_told_of_nothing_and_a_watch_on_it_can_be_cancelled(store):
    states = []
    watch = store.watch_session(states.append)
    await store.put("/a", b"", ephemeral=True)
    watch.cancel()
    watch.cancel()
    await store.close()
    assert states == []
