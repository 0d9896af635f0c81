import copy
from functools import cache

import pytest
from quickstart.figures import CarrierDay, Figures, by_carrier_and_day
from quickstart.reconcile import EXAMPLES_MAX, Counts, Window, reconcile
from support.flights import first_flights

COUNTS = Counts(1000, 1000, 1000)
SOMEWHERE = CarrierDay("UA", "2013-01-01")


def thousand():
    return first_flights()[:1000]


@cache
def expected():
    return by_carrier_and_day(thousand())


@pytest.fixture
def windows():
    """What a pipeline without a fault says."""
    found = {}
    for one in thousand():
        if not one.cancelled:
            where = CarrierDay(one.carrier, f"{one.year}-{one.month:02}-{one.day:02}")
            found.setdefault(where, Window(expected()[where], [])).flight_ids.append(one.flight_id)
    return copy.deepcopy(found)


@pytest.fixture
def cancelled():
    return [one.flight_id for one in thousand() if one.cancelled]


def outcome(windows, cancelled, counts=COUNTS):
    return reconcile(thousand(), expected(), counts, windows, cancelled)


def test_results_without_a_fault_add_up(windows, cancelled):
    found = outcome(windows, cancelled)
    assert found.adds_up
    assert found.accounted_for == 1000
    assert found.in_cancelled == len(cancelled) > 0
    assert found.examples == []


def test_a_flight_that_is_in_no_result_is_lost(windows, cancelled):
    gone = windows[SOMEWHERE].flight_ids.pop()
    found = outcome(windows, cancelled)
    assert (found.lost, found.duplicated, found.accounted_for) == (1, 0, 999)
    assert f"lost flight: {gone}" in found.examples
    assert not found.adds_up


def test_a_flight_that_was_counted_twice_is_duplicated(windows, cancelled):
    windows[SOMEWHERE].flight_ids.append(windows[SOMEWHERE].flight_ids[0])
    found = outcome(windows, cancelled)
    assert (found.lost, found.duplicated, found.accounted_for) == (0, 1, 1000)
    assert not found.adds_up


def test_a_cancelled_flight_that_came_three_times_is_two_too_many(windows, cancelled):
    found = outcome(windows, [*cancelled, cancelled[0], cancelled[0]])
    assert found.duplicated == 2
    assert not found.adds_up


def test_one_lost_and_one_twice_do_not_cancel_out(windows, cancelled):
    ids = windows[SOMEWHERE].flight_ids
    ids[0] = ids[1]
    found = outcome(windows, cancelled)
    assert (found.lost, found.duplicated) == (1, 1)
    assert not found.adds_up


def test_a_cancelled_flight_in_a_window_is_in_the_wrong_place(windows, cancelled):
    windows[SOMEWHERE].flight_ids.append(cancelled.pop())
    found = outcome(windows, cancelled)
    assert (found.lost, found.duplicated, found.misplaced) == (0, 0, 1)
    assert not found.adds_up


def test_a_flight_that_nobody_published_is_noticed(windows, cancelled):
    found = outcome(windows, [*cancelled, 10**6])
    assert found.unknown == 1
    assert not found.adds_up


@pytest.mark.parametrize(
    "wrong",
    [
        Figures(1, 1.0, 1, 1.0, 1)._asdict(),
        {"mean_departure_delay": 1e9},
        {"worst_departure_delay": None},
    ],
)
def test_a_figure_that_differs_is_enough(windows, cancelled, wrong):
    figures = windows[SOMEWHERE].figures._replace(**wrong)
    windows[SOMEWHERE] = Window(figures, windows[SOMEWHERE].flight_ids)
    found = outcome(windows, cancelled)
    assert found.windows_differing == 1
    assert "UA on 2013-01-01" in found.examples[0]
    assert not found.adds_up


def test_a_mean_may_differ_in_its_last_bits(windows, cancelled):
    figures = windows[SOMEWHERE].figures
    mean = figures.mean_departure_delay * (1 + 1e-15)
    nearly = figures._replace(mean_departure_delay=mean)
    windows[SOMEWHERE] = Window(nearly, windows[SOMEWHERE].flight_ids)
    assert outcome(windows, cancelled).adds_up


def test_a_window_that_is_missing_and_one_too_many(windows, cancelled):
    windows[CarrierDay("UA", "2014-01-01")] = windows.pop(SOMEWHERE)
    assert outcome(windows, cancelled).windows_differing == 2


@pytest.mark.parametrize("counts", [(999, 1000, 1000), (1000, 1001, 1000), (1000, 1000, 0)])
def test_each_count_on_the_way_has_to_be_right(windows, cancelled, counts):
    assert not outcome(windows, cancelled, Counts(*counts)).adds_up


def test_examples_are_few(windows, cancelled):
    windows[SOMEWHERE].flight_ids.clear()
    lost = [text for text in outcome(windows, cancelled).examples if text.startswith("lost")]
    assert len(lost) == EXAMPLES_MAX


def test_the_json_has_the_names_of_the_lines(windows, cancelled):
    value = outcome(windows, cancelled).to_json()
    assert value["adds_up"] is True
    for name in ("published", "read_by_spark", "read_by_spark_for_cancelled", "accounted_for"):
        assert value[name] == 1000
    assert (value["lost"], value["duplicated"]) == (0, 0)
