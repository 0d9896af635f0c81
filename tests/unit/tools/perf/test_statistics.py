import re

import pytest

from magnetar.errors import NotReady
from magnetar.tools.perf import statistics as meters
from magnetar.tools.perf.statistics import (
    Interval,
    LoadStatistics,
    check_histograms,
    produced,
    read,
    received,
    summary,
)


@pytest.fixture
def statistics():
    statistics = LoadStatistics(10.0, warm_at=11.0)
    for milliseconds in range(1, 101):
        statistics.passed(1, 1024)
        statistics.latency(milliseconds / 1000)
    return statistics


def test_a_line_is_pulsar_perf_s(statistics):
    line = produced(statistics.next_interval(12.0), statistics.total.messages, 12.0)
    assert line == (
        "Throughput produced:     100 msg ---     50.0 msg/s ---      0.4 Mbit/s  --- failure "
        "     0.0 msg/s --- Latency: mean:  50.504 ms - med:  50.015 - 95pct:  95.039 - "
        "99pct:  99.007 - 99.9pct: 100.031 - 99.99pct: 100.031 - Max: 100.031"
    )


def test_a_line_of_nothing_has_the_same_form():
    for line in (produced, received, read):
        shown = line(Interval(0.0), 0, 1.0)
        assert re.search(r"mean:   0.000 ms - med:   0.000 .* Max:   0.000$", shown), shown


def test_the_summary_is_of_all_but_the_latencies_of_the_beginning(statistics):
    statistics.failed()
    first = statistics.next_interval(10.5)
    assert (first.messages, first.failures) == (100, 1)
    statistics.passed(1, 1024)
    statistics.latency(0.002)
    statistics.next_interval(12.0)
    throughput, latency = summary(statistics.total, "sent", 12.0)
    assert throughput == (
        "Aggregated throughput stats --- 101 records sent --- 50.500 msg/s --- 0.395 Mbit/s"
    )
    assert "Max:   2.0" in latency
    assert "99.999pct:" in latency


def test_latencies_are_bounded_and_kept_to_three_digits():
    statistics = LoadStatistics(0.0)
    for seconds in (-1.0, 0.0, 0.123456, 10**6):
        statistics.latency(seconds)
    found = statistics.next_interval(1.0).latency
    assert found.get_total_count() == 4
    assert found.get_value_at_percentile(75) == pytest.approx(123_456, rel=1e-3)


def test_what_is_missing_is_named(monkeypatch):
    check_histograms()
    monkeypatch.setattr(meters, "find_spec", lambda _: None)
    with pytest.raises(NotReady, match=r"magnetar\[bench\]"):
        check_histograms()
