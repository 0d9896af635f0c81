"""What is SQLite's own: files, group commits, sessions, and processes."""

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import sys
import threading

import pytest
from support.clock import ManualClock
from support.watches import Heard

from magnetar.errors import CorruptEntry, StorageError, VersionMismatch, WriteFailed
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.sqlite_file import SqliteSettings
from magnetar.storage.metadata.store import ABSENT, Record

OTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.storage.metadata.sqlite_file import SqliteSettings

async def main():
    settings = SqliteSettings(session_timeout_s=0.4)
    store = await SqliteMetadataStore.open(Path(sys.argv[1]), settings=settings)
    store.watch("/", lambda path: print("changed", path, flush=True))
    await store.get("/")
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        what, path = line.split()
        if what == "put":
            await store.put(path, b"theirs")
        if what == "own":
            await store.put(path, b"theirs", ephemeral=True)
        if what == "delete":
            await store.delete(path)
        if what == "wait":
            await asyncio.sleep(float(path))
        print("done", flush=True)
    await store.close()

asyncio.run(main())
"""


HASTY = SqliteSettings(session_timeout_s=0.4)


class Process:
    """Another process with the same file open."""

    def __init__(self, process):
        self._process = process

    async def says(self, line):
        async with asyncio.timeout(20):
            while (said := (await self._process.stdout.readline()).decode().strip()) != line:
                assert said, "the other process ended"

    async def do(self, *words):
        self._process.stdin.write(" ".join(words).encode() + b"\n")
        await self.says("done")

    def signal(self, number):
        self._process.send_signal(number)

    async def end(self):
        self._process.stdin.close()
        await self._process.wait()


@contextlib.asynccontextmanager
async def other_process(file):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OTHER_PROCESS,
        str(file),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        other = Process(process)
        await other.says("ready")
        yield other
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "metadata.sqlite"


@contextlib.asynccontextmanager
async def opened(file, **options):
    store = await SqliteMetadataStore.open(file, **options)
    try:
        yield store
    finally:
        await store.close()


async def test_records_outlive_the_store(file):
    async with opened(file) as store:
        await store.put("/a", b"1")
        await store.put("/a", b"2", expected_version=0)
        await store.put("/e", b"", ephemeral=True)
    async with opened(file) as again:
        assert await again.get("/a") == Record(b"2", 1)
        assert await again.get("/e") is None
    assert "magnetar-metadata" not in {thread.name for thread in threading.enumerate()}


async def test_operations_that_wait_share_one_transaction(file):
    async with opened(file) as store:
        await asyncio.gather(*(store.put(f"/r/{number}", b"v") for number in range(900)))
        with contextlib.closing(sqlite3.connect(file)) as connection:
            changes = connection.execute("SELECT count(DISTINCT change) FROM records").fetchone()
        assert changes[0] < 90  # As many as a busy thread takes; 900 if none were shared.
        refused = await asyncio.gather(
            store.put("/r/0", b"x", expected_version=ABSENT),
            store.put("/r/1", b"y"),
            return_exceptions=True,
        )
        assert isinstance(refused[0], VersionMismatch)
        assert refused[1] == 1
        assert len(await store.children("/r")) == 900


async def test_processes_hear_of_each_others_changes(file):
    heard = Heard()
    async with opened(file) as store, other_process(file) as other:
        store.watch("/w", heard)
        await store.get("/w")
        await other.do("put", "/w/theirs")
        await heard.until("/w/theirs")
        assert (await store.get("/w/theirs")).value == b"theirs"
        await store.put("/ours", b"")
        await other.says("changed /ours")
        await other.do("delete", "/w/theirs")
        await heard.until("/w/theirs")
        assert await store.get("/w/theirs") is None
        await other.end()


async def test_ephemeral_records_go_some_seconds_after_their_process_died(file):
    heard = Heard()
    async with opened(file, settings=HASTY) as store, other_process(file) as other:
        store.watch("/", heard)
        await store.get("/")
        await other.do("own", "/e")
        await heard.until("/e")
        await other.do("wait", "1")
        assert await store.get("/e") is not None  # It lives, though it says nothing.
        other.signal(signal.SIGKILL)
        await heard.until("/e")
        assert await store.get("/e") is None


async def test_ephemeral_records_go_at_once_when_their_process_says_farewell(file):
    async with opened(file) as store, other_process(file) as other:
        await other.do("own", "/e")
        await other.end()
        assert await store.get("/e") is None


async def test_who_wakes_up_from_the_dead_starts_over(file):
    heard = Heard()
    async with opened(file, settings=HASTY) as store, other_process(file) as other:
        store.watch("/", heard)
        await store.get("/")
        await other.do("own", "/e")
        await heard.until("/e")
        other.signal(signal.SIGSTOP)
        await heard.until("/e")
        other.signal(signal.SIGCONT)
        await other.says("changed /e")  # It hears of its own loss.
        await other.do("wait", "0.5")
        await other.do("own", "/e")
        await heard.until("/e")
        await other.do("wait", "1")
        assert await store.get("/e") is not None


async def test_a_clock_that_jumps_ends_no_session(file):
    clock = ManualClock()
    async with opened(file) as owner, opened(file, clock=clock) as other:
        await owner.put("/e", b"", ephemeral=True)
        await other.get("/e")
        clock.move(2.0)  # It looks again, and sees the session.
        await other.get("/e")
        clock.move(1e9)
        await other.get("/e")
        clock.move(-2e9)
        await other.get("/e")
        assert await owner.get("/e") is not None


async def test_many_may_make_the_file_at_once(file):
    stores = await asyncio.gather(*(SqliteMetadataStore.open(file) for _ in range(8)))
    await asyncio.gather(*(store.put("/a", b"") for store in stores))
    assert (await stores[0].get("/a")).version == 7
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_file_that_is_no_database_is_named_with_a_remedy(file):
    file.write_bytes(b"something else" * 1000)
    with pytest.raises(StorageError, match=r"metadata\.sqlite is damaged.*folder away"):
        await SqliteMetadataStore.open(file)
    assert file.read_bytes() == b"something else" * 1000


async def test_a_database_of_another_program_is_left_alone(file):
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"metadata\.sqlite is a database of another program"):
        await SqliteMetadataStore.open(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (1, "of format 1, of a time before the first release, and this Magnetar reads 4: move"),
        (2, "of format 2, of a time before the first release, and this Magnetar reads 4: move"),
        (5, "of format 5, and this Magnetar reads 4: use the Magnetar that wrote it"),
    ],
)
async def test_a_file_of_another_format_is_refused(file, version, said):
    async with opened(file):
        pass
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = file.read_bytes()
    with pytest.raises(StorageError, match=said):
        await SqliteMetadataStore.open(file)
    assert file.read_bytes() == before


async def test_damage_inside_the_file_is_named_when_it_is_met(file):
    async with opened(file) as store:
        await asyncio.gather(*(store.put(f"/r/{n}", bytes(3000)) for n in range(200)))
    data = bytearray(file.read_bytes())
    data[4096 * 2 :] = b"\xff" * (len(data) - 4096 * 2)
    file.write_bytes(data)
    with pytest.raises(StorageError, match=r"metadata\.sqlite is damaged.*restore it"):
        async with opened(file) as store:
            await store.get("/r/100")


async def changed_behind_our_back(file, path, value):
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"UPDATE records SET value = {value} WHERE path = ?", (path,))
    async with opened(file) as store:
        return (await store.get(path)).value


async def test_a_record_that_is_not_what_was_written_is_no_answer(file, caplog):
    async with opened(file) as store:
        await store.put("/a", b"ledger 17")
        await store.put("/b", b"fine")
    with pytest.raises(CorruptEntry, match=r"record /a of the metadata is damaged: restore"):
        await changed_behind_our_back(file, "/a", "'ledger 16'")
    async with opened(file) as store:
        for _ in range(3):
            with pytest.raises(CorruptEntry):
                await store.get("/a")
        assert caplog.text.count("metadata.damaged") == 2, "once in each life"
        assert (await store.get("/b")).value == b"fine"
        assert await store.put("/a", b"new") == 1


@pytest.mark.parametrize("content", [None, b""])
async def test_a_file_that_must_exist_is_not_made_anew(file, content):
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StorageError, match=r"metadata\.sqlite is missing or empty.*restore it"):
        await SqliteMetadataStore.open(file, must_exist=True)
    assert file.exists() is (content is not None)


async def test_a_record_that_no_index_leads_to_keeps_the_file_from_being_opened(file):
    async with opened(file) as store:
        for number in range(50):
            await store.put(f"/topics/number-{number:03}", b"")
    data = bytearray(file.read_bytes())
    places = [at for at in range(len(data)) if data.startswith(b"/topics/number-017", at)]
    assert len(places) == 2, "in the table and in the index"
    data[places[1] + 17] ^= 8
    file.write_bytes(data)
    with pytest.raises(StorageError, match=r"metadata\.sqlite is damaged .*restore it"):
        await SqliteMetadataStore.open(file)


async def test_a_log_that_lacks_changes_keeps_the_file_from_being_opened(file, tmp_path):
    async with opened(file) as store:
        for number in range(20):
            await store.put(f"/{number}", b"")
        copy = tmp_path / "copy"
        copy.mkdir()
        for path in file.parent.glob("metadata.sqlite*"):
            shutil.copy(path, copy)
    (copy / "metadata.sqlite-wal").unlink()
    for _ in range(2):  # Looking at it must not mend the traces.
        with pytest.raises(StorageError, match=r"metadata\.sqlite-wal is missing"):
            await SqliteMetadataStore.open(copy / "metadata.sqlite")


async def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StorageError, match="its folder must exist"):
        await SqliteMetadataStore.open(tmp_path / "gone" / "metadata.sqlite")


async def test_who_locks_the_file_for_too_long_is_a_failed_write(file):
    async with opened(file, settings=SqliteSettings(busy_timeout_s=0.05)) as store:
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with pytest.raises(WriteFailed, match="locked by another process"):
                await store.put("/a", b"")
            assert await store.get("/a") is None
        assert await store.put("/a", b"") == 0


async def test_a_mistake_in_one_operation_is_its_callers_alone(file):
    async with opened(file) as store, asyncio.timeout(20):
        results = await asyncio.gather(
            store.put("/a", b""),
            store.put("/unwritable/\ud800", b""),
            store.put("/b", None),
            store.put("/c", b""),
            store.put("/c", b"", expected_version=ABSENT),
            return_exceptions=True,
        )
        assert results[0] == results[3] == 0
        assert isinstance(results[1], UnicodeEncodeError)
        assert isinstance(results[2], TypeError)
        assert isinstance(results[4], VersionMismatch)
        assert await store.children("/") == ["a", "c"]


async def test_reading_and_watching_go_on_where_nothing_can_be_written(file):
    async with opened(file, settings=SqliteSettings(busy_timeout_s=0.05)) as store:
        heard = Heard()
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            store.watch("/a", heard)
            results = await asyncio.gather(
                store.get("/a"), store.put("/a", b""), return_exceptions=True
            )
            assert results[0] is None
            assert isinstance(results[1], WriteFailed)
        await store.put("/a", b"")
        await heard.until("/a")
