from pathlib import Path

import pytest

from magnetar.pipelines.accounts import accounts, differences
from magnetar.pipelines.declaration import Action, Check, Location, Pipeline, Source, Step
from magnetar.pipelines.query_counts import QueryCounts

CHECKS = (
    Check("bad", "x", Action.QUARANTINE),
    Check("worse", "y", Action.DROP),
    Check("odd", "z", Action.WARN),
)
STEP = Step("clean", "SELECT 1", None, (), None, (), CHECKS, None)
SOURCE = Source(
    "orders", Location("pulsar", {}), True, None, "id int", None, Location("pulsar", {})
)
PIPELINE = Pipeline("p", Path(), "c", "available-now", {}, (SOURCE,), (STEP,), ())
COUNTS = {"rows": 10, "passed": 6, "failed: bad": 3, "failed: worse": 1, "failed: odd": 4}


def tallies(**counts):
    sink = QueryCounts(rows_read=10, rows_written=6, steps={"clean": {**COUNTS, **counts}})
    return {"copy": sink, "clean_quarantine": QueryCounts(rows_read=10, rows_written=3)}


def test_each_row_passed_or_was_dropped_or_quarantined():
    (one,) = accounts(PIPELINE, tallies())
    assert (one.rows, one.passed, one.dropped, one.quarantined) == (10, 6, 1, 3)
    assert one.failed == {"bad": 3, "worse": 1, "odd": 4}
    assert differences([one], tallies(), {"clean_quarantine": "clean"}) == []


@pytest.mark.parametrize("name", ["rows", "passed", "failed: bad", "failed: worse"])
def test_a_row_more_or_less_is_told(name):
    counted = tallies(**{name: COUNTS[name] + 1})
    wrong = differences(accounts(PIPELINE, counted), counted, {})
    assert len(wrong) == 1
    assert wrong[0].startswith("copy: at clean")


def test_the_quarantine_has_written_what_was_left_to_it_once_it_has_read_as_much():
    counted = tallies()
    counted["clean_quarantine"].rows_written = 2
    found = accounts(PIPELINE, counted)
    wrong = differences(found, counted, {"clean_quarantine": "clean"})
    assert wrong == ["copy: at clean 3 rows were quarantined, but clean_quarantine wrote 2"]
    counted["clean_quarantine"].rows_read = 8
    assert differences(found, counted, {"clean_quarantine": "clean"}) == []


def rejecting(*, rows=10, written=2):
    counted = tallies()
    counted["copy"].steps["orders"] = {"rows": rows, "passed": 8, "failed: malformed": 2}
    counted["orders_reject"] = QueryCounts(rows_read=10, rows_written=written)
    return counted, accounts(PIPELINE, counted)


def test_a_source_passes_what_it_does_not_reject():
    counted, found = rejecting()
    (one,) = [each for each in found if each.view == "orders"]
    assert (one.rows, one.passed, one.rejected, one.set_aside) == (10, 8, 2, 2)
    assert differences(found, counted, {"orders_reject": "orders"}) == []


def test_what_a_source_loses_is_told():
    counted, found = rejecting(rows=11, written=1)
    passed, written = differences(found, counted, {"orders_reject": "orders"})
    assert passed.startswith("copy: at orders 11 rows came, of which 8 went on, 0 were dropped")
    assert passed.endswith("0 quarantined and 2 rejected")
    assert written == "copy: at orders 2 rows were rejected, but orders_reject wrote 1"
