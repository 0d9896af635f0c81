from magnetar.model.log_counts import LogCounts
from magnetar.model.write_counts import LATENCIES_MS


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
