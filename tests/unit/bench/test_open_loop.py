"""Latency goes from when a send was meant to go, not from when it went."""

import pytest

from bench.open_loop import LATE_S_MAX, spread_of


def test_lateness_is_from_the_intended_time():
    # Meant for 10.0, 10.1, 10.2 and 10.3; the first two come together at 10.15.
    spread = spread_of([(10.15, 2), (10.2, 3), (10.31, 4)], started=10.0, rate=10, first=0, count=4)
    assert spread.count == 4
    assert spread.worst == pytest.approx(150, rel=0.01)
    assert spread.p50 == pytest.approx(10, rel=0.01)


def test_what_came_while_warming_up_does_not_count():
    spread = spread_of([(10.9, 2), (10.21, 3)], started=10.0, rate=10, first=2, count=3)
    assert spread.count == 1
    assert spread.worst == pytest.approx(10, rel=0.01)


def test_what_never_came_counts_as_very_late():
    spread = spread_of([(10.01, 1)], started=10.0, rate=10, first=0, count=2)
    assert spread.count == 1
    assert spread.worst == pytest.approx(LATE_S_MAX * 1000, rel=0.01)
