import pytest

from magnetar.model.counts import (
    LATENCIES_MS,
    ConnectionCounts,
    LogCounts,
    OperationCounts,
    WriteCounts,
)


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


def test_ledgers_count_by_how_long_it_took_to_begin_them():
    counts = LogCounts()
    counts.note_switch(LATENCIES_MS[3] / 1000)
    counts.note_switch(5)
    assert [at for at, count in enumerate(counts.switches) if count] == [3, len(LATENCIES_MS)]


def test_what_was_counted_since():
    counts = LogCounts()
    counts.reads_failed = 2
    counts.note_switch(0.003)
    before = counts.since(None)
    counts.reads_failed += 1
    counts.hit_bytes += 10
    counts.note_switch(0.003)
    assert (before.reads_failed, sum(before.switches)) == (2, 1), "it is a copy"
    grown = counts.since(before)
    assert (grown.reads_failed, grown.hit_bytes, grown.appends_failed) == (1, 10, 0)
    assert sum(grown.switches) == 1


def test_what_is_stored_together_counts_by_its_average():
    counts = WriteCounts()
    counts.note(4, 800, 0.003)
    counts.note(1, 5_000_000, 2)
    assert counts.entries == 5
    assert counts.by_latency[5] == 4
    assert counts.by_latency[-1] == 1
    assert counts.by_size[1] == 4
    assert counts.by_size[-1] == 1
    assert counts.latency_ms == 4 * 3 + 2000


def test_what_came_since():
    counts = WriteCounts()
    counts.note(4, 800, 0.003)
    before = counts.since(None)
    counts.note(2, 20, 0.003)
    grown = counts.since(before)
    assert (grown.entries, grown.size_bytes) == (2, 20)
    fresh = WriteCounts()
    fresh.note(1, 1, 0.1)
    assert fresh.since(before).entries == 1, "the topic was loaded anew"
