"""What waits to go out again, in log order, and how often it already went."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.topics.redelivery import RedeliveryCounts, ReplayQueue
from magnetar.model.position import Position

ENTRIES = st.lists(st.integers(0, 9))


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["add", "discard"]), st.integers(0, 2), ENTRIES), max_size=30
    )
)
def test_the_queue_is_a_sorted_set(steps):
    queue, naive = ReplayQueue(), set()
    for step, ledger_id, entry_ids in steps:
        some = {Position(ledger_id, entry_id) for entry_id in entry_ids}
        if step == "add":
            changed = queue.add(ledger_id, entry_ids)
            assert changed == sorted(p.entry_id for p in some - naive)
            naive |= some
        else:
            changed = queue.discard(ledger_id, entry_ids)
            assert changed == sorted(p.entry_id for p in some & naive)
            naive -= some
        assert list(queue) == sorted(naive)
        assert len(queue) == len(naive)
        assert bool(queue) == bool(naive)
        assert queue.first(3) == sorted(naive)[:3]
        assert all(position in queue for position in naive)


def test_a_cleared_queue_is_empty():
    queue = ReplayQueue()
    queue.add(1, [1])
    queue.clear()
    assert len(queue) == 0
    assert Position(1, 1) not in queue


def test_counts_run_parallel_to_entries():
    counts = RedeliveryCounts()
    assert counts.of(1, range(3)) is None
    counts.add(1, [1])
    counts.add(1, [1, 2])
    assert counts.of(1, range(4)) == [0, 2, 1, 0]
    assert counts.of(1, [3, 4]) is None
    assert counts.of(2, [1]) is None
    counts.discard(1, [1])
    assert counts.of(1, range(3)) == [0, 0, 1]
    counts.add(2, [])
    assert counts.of(2, [1]) is None
    counts.clear()
    assert not counts
