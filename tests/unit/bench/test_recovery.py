"""What the bench of recovery measures."""

from bench import recovery
from magnetar.storage.ledger.local.segments import SegmentState

SIZE = 3 * recovery.CHUNK


async def test_what_is_measured_is_one_segment_unsealed_and_the_same_sealed(tmp_path):
    crashed, sealed = await recovery.segment_folders(tmp_path, 1024, 64, SIZE)
    entries = (SIZE - 2 * recovery.CHUNK) // (64 * 1032 + 64) * 64
    for folder in (crashed, sealed):
        found = recovery.recover_folder(folder, SIZE)
        assert [ledger.next_entry_id for ledger in found.ledgers.values()] == [entries]
        assert [each.state for each in found.segments] == [SegmentState.ACTIVE]
    [unsealed], [other] = (list(folder.glob("segment-*")) for folder in (crashed, sealed))
    assert unsealed.stat().st_size < other.stat().st_size  # It has no footer.


def test_the_best_run_counts(tmp_path):
    (tmp_path / "segment-1").write_bytes(bytes(1000))
    calls = []
    assert recovery.best_speed(tmp_path, lambda: calls.append(1)) > 0
    assert len(calls) == recovery.RUNS
