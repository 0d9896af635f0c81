"""A file of the format before: names in paths were encoded as Python does, and not as Java."""

import sqlite3
from contextlib import asynccontextmanager, closing
from urllib.parse import quote

import pytest

from magnetar.errors import StorageError
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.sqlite import SqliteMetadataStore

TOPIC = "a b~c*d/e+f"
BEFORE = f"/managed-ledgers/t/n/persistent/{quote(TOPIC, safe='')}"
NOW = f"/managed-ledgers/t/n/persistent/{paths.encode(TOPIC)}"
OTHER = "/admin/resourcegroups/a~b"  # It never was encoded.


@asynccontextmanager
async def opened(file):
    store = await SqliteMetadataStore.open(file)
    yield store
    await store.close()


@pytest.fixture
async def file(tmp_path):
    file = tmp_path / "metadata.sqlite"
    async with opened(file) as store:
        for path in (BEFORE, f"{BEFORE}/s%20t", OTHER, "/schemas/t/n/plain/0"):
            await store.put(path, path.encode())
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 3")
    return file


async def test_records_are_found_under_the_names_of_today(file):
    for _ in range(2):  # The second time there is nothing to do.
        async with opened(file) as store:
            assert (await store.get(NOW)).value == BEFORE.encode()
            assert await store.get(BEFORE) is None
            assert await store.children(NOW) == ["s+t"]
            assert (await store.get(OTHER)).value == OTHER.encode()
            assert (await store.get("/schemas/t/n/plain/0")).version == 0
            assert (await store.children("/managed-ledgers/t/n/persistent")) == [
                NOW.rsplit("/", maxsplit=1)[-1]
            ]


async def test_a_damaged_record_is_named_and_nothing_is_changed(file):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE records SET value = x'00' WHERE path = ?", (BEFORE,))
        connection.commit()
    with pytest.raises(StorageError, match="a%20b~c"):
        async with opened(file):
            pass
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3,)
