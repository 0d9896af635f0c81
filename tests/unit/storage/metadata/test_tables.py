import sqlite3

import pytest

from magnetar.errors import VersionMismatch
from magnetar.storage.metadata.store import ABSENT, Record
from magnetar.storage.metadata.tables import SCHEMA, MetadataTables


@pytest.fixture
def connection():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    yield connection
    connection.close()


@pytest.fixture
def tables(connection):
    return MetadataTables(connection)


def put(tables, *paths, session=None):
    with tables.transaction(writes=True):
        for path in paths:
            tables.put(path, b"v", expected_version=None, session=session)


def delete(tables, *paths):
    with tables.transaction(writes=True):
        for path in paths:
            tables.delete(path, expected_version=None)


def test_a_transaction_that_fails_leaves_nothing(tables):
    put(tables, "/a")

    def fail():
        with tables.transaction(writes=True):
            tables.put("/a", b"other", expected_version=None, session=None)
            tables.put("/b", b"", expected_version=None, session=None)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert tables.get("/a") == Record(b"v", 0)
    assert tables.get("/b") is None
    assert tables.last_change() == 1


def test_an_operation_that_is_refused_spoils_nothing_for_the_others(tables):
    with tables.transaction(writes=True):
        tables.put("/a", b"1", expected_version=ABSENT, session=None)
        with pytest.raises(VersionMismatch):
            tables.put("/a", b"2", expected_version=ABSENT, session=None)
        with pytest.raises(VersionMismatch):
            tables.delete("/a", expected_version=7)
    assert tables.get("/a") == Record(b"1", 0)


def test_changes_of_a_transaction_share_a_number(tables):
    put(tables, "/a", "/b")
    put(tables, "/c")
    assert tables.last_change() == 2
    assert tables.changes_since(0) == (2, ["/a", "/b", "/c"], False)
    assert tables.changes_since(1) == (2, ["/c"], False)
    assert tables.changes_since(2) == (2, [], False)


def test_a_record_that_changed_often_is_told_once(tables):
    for _ in range(5):
        put(tables, "/a")
    delete(tables, "/a")
    put(tables, "/a")
    assert tables.changes_since(0).paths == ["/a"]


def test_deletions_are_told(tables):
    put(tables, "/a", "/b")
    delete(tables, "/a", "/nothing")
    assert tables.changes_since(1) == (2, ["/a"], False)


def test_the_tables_say_that_something_changed_here(tables):
    assert not tables.changed
    with tables.transaction(writes=True):
        tables.get("/a")
    assert not tables.changed
    put(tables, "/a")
    assert tables.changed


def test_children_need_not_read_the_records(tables, connection):
    put(tables, "/a/b", "/a/c/d")
    asked = []
    connection.set_trace_callback(asked.append)
    assert tables.children("/a") == ["b", "c"]
    plan = connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall()
    assert "COVERING INDEX" in plan[0][3]


def test_a_session_takes_its_records_along(tables):
    with tables.transaction(writes=True):
        mine, theirs = tables.begin_session(), tables.begin_session()
    put(tables, "/mine/1", "/mine/2", session=mine)
    put(tables, "/theirs", session=theirs)
    put(tables, "/kept")
    before = tables.last_change()
    with tables.transaction(writes=True):
        tables.end_session(mine)
    assert tables.children("/") == ["kept", "theirs"]
    assert tables.changes_since(before).paths == ["/mine/1", "/mine/2"]
    assert tables.heartbeats() == {theirs: 0}


def test_a_session_beats_until_it_is_over(tables):
    with tables.transaction(writes=True):
        session = tables.begin_session()
        assert tables.heartbeat(session)
        assert tables.heartbeat(session)
        assert tables.heartbeats() == {session: 2}
        tables.end_session(session)
        assert not tables.heartbeat(session)
        assert tables.begin_session() > session


def test_old_deletions_are_forgotten(connection):
    tables = MetadataTables(connection, deletions_kept=3)
    for number in range(5):
        put(tables, f"/{number}")
        assert not tables.overgrown or number > 2
        delete(tables, f"/{number}")
    put(tables, "/here")
    assert tables.overgrown
    with tables.transaction(writes=True):
        tables.forget_deletions()
    assert not tables.overgrown
    assert [path for (path,) in connection.execute("SELECT path FROM deletions")] == [
        "/2",
        "/3",
        "/4",
    ]
    assert tables.changes_since(4) == (11, ["/2", "/3", "/4", "/here"], False)
    assert tables.changes_since(3).missed
    assert "/here" in tables.changes_since(0).paths


def test_few_deletions_are_kept(tables):
    put(tables, "/a")
    delete(tables, "/a")
    with tables.transaction(writes=True):
        tables.forget_deletions()
    assert tables.changes_since(0) == (2, ["/a"], False)
