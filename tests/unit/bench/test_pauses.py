"""What a broker counted before and after a load tells the pauses between."""

from bench.pauses import pauses

INFINITE = float("inf")


def test_only_what_came_since_is_told():
    before = [(0.001, 5.0), (0.01, 7.0), (0.1, 8.0), (INFINITE, 8.0)]
    after = [(0.001, 9.0), (0.01, 11.0), (0.1, 14.0), (INFINITE, 15.0)]
    assert pauses(before, after) == [(0.001, 4), (0.1, 2), (INFINITE, 1)]


def test_nothing_came():
    edges = [(0.001, 5.0), (INFINITE, 8.0)]
    assert pauses(edges, edges) == []
