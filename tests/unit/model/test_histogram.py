import pytest

from magnetar.model.histogram import EDGES_S, Histogram


@pytest.mark.parametrize("duration_s", [1e-6, 3e-6, 5e-6, 0.00123, 0.5, 1, 59.9, 3600])
def test_a_quantile_is_exact_to_about_a_fifth(duration_s):
    histogram = Histogram()
    histogram.note(duration_s)
    assert duration_s <= histogram.quantile_s(0.5) <= max(duration_s * 1.26, 4e-6)
    assert histogram.total_s == duration_s


def test_buckets_lie_one_behind_the_other():
    used = [edge for edge in EDGES_S if edge >= 8e-6]
    assert used == sorted(set(used))


def test_what_lies_outside_is_counted_at_the_ends():
    histogram = Histogram()
    for duration_s in (-1, 0, 1e9):
        histogram.note(duration_s)
    assert histogram.count == 3
    assert histogram.quantile_s(0.5) <= 1e-6
    assert histogram.quantile_s(1) == EDGES_S[-1]


def test_quantiles_of_many_and_of_what_came_since():
    histogram = Histogram()
    for ms in range(1, 101):
        histogram.note(ms / 1000)
    assert 0.05 <= histogram.quantile_s(0.5) <= 0.06
    assert 0.099 <= histogram.quantile_s(0.99) <= 0.125
    before = list(histogram.counts)
    assert histogram.quantile_s(0.5, before) == 0
    histogram.note(2)
    assert 2 <= histogram.quantile_s(0.5, before) <= 2.5


def test_how_many_took_no_longer():
    histogram = Histogram()
    for ms in (1, 2, 50, 900):
        histogram.note(ms / 1000)
    assert [histogram.up_to(s) for s in (0.0001, 0.005, 0.1, 2)] == [0, 2, 3, 4]
