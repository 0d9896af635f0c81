"""The segments of a ledger."""

from magnetar.storage.ledger.bookkeeper.ledger_metadata import LedgerMetadata, Segment

METADATA = LedgerMetadata(2, 2, 2, (Segment(0, ("127.0.0.1:3181", "127.0.0.1:3182")),))


def test_segments_follow_one_another():
    changed = METADATA.with_ensemble(5, ("a", "b")).with_ensemble(9, ("c", "d"))
    assert [changed.segment_of(entry).ensemble[0] for entry in (0, 4, 5, 8, 9, 99)] == [
        *["127.0.0.1:3181"] * 2,
        *["a"] * 2,
        *["c"] * 2,
    ]
    assert [changed.segment_end(entry) for entry in (0, 5)] == [5, 9]
    assert changed.segment_end(9) > 10**18
    assert changed.with_ensemble(9, ("e", "f")).segments == (
        *changed.segments[:2],
        Segment(9, ("e", "f")),
    )
