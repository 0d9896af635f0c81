from magnetar.model.write_counts import WriteCounts


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
