import pytest

from magnetar.model.operation_counts import ConnectionCounts, OperationCounts


def test_successes_failures_and_what_runs():
    counts, times = OperationCounts(), iter([1.0, 1.5, 2.0])
    with counts.counted(lambda: next(times)):
        assert counts.running == 1
    with pytest.raises(KeyError), counts.counted(lambda: next(times)):
        raise KeyError
    assert (counts.latency.count, counts.latency.total_s) == (1, 0.5)
    assert (counts.failed, counts.running) == (1, 0)


def test_open_connections_are_those_not_closed():
    assert ConnectionCounts(opened=5, closed=2).open == 3
