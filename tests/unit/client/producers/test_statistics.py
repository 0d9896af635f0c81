"""The sum of what a producer's parts count; ``tests/client/test_statistics.py`` has the rest."""

from types import SimpleNamespace

from support.clock import ManualClock

from magnetar.client.producers.statistics import ProducerStatistics
from magnetar.client.statistics import Counts


def part(messages):
    pending = SimpleNamespace(
        sent=Counts(messages, 10 * messages),
        stored_messages=messages,
        failed_messages=1,
        messages=2,
    )
    sends = SimpleNamespace(latencies=None)
    return SimpleNamespace(queue=SimpleNamespace(pending=pending, sends=sends))


def test_it_sums_up_and_measures_parts_that_come_later():
    clock, parts = ManualClock(), [part(1)]
    statistics = ProducerStatistics(parts, clock)
    statistics.measure()
    parts.append(part(3))
    clock.move(2)
    stats = statistics.end_interval()
    assert (stats.messages_sent, stats.bytes_sent, stats.messages_stored) == (4, 40, 4)
    assert (stats.messages_failed, stats.messages_pending) == (2, 4)
    assert (stats.messages_per_s, stats.bytes_per_s, stats.latency) == (2, 20, None)
    parts[1].queue.sends.latencies.add(0.5)
    assert statistics.end_interval().latency.largest_ms == 500
    assert statistics.stats().messages_per_s == 0
