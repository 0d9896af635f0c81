"""Watching a query, without Spark; with it, ``tests/spark/test_quickstart.py`` does."""

import json
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from pyspark.errors import StreamingQueryException
from quickstart.watched_query import WatchedQuery

from magnetar.errors import NotReady
from magnetar.spark.offsets import Offset


def progress(batch_id, rows, end, *, took_ms=0):
    source = {"numInputRows": rows, "endOffset": json.dumps(end)}
    return {"batchId": batch_id, "sources": [source], "durationMs": {"addBatch": took_ms}}


@pytest.fixture
def query():
    """As much of Spark's query as is looked at."""
    query = SimpleNamespace(name="windows", lastProgress=None, recentProgress=[], failure=None)
    query.exception = lambda: query.failure
    query.stop = lambda: None
    return query


@pytest.fixture
def ends():
    """Where the input ends: not known yet."""
    return Future()


@pytest.fixture
def watched(query, board, ends):
    return WatchedQuery(query, board.windows, ends)


def test_rows_are_counted_by_micro_batch_however_often_one_looks(query, board, watched):
    watched.look()
    assert board.windows.count == 0
    query.lastProgress = progress(0, 10, {"a": "1:9:-1"})
    watched.look()
    watched.look()
    assert (board.windows.count, board.windows.note) == (10, "1 micro-batch")
    query.lastProgress = progress(1, 5, {"a": "1:14:-1"})
    watched.look()
    assert (board.windows.count, board.windows.note) == (15, "2 micro-batches")


def test_its_time_begins_with_the_first_micro_batch_that_read_something(
    query, board, clock, watched
):
    clock.move(10)  # Spark was starting, and found nothing yet.
    query.lastProgress = progress(0, 0, {})
    watched.look()
    clock.move(10)
    query.lastProgress = progress(0, 2000, {"a": "1:9:-1"}, took_ms=4000)
    watched.look()
    assert (board.windows.took_s, board.windows.rate) == (4.0, 500)
    clock.move(4)
    query.lastProgress = progress(1, 6000, {"a": "1:14:-1"}, took_ms=3000)
    watched.look()
    assert (board.windows.took_s, board.windows.rate) == (8.0, 1000)


def test_a_query_is_finished_when_it_has_read_to_the_end_and_all_is_counted(
    query, board, ends, watched
):
    ends.set_result({"a": Offset(1, 9), "b": Offset(2, 4)})
    query.lastProgress = progress(0, 10, {"a": "1:9:-1", "b": "2:3:-1"})
    watched.look()
    assert not watched.finished
    missed = progress(1, 1, {"a": "1:9:-1", "b": "2:3:-1"})
    query.lastProgress = progress(2, 1, {"a": "1:9:-1", "b": "2:4:-1"})
    query.recentProgress = [missed, query.lastProgress]
    watched.look()
    assert watched.finished
    assert board.windows.count == 12
    assert board.windows.ended_s is not None


def test_a_query_that_failed_is_reported_with_its_cause(query, watched):
    query.failure = StreamingQueryException(
        "[STREAM_FAILED] terminated\nTraceback:\nmagnetar.errors.EntryNotFound: it is gone\nmore"
    )
    with pytest.raises(NotReady, match=r"'windows' failed: .*EntryNotFound: it is gone"):
        watched.look()


def test_a_failure_of_sparks_own_is_reported_with_its_first_line(query, watched):
    query.failure = StreamingQueryException("[STREAM_FAILED] the disk is full\nat somewhere")
    with pytest.raises(NotReady, match=r"the disk is full$"):
        watched.look()
