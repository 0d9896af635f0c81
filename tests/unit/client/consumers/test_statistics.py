"""The sum of what a consumer's topics count; ``tests/client/test_statistics.py`` has the rest."""

from types import SimpleNamespace

from support.clock import ManualClock

from magnetar.client.consumers.statistics import ConsumerStatistics
from magnetar.client.statistics import Counts


def part(messages):
    incoming = SimpleNamespace(received=Counts(messages, 10 * messages), queued=2)
    return SimpleNamespace(incoming=incoming, acks=SimpleNamespace(sent=messages))


def test_what_a_topic_counted_that_went_stays():
    clock, parts = ManualClock(), {"a": part(1), "b": part(3)}
    statistics = ConsumerStatistics(parts, clock)
    statistics.remove(parts.pop("b"))
    clock.move(2)
    stats = statistics.stats()
    assert (stats.messages_received, stats.bytes_received, stats.acks_sent) == (4, 40, 4)
    assert (stats.messages_queued, stats.messages_per_s, stats.bytes_per_s) == (2, 2, 20)
    statistics.end_interval()
    clock.move(1)
    assert statistics.end_interval().messages_per_s == 0
