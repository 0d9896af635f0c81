"""What the thread does, without one."""

import contextlib

import pytest
from support.clock import ManualClock

from magnetar.errors import WriteFailed
from magnetar.storage.metadata.sqlite_file import SqliteSettings, connect
from magnetar.storage.metadata.sqlite_worker import SqliteWorker
from magnetar.storage.metadata.store import Record
from magnetar.storage.metadata.thread_queue import Operation

SETTINGS = SqliteSettings(deletions_kept=2)
SYNCED = 2


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def make(tmp_path, clock):
    with contextlib.ExitStack() as stack:

        def make_worker():
            path = tmp_path / "metadata.sqlite"
            connection = connect(path, SETTINGS, must_exist=False)
            stack.callback(connection.close)
            return SqliteWorker(path, connection, clock=clock, settings=SETTINGS)

        yield make_worker


@pytest.fixture
def worker(make):
    return make()


def do(worker, *works, writes=True):
    return worker.carry_out([Operation(work, writes, None) for work in works])


def put(path, value=b"", *, ephemeral=False):
    return lambda who: who.put(path, value, expected_version=None, ephemeral=ephemeral)


def delete(path):
    return lambda who: who.tables.delete(path, expected_version=None)


def get(path):
    return lambda who: who.tables.get(path)


def setting(worker, name):
    return worker.connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_the_file_is_synced_at_every_commit_but_signs_of_life(worker, clock):
    assert (setting(worker, "journal_mode"), setting(worker, "synchronous")) == ("wal", SYNCED)
    do(worker, put("/e", ephemeral=True))
    assert worker.tables.heartbeats() == {1: 0}
    clock.move(SETTINGS.session_timeout_s / 4)
    worker.maintain_sessions()
    assert worker.tables.heartbeats() == {1: 1}
    assert setting(worker, "synchronous") == SYNCED


def test_only_who_watches_looks_for_changes(worker):
    assert worker.wait_max_s > 1
    do(worker, SqliteWorker.begin_watching, writes=False)
    assert worker.wait_max_s == SETTINGS.poll_interval_s
    do(worker, SqliteWorker.end_watching, writes=False)
    assert worker.wait_max_s > 1


def test_who_lags_too_far_is_told_of_everything(make, clock):
    mine, theirs = make(), make()
    do(mine, *(put(f"/w/{number}") for number in range(6)))
    do(theirs, SqliteWorker.begin_watching, writes=False)
    for number in range(5):
        do(mine, delete(f"/w/{number}"))
    clock.move(SETTINGS.session_timeout_s)
    mine.maintain_sessions()  # Old deletions are forgotten.
    told = theirs.changes()
    assert told[0] is None, "some were deleted, and nobody knows which"
    assert {"/w/3", "/w/4", "/w/5"} <= set(told)
    assert theirs.changes() == []


def test_a_full_disk_fails_all_that_waited_and_nothing_is_half_done(worker, caplog):
    do(worker, put("/a", b"old"))
    pages = setting(worker, "page_count")
    worker.connection.execute(f"PRAGMA max_page_count = {pages}")
    results = do(worker, put("/a", b"new"), put("/b", bytes(1_000_000)))
    assert {type(result) for result in results} == {WriteFailed}
    assert "cannot be written" in str(results[0])
    assert do(worker, get("/a"), writes=False) == [Record(b"old", 0)]
    assert do(worker, put("/a", b"new")) == [1]
    assert caplog.text.count("metadata.failing") == caplog.text.count("metadata.works_again") == 1
