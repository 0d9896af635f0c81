"""Chunked messages that a cumulative acknowledgement may not take in."""

from magnetar.client.consumers.chunk_spans import ChunkSpans
from magnetar.model.position import Position


def at(entry_id):
    return Position(1, entry_id)


def test_a_mark_stays_before_what_it_would_cut():
    spans = ChunkSpans()
    assert not spans
    spans.begin(at(3))
    spans.begin(at(5))
    spans.complete(at(5), at(9))
    assert spans
    assert spans.acknowledged_up_to(at(2)) is None
    assert spans.acknowledged_up_to(at(3)) == at(3)
    assert spans.acknowledged_up_to(at(8)) == at(3)
    assert spans.end(at(3))
    assert not spans.end(at(3))
    assert spans.acknowledged_up_to(at(8)) == at(5)
    assert spans.acknowledged_up_to(at(9)) is None
    assert not spans


def test_incomplete_ones_come_again():
    spans = ChunkSpans()
    spans.begin(at(3))
    spans.begin(at(5))
    spans.complete(at(5), at(9))
    spans.forget_incomplete()
    assert spans.acknowledged_up_to(at(8)) == at(5)
    spans.clear()
    spans.complete(at(5), at(9))
    assert not spans


def test_so_many_are_known():
    spans = ChunkSpans(2)
    for entry_id in (3, 5, 7):
        spans.begin(at(entry_id))
    assert spans.acknowledged_up_to(at(9)) == at(5)
