"""What is SQLite's own: files, group commits, sessions, and watches over processes' borders."""

import asyncio
import sqlite3

import pytest

from magnetar.clock import SystemClock
from magnetar.errors import StorageError, VersionMismatch
from magnetar.storage.metadata import sqlite
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.store import ABSENT, Record


class LateClock(SystemClock):
    """Wall time may be moved on."""

    def __init__(self):
        self.ahead_ms = 0

    def wall_ms(self):
        return super().wall_ms() + self.ahead_ms


class Heard:
    """Paths that a watch reported."""

    def __init__(self):
        self.paths = []
        self._more = asyncio.Event()

    def __call__(self, path):
        self.paths.append(path)
        self._more.set()

    async def until(self, path):
        async with asyncio.timeout(10):
            while path not in self.paths:
                self._more.clear()
                await self._more.wait()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "metadata.sqlite"


async def test_records_outlive_the_store(file):
    store = await SqliteMetadataStore.open(file)
    await store.put("/a", b"1")
    await store.put("/a", b"2", expected_version=0)
    await store.close()
    again = await SqliteMetadataStore.open(file)
    assert await again.get("/a") == Record(b"2", 1)
    await again.close()


async def test_operations_that_wait_share_one_transaction(file):
    store = await SqliteMetadataStore.open(file)
    await asyncio.gather(*(store.put(f"/r/{n}", b"v") for n in range(500)))
    refused = await asyncio.gather(
        store.put("/r/0", b"x", expected_version=ABSENT),
        store.put("/r/1", b"y"),
        return_exceptions=True,
    )
    assert isinstance(refused[0], VersionMismatch)
    assert refused[1] == 1
    assert len(await store.children("/r")) == 500
    await store.close()


async def test_another_store_on_the_file_hears_of_changes(file):
    mine, theirs = [await SqliteMetadataStore.open(file) for _ in range(2)]
    heard = Heard()
    watch = theirs.watch("/w", heard)
    await theirs.get("/w")  # The watch has begun.
    await mine.put("/w/x", b"")
    await mine.put("/elsewhere", b"")
    await heard.until("/w/x")
    await mine.delete("/w/x")
    await mine.put("/w", b"")
    await heard.until("/w")
    assert "/elsewhere" not in heard.paths
    watch.cancel()
    await mine.close()
    await theirs.close()


async def test_who_missed_changes_is_told_to_look_at_everything(file, monkeypatch):
    monkeypatch.setattr(sqlite, "POLL_INTERVAL_S", 60)
    mine, theirs = [await SqliteMetadataStore.open(file) for _ in range(2)]
    heard = Heard()
    theirs.watch("/w", heard)
    await theirs.get("/w")  # The watch has begun; its next look is with the next operation.
    await asyncio.gather(*(mine.put(f"/w/{n}", b"") for n in range(20)))
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM changes WHERE number < 18")
    connection.close()
    await theirs.get("/w")
    await heard.until("/w")
    await mine.close()
    await theirs.close()


async def test_ephemeral_records_go_when_their_owner_has_been_silent_too_long(file):
    clock = LateClock()
    dead = await SqliteMetadataStore.open(file)
    await dead.put("/e", b"", ephemeral=True)
    await dead._stop()  # Its process died: no sign of life any more, and no farewell.
    clock.ahead_ms = sqlite.SESSION_TIMEOUT_MS + 1000
    other = await SqliteMetadataStore.open(file, clock=clock)
    assert await other.get("/e") is None
    await other.close()


async def test_a_file_that_is_no_database_is_named_with_a_remedy(file):
    file.write_bytes(b"something else" * 1000)
    with pytest.raises(StorageError, match=r"metadata\.sqlite is damaged.*move it away"):
        await SqliteMetadataStore.open(file)


async def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StorageError, match="its folder must exist"):
        await SqliteMetadataStore.open(tmp_path / "gone" / "metadata.sqlite")


async def test_a_closed_store_says_so(file):
    store = await SqliteMetadataStore.open(file)
    await store.close()
    await store.close()
    with pytest.raises(StorageError, match="is closed"):
        await store.get("/a")
