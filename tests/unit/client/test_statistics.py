"""Rates and latencies, and how they are shown."""

import pytest

from magnetar.client.statistics import (
    ConsumerStats,
    Counts,
    Latencies,
    Latency,
    ProducerStats,
    Rates,
    line,
)


def test_rates_are_those_of_all_the_time_until_an_interval_has_ended():
    rates = Rates(100.0)
    assert rates.now(110.0, Counts(50, 1000)) == (5, 100)
    rates.end_interval(120.0, Counts(200, 4000))
    assert rates.now(125.0, Counts(900, 9000)) == (10, 200)
    rates.end_interval(130.0, Counts(300, 4500))
    assert rates.now(131.0, Counts(301, 4501)) == (10, 50)
    assert Rates(1.0).now(1.0, Counts(0, 0)) == (0, 0)


def test_percentiles_are_at_most_a_fifth_too_high():
    latencies = Latencies()
    for milliseconds in range(1, 1001):
        latencies.add(milliseconds / 1000)
    found = latencies.take()
    assert 500 <= found.p50_ms <= 600
    assert 950 <= found.p95_ms <= 1000
    assert 990 <= found.p99_ms <= 1000
    assert found.largest_ms == 1000
    assert latencies.take() is None


@pytest.mark.parametrize("milliseconds", [0.0, 0.01, 5.0, 1e9])
def test_one_latency_is_all_percentiles(milliseconds):
    latencies = Latencies()
    latencies.add(milliseconds / 1000)
    found = latencies.take()
    assert found.largest_ms == pytest.approx(milliseconds)
    assert found.p50_ms == found.p99_ms == found.largest_ms


def test_what_is_no_number_is_left_out():
    latencies = Latencies()
    latencies.add(float("inf") - float("inf"))
    assert latencies.take() is None


def test_a_line_has_every_number():
    latency = Latency(p50_ms=1.04, p95_ms=2.0, p99_ms=3.0, largest_ms=4.0)
    shown = line(
        ProducerStats(
            messages_sent=1,
            bytes_sent=2,
            messages_stored=3,
            messages_failed=4,
            messages_pending=5,
            messages_per_s=6.66,
            bytes_per_s=7.0,
            latency=latency,
        )
    )
    assert shown == (
        "messages_sent=1 bytes_sent=2 messages_stored=3 messages_failed=4 messages_pending=5 "
        "messages_per_s=6.7 bytes_per_s=7.0 latency_p50_ms=1.0 latency_p95_ms=2.0 "
        "latency_p99_ms=3.0 latency_largest_ms=4.0"
    )
    shown = line(
        ConsumerStats(
            messages_received=1,
            bytes_received=2,
            acks_sent=3,
            messages_queued=4,
            messages_per_s=5.0,
            bytes_per_s=6.0,
        )
    )
    assert shown == (
        "messages_received=1 bytes_received=2 acks_sent=3 messages_queued=4 messages_per_s=5.0 "
        "bytes_per_s=6.0"
    )
