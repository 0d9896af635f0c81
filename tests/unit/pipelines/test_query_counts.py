import json

from magnetar.pipelines.query_counts import QueryCounts
from magnetar.spark.offsets import MESSAGES_BEHIND


def progress(batch, rows, *, observed=None, latest=None, operators=()):
    return {
        "batchId": batch,
        "numInputRows": rows,
        "processedRowsPerSecond": rows * 2.0,
        "durationMs": {"triggerExecution": 500},
        "sources": [{"numInputRows": rows, "latestOffset": latest}],
        "observedMetrics": observed or {},
        "stateOperators": list(operators),
    }


def test_micro_batches_are_added_up_once_each():
    tally = QueryCounts()
    step = {"rows": 5, "passed": 4, "failed: positive": 1}
    first = progress(0, 5, observed={"sink: copy": {"written": 4}, "clean": step})
    for one in (first, first, progress(1, 2, observed={"sink: copy": {"written": 2}})):
        tally.add(one)
    assert (tally.rows_read, tally.rows_written, tally.batches) == (7, 6, 2)
    assert tally.steps == {"clean": step}
    assert (tally.read_per_s, tally.written_per_s, tally.batch_ms) == (4.0, 4.0, 500)


def test_a_look_that_found_nothing_is_no_micro_batch():
    tally = QueryCounts()
    tally.add(progress(0, 5))
    tally.add(progress(1, 0))
    tally.add(progress(1, 3))
    assert (tally.rows_read, tally.batches) == (8, 2)


def test_rows_that_state_left_out_are_counted():
    tally = QueryCounts()
    operator = {
        "numRowsDroppedByWatermark": 3,
        "customMetrics": {"numDroppedDuplicateRows": 2},
    }
    tally.add(progress(0, 9, operators=[operator, {"numRowsDroppedByWatermark": 1}]))
    assert (tally.rows_late, tally.rows_duplicate) == (4, 2)


def test_the_lag_is_that_of_all_sources_that_tell():
    tally = QueryCounts()
    tally.add(progress(0, 1))
    assert tally.lag_messages is None
    behind = {"a-partition-0": 5, "a-partition-1": 7}
    tally.add(progress(1, 0, latest=json.dumps({MESSAGES_BEHIND: behind})))
    assert tally.lag_messages == 12
