"""What waits to go out again, in log order, and how often it already went."""

from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.topics.redelivery import RedeliveryCounts, ReplayQueue
from magnetar.model.position import Position

positions = st.builds(Position, st.integers(0, 2), st.integers(0, 9))


@given(
    steps=st.lists(st.tuples(st.sampled_from(["add", "discard"]), st.lists(positions)), max_size=30)
)
def test_the_queue_is_a_sorted_set(steps):
    queue, naive = ReplayQueue(), set()
    for step, some in steps:
        if step == "add":
            queue.add(some)
            naive.update(some)
        else:
            queue.discard(some)
            naive.difference_update(some)
        assert list(queue) == sorted(naive)
        assert len(queue) == len(naive)
        assert queue.first(3) == sorted(naive)[:3]
        assert all(position in queue for position in naive)


def test_a_cleared_queue_is_empty():
    queue = ReplayQueue()
    queue.add([Position(1, 1)])
    queue.clear()
    assert len(queue) == 0
    assert Position(1, 1) not in queue


def test_counts_run_parallel_to_entries():
    counts = RedeliveryCounts()
    assert counts.of(1, 0, 3) is None
    counts.add([Position(1, 1)])
    counts.add([Position(1, 1), Position(1, 2)])
    assert counts.of(1, 0, 4) == [0, 2, 1, 0]
    assert counts.of(1, 3, 2) is None
    counts.discard([Position(1, 1)])
    assert counts.of(1, 0, 3) == [0, 0, 1]
    counts.clear()
    assert not counts
